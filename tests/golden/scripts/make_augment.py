#!/usr/bin/env python3
"""Writes augment.txt (one case per line) and augment.bin (the pixels).

The pixels are results of Pillow, torchvision and timm. Each line: effect, amount, sampling, fill
(three levels), width, height. Needs pillow 13, numpy, torchvision and timm. Usage: python
make_augment.py
"""

import os

import numpy as np
import torch
from formula import image
from PIL import Image, ImageFilter
from timm.data import auto_augment as timm
from torchvision.transforms import InterpolationMode, autoaugment
from torchvision.transforms import functional as F

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESAMPLE = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}
GREY, BLACK = (124, 116, 104), (0, 0, 0)


def of_timm(name, *amount):
    return lambda image, **kwargs: timm.NAME_TO_OP[name](image, *amount, **kwargs)


def of_torchvision(name, amount):
    return lambda image, resample, fillcolor: autoaugment._apply_op(
        image, name, amount, InterpolationMode(resample), list(fillcolor))


def blur_23(deviation):
    return lambda image, **_: F.gaussian_blur(image, [23, 23], [deviation, deviation])


def cases():
    """Yields (effect, amount, function, samplings)."""
    plain = ["nearest"]
    for effect, name in (("auto_contrast", "AutoContrast"), ("equalize", "Equalize"),
                         ("invert", "Invert")):
        yield effect, 0, of_timm(name), plain
    yield "grayscale", 0, lambda image, **_: F.rgb_to_grayscale(image, 3), plain
    for bits in (1, 2, 4, 8):
        yield "posterize", bits, of_timm("Posterize", bits), plain
    for threshold in (0, 26, 128, 256):
        yield "solarize", threshold, of_timm("Solarize", threshold), plain
    yield "solarize", 113.25, of_torchvision("Solarize", 113.25), plain
    yield "solarize_add", 33, of_timm("SolarizeAdd", 33), plain
    yield "solarize_add", 128, of_timm("SolarizeAdd", 128), plain
    for effect in ("brightness", "contrast", "color", "sharpness"):
        name = effect.capitalize()
        for factor in (0.1, 0.73, 1.0, 1.9):
            yield effect, factor, of_timm(name, factor), plain
        yield effect, 1.25, of_torchvision(name, 0.25), plain
    for share in (-0.5, -0.1, 0.03, 0.37):
        yield "hue", share, lambda image, s=share, **_: F.adjust_hue(image, s), plain
    for radius in (0.1, 0.9, 2.0, 4.5):
        yield "box_blur", radius, lambda image, r=radius, **_: image.filter(
            ImageFilter.GaussianBlur(r)), plain
    for deviation in (0.1, 0.8, 2.0):
        yield "gaussian_blur", deviation, blur_23(deviation), plain
    smooth = ["bilinear", "bicubic"]
    for factor in (-0.3, 0.117, 0.99):
        yield "shear_x", factor, of_timm("ShearX", factor), smooth
        yield "shear_y", factor, of_timm("ShearY", factor), smooth
    for pixels in (-5.4, 3, 9.75):
        yield "translate_x", pixels, of_timm("TranslateX", pixels), smooth
        yield "translate_y", pixels, of_timm("TranslateY", pixels), smooth
    for degrees in (-30, 0, 3.3, 27):
        yield "rotate", degrees, of_timm("Rotate", degrees), smooth
    # torchvision moves the image, timm the sampling position, so the signs are opposite.
    for factor in (-0.3, 0.99):
        yield "shear_x", factor, of_torchvision("ShearX", factor), plain
        yield "shear_y", factor, of_torchvision("ShearY", factor), plain
    for pixels in (-5, 9):
        yield "translate_x", -pixels, of_torchvision("TranslateX", pixels), plain
        yield "translate_y", -pixels, of_torchvision("TranslateY", pixels), plain
    for degrees in (-135, -22.5, 31.5, 45, 90):
        yield "rotate", degrees, of_torchvision("Rotate", degrees), plain


def main():
    torch.set_num_threads(1)
    lines, pixels = [], b""
    for effect, amount, function, samplings in cases():
        large = effect in ("equalize", "auto_contrast", "contrast")
        width, height = (53, 41) if large else (27, 19)
        for sampling in samplings:
            fill = BLACK if sampling == "nearest" else GREY
            resample = sampling if getattr(function, "__qualname__", "").startswith(
                "of_torchvision") else RESAMPLE[sampling]
            made = function(image(width, height), resample=resample, fillcolor=fill)
            lines.append(f"{effect} {amount} {sampling} {fill[0]} {fill[1]} {fill[2]} "
                         f"{width} {height}")
            pixels += np.asarray(made.convert("RGB")).tobytes()
    open(os.path.join(HERE, "augment.txt"), "w").write("\n".join(lines) + "\n")
    open(os.path.join(HERE, "augment.bin"), "wb").write(pixels)


main()
