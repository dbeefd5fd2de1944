#!/usr/bin/env python3
"""Writes preprocessing.txt (one case per line) and preprocessing.bin (the pixels of the cases).

The pixels are results of Pillow and torchvision. With one channel, Pillow's convert("L") is applied
first, as in timm. Needs pillow 13, numpy, torch, torchvision 0.26.
Usage: python make_preprocessing.py

Lines:
    eval FILE CHANNELS FILTER RESIZE CROP     Resize and CenterCrop of images/FILE
    flip CHANNELS HFLIP VFLIP SIDE            the image of formula.py, 48x48, resized and flipped
    logits FILE CHANNELS RESIZE CROP MEAN STD VALUES
                                              10 logits of resnet18 with the weights of
                                              make_models.py; of grey images with its first
                                              convolution summed over the input channels
"""

import os

import formula
import numpy as np
import torch
from make_models import build
from PIL import Image
from torchvision import transforms
from torchvision.transforms import functional as F

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
IMAGES = os.path.join(HERE, "images")
FILTERS = {"bilinear": transforms.InterpolationMode.BILINEAR,
           "bicubic": transforms.InterpolationMode.BICUBIC}  # fmt: skip


def opened(name, channels):
    with Image.open(os.path.join(IMAGES, name)) as image:
        return image.convert("L" if channels == 1 else "RGB")


def evaluated(image, name, resize, crop):
    chosen = transforms.Compose([transforms.Resize(resize, FILTERS[name]),
                                 transforms.CenterCrop(crop)])  # fmt: skip
    return chosen(image)


def logits(name, channels, resize, crop, mean, std):
    model = build("resnet18").eval()
    if channels == 1:
        model.conv1.weight.data = model.conv1.weight.data.sum(1, keepdim=True)
    image = evaluated(opened(name, channels), "bilinear", resize, crop)
    pixels = torch.from_numpy(np.asarray(image).reshape(crop, crop, channels).copy())
    x = pixels.permute(2, 0, 1).double() / 255
    x = F.normalize(x, [float(m) for m in mean.split(",")], [float(s) for s in std.split(",")])
    with torch.no_grad():
        return " ".join(f"{value:.9g}" for value in model(x[None])[0].tolist())


def main():
    lines, pixels = [], b""
    for name in sorted(os.listdir(IMAGES)):
        for channels, interpolation, resize, crop in ((1, "bilinear", 20, 16), (1, "bicubic", 11, 13),
                                                      (3, "bilinear", 18, 16)):  # fmt: skip
            image = evaluated(opened(name, channels), interpolation, resize, crop)
            lines.append(f"eval {name} {channels} {interpolation} {resize} {crop}")
            pixels += np.asarray(image).tobytes()
    for channels in (3, 1):
        for horizontal in (0, 1):
            for vertical in (0, 1):
                image = formula.image(48, 48).convert("L" if channels == 1 else "RGB")
                image = F.resized_crop(image, 0, 0, 48, 48, [21, 21])
                image = F.hflip(image) if horizontal else image
                image = F.vflip(image) if vertical else image
                lines.append(f"flip {channels} {horizontal} {vertical} 21")
                pixels += np.asarray(image).tobytes()
    for name in ("baseline_420.jpg", "rgb.png"):
        for case in ((3, 72, 64, "0.5,0.4,0.3", "0.2,0.3,0.25"), (1, 64, 64, "0.449", "0.226")):
            values = logits(name, *case)
            lines.append(f"logits {name} " + " ".join(map(str, case)) + f" {values}")
    with open(os.path.join(HERE, "preprocessing.txt"), "w") as file:
        file.write("\n".join(lines) + "\n")
    with open(os.path.join(HERE, "preprocessing.bin"), "wb") as file:
        file.write(pixels)


main()
