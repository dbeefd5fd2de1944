#!/usr/bin/env python3
"""Writes weight_names.txt and weights/*_example*.pth.tar*, for the tests of weights in other
programs' names.

    pip install torch==2.11.0 torchvision==0.26.0 timm==1.0.31 efficientnet_pytorch==0.7.1
    python3 tests/golden/scripts/make_weight_names.py

The programs register the tensors of a network in the same order, so the n-th entries of two state
dicts belong together. The script checks that for the networks in CHECKED: it copies the weights in
this order and compares with torchvision's logits, at a size (225) where all programs pad alike.

Lines of weight_names.txt:
    name FAMILY MODEL TORCHVISION'S-NAME NAME SHAPE    for efficientnet_b0
    hash FAMILY MODEL HASH    FNV-1a-64 of the sorted lines "TORCHVISION'S-NAME NAME [d0,d1,...]\\n"
"""

import gzip
import io
import pathlib

import timm
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
    other = {"efficientnet_v2": "tf_efficientnetv2", "mobilenet_v2": "mobilenetv2",
             "mobilenet_v3_large": "mobilenetv3_large_100", "mobilenet_v3_small": "mobilenetv3_small_100"}
    for ours, theirs in other.items():
        name = name.replace(ours, theirs)
    return timm.create_model(name, num_classes=1000, bn_eps=eps)


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


def save_compressed(checkpoint, name, **format):
    file = io.BytesIO()
    torch.save(checkpoint, file, **format)
    (OUT / "weights" / name).write_bytes(gzip.compress(file.getvalue(), 9, mtime=0))


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


if __name__ == "__main__":
    write_names()
    write_example()
    write_small_example()
