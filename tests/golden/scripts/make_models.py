#!/usr/bin/env python3
"""Writes models.txt: results of torchvision's networks, of EfficientNet-Lite and of timm's
MobileNetV2 in float64.

For tests/models/model_golden_test.cpp. Run with torch 2.11, torchvision 0.26, timm 1.0.31 and
efficientnet_lite_pytorch 0.1.0; the modules of the last two get torchvision's names:
python3 tests/golden/scripts/make_models.py [NAME ...]
With names, the lines of the other networks stay as they are.

This script and the test fill parameters, buffers and images with the same formula. For a tensor
called `name`, element i in row-major order:
    state = FNV-1a-64(name) + (i + 1) * 0x9e3779b97f4a7c15            (mod 2^64)
    u     = splitmix64_finalizer(state) >> 11, times 2^-52, minus 1   (uniform in [-1, 1))
    weights with 2 or more dimensions: u * sqrt(6 / (elements / size[0]))   (variance 2 / fan in)
    batch norm: weight 1 + 0.1 u, times 0.2 for the last one of each residual branch,
                except in MobileNetV2; bias and running mean 0.1 u; running variance 1 + 0.2 u
    other biases: 0.1 u;  images ("images"): sqrt(3) u
The classifier has 10 classes, images are 2x3x64x64, labels 3 and 7, the loss is the mean
cross-entropy with label smoothing 0.1, without dropout and stochastic depth.

Lines:
    model NAME PARAMETERS(1000 classes) GMAC HASH(of the sorted state dict, "name[d0,d1,...]\\n")
    state NAME TENSOR SHAPE                 for three models, the readable form of HASH
    logits NAME eval|train VALUES           2x10
    gradient NAME TENSOR NORM DOT0 DOT1     dot products with u of "TENSOR#0" and "TENSOR#1"
    buffer NAME TENSOR NORM DOT0 DOT1       running statistics after one training forward
"""

import pathlib
import sys

import efficientnet_lite_pytorch
import numpy as np
import timm
import torch
import torchvision
from torchvision.ops import StochasticDepth

NAMES = [f"efficientnet_b{i}" for i in range(8)]
NAMES += [f"efficientnet_lite{i}" for i in range(5)]
NAMES += [f"efficientnet_v2_{size}" for size in "sml"]
NAMES += ["mobilenet_v2"] + [f"mobilenet_v2_{width}" for width in ("050", "110d", "120d", "140")]
NAMES += ["mobilenet_v3_large", "mobilenet_v3_small"]
NAMES += ["resnet18", "resnet34", "resnet50", "resnet101", "resnet152"]
FULL_STATE = ["efficientnet_b0", "resnet18", "resnet50"]
GRADIENTS = ["efficientnet_b0", "efficientnet_b4", "efficientnet_lite0", "efficientnet_v2_s",
             "mobilenet_v2", "mobilenet_v3_large", "resnet50"]


def fnv(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = ((h ^ byte) * 0x100000001B3) % 2**64
    return h


def uniform(name, shape):
    i = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64)
    z = np.uint64(fnv(name)) + i * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    u = (z >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1
    return torch.from_numpy(u.reshape(shape))


def residual_ends(names):
    """Returns the names of the weights of the last batch norm of each residual branch."""
    ends = set()
    for name in names:
        part = name.split(".")
        if part[0] == "features" and part[2:3] == ["block"]:  # MobileNetV3
            following = ".".join(part[:3] + [str(int(part[3]) + 1)]) + "."
            if part[4:] == ["1", "weight"] and not any(n.startswith(following) for n in names):
                ends.add(name)
        if part[0] == "features" and part[3:4] == ["block"] and int(part[2]) > 0:
            following = ".".join(part[:4] + [str(int(part[4]) + 1)]) + "."
            if part[5:] == ["1", "weight"] and not any(n.startswith(following) for n in names):
                ends.add(name)
        if part[0].startswith("layer") and part[2:] in (["bn2", "weight"], ["bn3", "weight"]):
            if part[2] == "bn3" or name.replace("bn2", "bn3") not in names:
                ends.add(name)
    return ends


class Renamed(torch.nn.Module):
    """A network of another program. Subclasses register its modules under torchvision's names."""

    def __init__(self, theirs):
        super().__init__()
        self.theirs = [theirs]  # in a list, so that its modules are not registered here

    def train(self, mode=True):
        self.theirs[0].train(mode)
        return super().train(mode)

    def forward(self, images):
        return self.theirs[0](images)


class Lite(Renamed):
    """An EfficientNet-Lite of efficientnet_lite_pytorch under torchvision's names."""

    def __init__(self, name, size, classes, **options):
        theirs = efficientnet_lite_pytorch.EfficientNet.from_name(
            name.replace("_lite", "-lite"), image_size=size, num_classes=classes, **options
        )
        super().__init__(theirs)
        features = [[theirs._conv_stem, theirs._bn0]]
        for block in theirs._blocks:
            parts = [[block._depthwise_conv, block._bn1], [block._project_conv, block._bn2]]
            if hasattr(block, "_expand_conv"):
                parts.insert(0, [block._expand_conv, block._bn0])
            # A stage begins where the number of filters changes or the stride is not 1.
            args = block._block_args
            if len(features) == 1 or args.stride != 1 or args.input_filters != args.output_filters:
                features.append([])
            features[-1].append(torch.nn.Module())
            features[-1][-1].block = torch.nn.Sequential(*[torch.nn.Sequential(*p) for p in parts])
        features.append([theirs._conv_head, theirs._bn1])
        self.features = torch.nn.Sequential(*[torch.nn.Sequential(*f) for f in features])
        self.classifier = torch.nn.Sequential(torch.nn.Identity(), theirs._fc)


class MobileNetV2(Renamed):
    """timm's mobilenetv2_WIDTH under torchvision's names."""

    def __init__(self, name, classes):
        theirs = timm.create_model(name.replace("_v2", "v2"), num_classes=classes)
        super().__init__(theirs)
        features = [torch.nn.Sequential(theirs.conv_stem, theirs.bn1)]
        for block in [block for stage in theirs.blocks for block in stage]:
            layers = list(block.children())  # convolutions, norms and an empty squeeze-excite
            layers = [m for m in layers if isinstance(m, (torch.nn.Conv2d, torch.nn.BatchNorm2d))]
            pairs = [torch.nn.Sequential(*layers[i:i + 2]) for i in range(0, len(layers) - 2, 2)]
            features.append(torch.nn.Module())
            features[-1].conv = torch.nn.Sequential(*pairs, *layers[-2:])
        features.append(torch.nn.Sequential(theirs.conv_head, theirs.bn2))
        self.features = torch.nn.Sequential(*features)
        self.classifier = torch.nn.Sequential(torch.nn.Identity(), theirs.classifier)


def multiply_adds(model, size):
    """Returns the multiply-adds of the convolutions and linear layers for one image, in 1e9."""
    total = 0

    def count(module, _, output):
        nonlocal total
        per_output = module.weight.numel() / module.weight.shape[0]
        total += per_output * output.numel()

    hooks = [
        m.register_forward_hook(count)
        for m in model.modules()
        if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear))
    ]
    with torch.no_grad():
        model.eval()(torch.zeros(1, 3, size, size))
    for hook in hooks:
        hook.remove()
    return total / 1e9


def fill(model):
    state = model.state_dict()
    norms = {n[: -len(".running_mean")] for n in state if n.endswith(".running_mean")}
    ends = residual_ends(set(state))
    for name, tensor in state.items():
        if name.endswith("num_batches_tracked"):
            continue
        u = uniform(name, tuple(tensor.shape))
        owner, kind = name.rsplit(".", 1)
        if tensor.dim() >= 2:
            value = u * (6 / (tensor.numel() / tensor.shape[0])) ** 0.5
        elif kind == "running_var":
            value = 1 + 0.2 * u
        elif owner in norms and kind == "weight":
            value = (1 + 0.1 * u) * (0.2 if name in ends else 1)
        else:
            value = 0.1 * u
        tensor.copy_(value)


def summary(name, tensor):
    flat = tensor.detach().reshape(-1)
    dots = [float(flat @ uniform(f"{name}#{i}", flat.shape)) for i in range(2)]
    return f"{float(flat.norm()):.17g} {dots[0]:.17g} {dots[1]:.17g}"


def is_lite(name):
    return "_lite" in name


def is_timm(name):
    return name.startswith("mobilenet_v2_")


def facts(name):
    """Returns a model with 1000 classes, its number of parameters and its multiply-adds."""
    if not is_lite(name) and not is_timm(name):
        weights = torchvision.models.get_model_weights(name).IMAGENET1K_V1.meta
        model = torchvision.models.get_model(name, weights=None)
        return model, weights["num_params"], weights["_ops"]
    size = 224
    if is_lite(name):
        size = efficientnet_lite_pytorch.EfficientNet.get_image_size(name.replace("_lite", "-lite"))
    model = MobileNetV2(name, 1000) if is_timm(name) else Lite(name, size, 1000)
    parameters = sum(p.numel() for p in model.parameters())
    return model, parameters, round(multiply_adds(model, size), 3)


def build(name):
    if is_lite(name) or is_timm(name):
        if is_timm(name):
            model = MobileNetV2(name, 10).double()
        else:
            model = Lite(name, 64, 10, dropout_rate=0.0, drop_connect_rate=0.0).double()
        fill(model)
        return model
    dropout = {} if name.startswith("resnet") else {"dropout": 0.0}
    model = torchvision.models.get_model(name, weights=None, num_classes=10, **dropout).double()
    for module in model.modules():
        if isinstance(module, StochasticDepth):
            module.p = 0.0
    fill(model)
    return model


def write(out, name):
    reference, parameters, gmac = facts(name)
    full = {n: list(t.shape) for n, t in reference.state_dict().items()}
    lines = [f"{n}[{','.join(map(str, s))}]" for n, s in full.items()]
    digest = fnv("".join(line + "\n" for line in sorted(lines)))
    out.append(f"model {name} {parameters} {gmac} {digest:016x}")
    if name in FULL_STATE:
        out += [f"state {name} {n} [{','.join(map(str, s))}]" for n, s in full.items()]

    model = build(name)
    images = uniform("images", (2, 3, 64, 64)) * 3**0.5
    for mode in ("eval", "train"):
        model.train(mode == "train")
        with torch.set_grad_enabled(mode == "train" and name in GRADIENTS):
            logits = model(images)
        print(name, mode, "logits std", float(logits.detach().std()))
        values = " ".join(f"{v:.17g}" for v in logits.detach().reshape(-1).tolist())
        out.append(f"logits {name} {mode} {values}")
    if name in GRADIENTS:
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor([3, 7]), label_smoothing=0.1)
        loss.backward()
        out += [f"gradient {name} {n} {summary(n, p.grad)}" for n, p in model.named_parameters()]
        buffers = [(n, b) for n, b in model.named_buffers() if b.dim() == 1]
        out += [f"buffer {name} {n} {summary(n, b)}" for n, b in buffers]


if __name__ == "__main__":
    torch.manual_seed(0)
    target = pathlib.Path(__file__).resolve().parents[1] / "models.txt"
    rows, before = [], target.read_text().splitlines()
    for model_name in NAMES:
        if sys.argv[1:] and model_name not in sys.argv[1:]:
            rows += [line for line in before if line.split()[1] == model_name]
        else:
            write(rows, model_name)
    target.write_text("\n".join(rows) + "\n")
    versions = f"torch {torch.__version__} torchvision {torchvision.__version__}"
    print(target, target.stat().st_size, "bytes,", versions)
