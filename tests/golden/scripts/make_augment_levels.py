#!/usr/bin/env python3
"""Writes augment_levels.txt: the amounts that timm and torchvision derive from magnitudes.

Each line: timm, or torchvision's auto, rand or wide; the number of the operation (timm's:
data/augment/levels.h, torchvision's: operation.h); the magnitude; the amount (the larger one if
there are two signs).
Images have 200 x 100 pixels. Needs timm, torchvision. Usage: python make_augment_levels.py
"""

import os

from timm.data import auto_augment as timm
from torchvision.transforms import autoaugment

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEVELS = [
    "AutoContrast", "Equalize", "Invert", "Rotate", "Posterize", "PosterizeIncreasing",
    "PosterizeOriginal", "Solarize", "SolarizeIncreasing", "SolarizeAdd", "Color",
    "ColorIncreasing", "Contrast", "ContrastIncreasing", "Brightness", "BrightnessIncreasing",
    "Sharpness", "SharpnessIncreasing", "ShearX", "ShearY", "TranslateXRel", "TranslateYRel",
    "Desaturate", "GaussianBlur",
]
EFFECTS = {
    "Posterize": 4, "Solarize": 5, "Brightness": 7, "Contrast": 8, "Color": 9, "Sharpness": 10,
    "ShearX": 13, "ShearY": 14, "TranslateX": 15, "TranslateY": 16, "Rotate": 17,
}
SIDES = {"TranslateXRel": 200, "TranslateYRel": 100}


def timm_amount(name, magnitude):
    function = timm.LEVEL_TO_ARG[name]
    if function is None:
        return 0
    amounts = [function(magnitude, {})[0] if isinstance(function(magnitude, {}), tuple) else
               function(magnitude, {}) for _ in range(40)]
    amount = max(amounts)
    if name == "Desaturate":  # the operation converts it to a color factor
        return min(1, max(0, 1 - amount))
    return amount * SIDES.get(name, 1)


def torchvision_lines():
    rand, wide = autoaugment.RandAugment(), autoaugment.TrivialAugmentWide()
    auto = autoaugment.AutoAugment()
    spaces = (("auto", auto._augmentation_space(10, (100, 200)), 10),
              ("rand", rand._augmentation_space(31, (100, 200)), 31),
              ("wide", wide._augmentation_space(31), 31))
    for who, space, bins in spaces:
        for name, effect in EFFECTS.items():
            magnitudes, _ = space[name]
            for i in range(bins):
                amount = float(magnitudes[i])
                if name.startswith("Translate"):
                    amount = int(amount)
                if name in ("Brightness", "Contrast", "Color", "Sharpness"):
                    amount += 1
                yield f"{who} {effect} {i} {amount!r}"


def main():
    lines = [f"timm {i} {m} {float(timm_amount(name, m))!r}"
             for i, name in enumerate(LEVELS) for m in (0, 1, 3.5, 7, 9, 10)]
    lines += torchvision_lines()
    open(os.path.join(HERE, "augment_levels.txt"), "w").write("\n".join(lines) + "\n")


main()
