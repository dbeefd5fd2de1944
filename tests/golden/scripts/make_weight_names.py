#!/usr/bin/env python3
"""Writes weight_names.txt, weight_sizes.txt, weight_values.txt, and in weights/ the files *_example*
and those of timm and efficientnet_pytorch, for the tests of weights of other programs.

    pip install torch==2.11.0 torchvision==0.26.0 timm==1.0.31 efficientnet_pytorch==0.7.1 \\
        safetensors==0.8.0
    python3 tests/golden/scripts/make_weight_names.py

The programs register the tensors of a network in the same order, so the n-th entries of two state
dicts belong together. The script checks that for the networks in CHECKED: it copies the weights in
this order and compares with torchvision's logits, at a size (225) where all programs pad alike.

Lines of weight_names.txt:
    name FAMILY MODEL TORCHVISION'S-NAME NAME SHAPE    for efficientnet_b0
    hash FAMILY MODEL HASH    FNV-1a-64 of the sorted lines "TORCHVISION'S-NAME NAME [d0,d1,...]\\n"
Lines of weight_sizes.txt:
    MODEL BYTES    size of the safetensors file of timm's network
Lines of weight_values.txt:
    MODEL TORCHVISION'S-NAME VALUE    of all elements of a tensor in weights/timm_* and
                                      weights/efficientnet_pytorch_*, where torchvision's batch norm
                                      computes the same with its own epsilon
"""

import argparse
import gzip
import io
import pathlib
import tempfile

import safetensors.torch
import timm
import timm.utils
import torch
import torchvision
from efficientnet_pytorch import EfficientNet

OUT = pathlib.Path(__file__).resolve().parents[1]


def fnv(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) % 2**64
    return h


def torchvision_model(name):
    """Returns torchvision's network; for mobilenet_v2_*, its MobileNetV2 with timm's stages."""
    if not name.startswith("mobilenet_v2_"):
        return getattr(torchvision.models, name)()
    if not name.endswith("d"):
        return torchvision.models.mobilenet_v2(width_mult=int(name[-3:]) / 100)
    stages = []
    for index, stage in enumerate(timm_model(name).blocks):
        last = stage[0].conv_pwl if index else stage[0].conv_pw
        stride = stage[0].conv_dw.stride[0]
        stages.append([6 if index else 1, last.out_channels, len(stage), stride])
    return torchvision.models.mobilenet_v2(inverted_residual_setting=stages)


def timm_model(name):
    """Returns timm's network of that name, with torchvision's batch-norm epsilon."""
    eps = 1e-3 if "efficientnet_v2" in name or "mobilenet_v3" in name else 1e-5
    name = "mobilenet_v2_100" if name == "mobilenet_v2" else name
    other = {"efficientnet_v2": "tf_efficientnetv2", "efficientnet_lite": "tf_efficientnet_lite",
             "mobilenet_v2": "mobilenetv2", "mobilenet_v3_large": "mobilenetv3_large_100",
             "mobilenet_v3_small": "mobilenetv3_small_100"}
    for ours, theirs in other.items():
        name = name.replace(ours, theirs)
    settings = {} if name.startswith("resnet") else {"bn_eps": eps}
    return timm.create_model(name, num_classes=1000, **settings)


def efficientnet_pytorch_model(name):
    eps = 1e-3 if name[-1] > "4" else 1e-5  # as torchvision's
    return EfficientNet.from_name(name.replace("_", "-"), image_size=225, batch_norm_epsilon=eps)


B = [f"efficientnet_b{number}" for number in range(8)]
V2 = ["mobilenet_v2"] + [f"mobilenet_v2_{width}" for width in ("050", "110d", "120d", "140")]
OTHERS = [f"efficientnet_v2_{size}" for size in "sml"] + V2 + ["mobilenet_v3_large", "mobilenet_v3_small"]
FAMILIES = {"timm": (timm_model, B + OTHERS), "efficientnet_pytorch": (efficientnet_pytorch_model, B)}
CHECKED = ["efficientnet_b0", "efficientnet_v2_s", *V2, "mobilenet_v3_large", "mobilenet_v3_small"]  # by logits


def check_logits(ours, theirs):
    """Returns the largest difference of logits, relative to their standard deviation."""
    torch.manual_seed(0)
    images = torch.randn(4, 3, 225, 225)
    with torch.no_grad():
        for module in ours.modules():
            if isinstance(module, torch.nn.BatchNorm2d):
                module.momentum = 1.0  # takes the statistics of these images
        ours.train()(images)
        shapes = theirs.state_dict()
        theirs.load_state_dict({name: value.reshape(shapes[name].shape)
                                for name, value in zip(shapes, ours.state_dict().values())})
        wanted, found = ours.eval()(images), theirs.eval()(images)
    difference = ((wanted - found).abs().max() / wanted.std()).item()
    assert difference < 1e-4, difference
    return difference


def write_names():
    lines = []
    for family, (make, models) in FAMILIES.items():
        for model in models:
            ours, theirs = torchvision_model(model), make(model)
            rows = []
            for (name, value), (other, same) in zip(ours.state_dict().items(), theirs.state_dict().items(), strict=True):
                assert value.shape == same.shape or value.shape == same.flatten(1).shape, (name, other)
                rows.append(f"{name} {other} [{','.join(map(str, value.shape))}]")
            if model in CHECKED:
                print(family, model, "largest difference of logits:", check_logits(ours, theirs))
            if model == "efficientnet_b0":
                lines += [f"name {family} {model} {row}" for row in rows]
            lines.append(f"hash {family} {model} {fnv(''.join(sorted(row + chr(10) for row in rows))):016x}")
    (OUT / "weight_names.txt").write_text("\n".join(lines) + "\n")


def constant(index, like):
    """Returns a tensor of equal elements, so that files compress well."""
    return torch.full(like.shape, (index + 1) / 1024) if like.dim() else like


def compress(content, name):
    (OUT / "weights" / name).write_bytes(gzip.compress(content, 9, mtime=0))


def save_compressed(checkpoint, name, **format):
    file = io.BytesIO()
    torch.save(checkpoint, file, **format)
    compress(file.getvalue(), name)


def write_small_example():
    """Writes a checkpoint like write_example(), but of a tiny model."""
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    torch.save({"epoch": 1, "arch": "linear", "state_dict": model.state_dict(), "best_acc1": torch.tensor(5.0),
                "optimizer": optimizer.state_dict()}, OUT / "weights/small_example.pth.tar")


def write_example():
    """Writes checkpoints with the layout of pytorch/examples' imagenet/main.py after two epochs.

    The n-th tensor of the state dict contains (n + 1) / 1024, the momentum of the n-th parameter
    -(n + 1) / 1024.
    """
    torch.manual_seed(0)
    model = torchvision.models.resnet18(num_classes=3)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.8, weight_decay=0.0002)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.1)
    model(torch.zeros(2, 3, 32, 32)).sum().backward()
    for _ in range(2):
        optimizer.step()
        scheduler.step()
    state = {f"module.{name}": constant(i, value) for i, (name, value) in enumerate(model.state_dict().items())}
    optimizer_state = optimizer.state_dict()
    for index, entry in optimizer_state["state"].items():
        entry["momentum_buffer"] = torch.full(entry["momentum_buffer"].shape, -(index + 1) / 1024)
    checkpoint = {
        "epoch": 2,
        "arch": "resnet18",
        "state_dict": state,
        "best_acc1": torch.tensor(41.5),
        "optimizer": optimizer_state,
        "scheduler": scheduler.state_dict(),
    }
    save_compressed(checkpoint, "imagenet_example.pth.tar.gz")
    # As in versions before 2022: no scheduler; the group has the learning rate of the last epoch.
    del checkpoint["scheduler"]
    checkpoint["epoch"] = 35
    checkpoint["best_acc1"] = 41.5
    for group in optimizer_state["param_groups"]:
        del group["initial_lr"]
        group["lr"] = 0.005
    save_compressed(checkpoint, "imagenet_example_old.pth.tar.gz", _use_new_zipfile_serialization=False)


def fill(model, sign=1):
    """Fills the n-th tensor of the state dict with sign * (n + 1) / 1024. Returns the model."""
    values = enumerate(model.state_dict().items())
    model.load_state_dict({name: sign * constant(i, value) for i, (name, value) in values})
    return model


def epsilon(model):
    return next(module.eps for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d))


def lines_of_values(name, theirs):
    """Returns lines of weight_values.txt for a filled network of another program."""
    ours = getattr(torchvision.models, name)()
    lines = []
    for place, value in zip(ours.state_dict(), theirs.state_dict().values(), strict=True):
        if value.dim():  # leaves out counters
            shift = epsilon(theirs) - epsilon(ours) if place.endswith("running_var") else 0
            lines.append(f"{name} {place} {value.flatten()[0].item() + shift!r}")
    return lines


def write_library_files():
    """Writes files as timm and efficientnet_pytorch do, with the code of these programs."""
    name = "mobilenetv3_small_100"
    model = fill(timm.create_model(name))
    lines = lines_of_values("mobilenet_v3_small", model)
    with tempfile.TemporaryDirectory() as folder:
        timm.models.save_for_hf(model, folder, safe_serialization=True)
        compress((pathlib.Path(folder) / "model.safetensors").read_bytes(), "timm_mobilenetv3_small_100.safetensors.gz")
        averaged = timm.utils.ModelEmaV3(model)
        trained = fill(model, -1)
        args = argparse.Namespace(model=name, lr=0.05, opt="sgd")
        saver = timm.utils.CheckpointSaver(trained, torch.optim.SGD(trained.parameters(), 0.05), args, averaged,
                                           checkpoint_dir=folder, recovery_dir=folder)
        saver.save_checkpoint(3, 41.5)
        compress((pathlib.Path(folder) / "last.pth.tar").read_bytes(), "timm_mobilenetv3_small_100.pth.gz")

    model = fill(EfficientNet.from_name("efficientnet-b0"))
    lines += lines_of_values("efficientnet_b0", model)
    save_compressed(model.state_dict(), "efficientnet_pytorch_b0_old.pth.gz", _use_new_zipfile_serialization=False)
    # As training scripts save a network in DataParallel together with its average.
    averaged = torch.nn.DataParallel(model).state_dict()
    trained = torch.nn.DataParallel(fill(EfficientNet.from_name("efficientnet-b0"), -1)).state_dict()
    save_compressed({"epoch": 3, "model": trained, "model_ema": averaged}, "efficientnet_pytorch_b0.pth.gz")
    (OUT / "weight_values.txt").write_text("\n".join(lines) + "\n")


def write_sizes():
    """Writes the sizes of safetensors files of timm's networks."""
    models = B[:6] + [f"efficientnet_lite{number}" for number in range(5)] + V2
    models += ["mobilenet_v3_large", "mobilenet_v3_small"] + [f"resnet{depth}" for depth in (18, 34, 50, 101, 152)]
    lines = [f"{model} {len(safetensors.torch.save(timm_model(model).state_dict()))}" for model in models]
    (OUT / "weight_sizes.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    write_names()
    write_sizes()
    write_library_files()
    write_example()
    write_small_example()
