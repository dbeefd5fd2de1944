#!/usr/bin/env python3
"""Writes resize.txt (one case per line) and the pixels of the cases.

The pixels are results of Pillow and torchvision: resize_13.bin of Pillow 13, resize_12.bin of
Pillow 12. They differ where Pillow 13 does the vertical pass first. Needs pillow, numpy,
torchvision. Usage, with each version of Pillow: python make_resize.py
"""

import os

import numpy as np
import PIL
from formula import image
from PIL import Image
from torchvision.transforms import functional as F

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIZES = [  # width, height -> width, height
    (37, 23, 16, 16), (16, 16, 37, 41), (100, 75, 32, 32), (1, 1, 8, 8), (1, 50, 7, 7),
    (50, 1, 9, 9), (300, 200, 31, 17), (24, 24, 24, 24), (5, 3, 33, 21), (641, 3, 20, 20),
    (61, 60, 60, 61), (2, 2, 1, 1), (97, 5, 1, 11), (120, 90, 53, 90),
    # Pillow 13 does the vertical pass first if the height shrinks by more than twice as many pixels
    # as the width: here by 20, 21 and 22 rows for 10 columns.
    (60, 80, 50, 60), (60, 81, 50, 60), (60, 82, 50, 60), (60, 61, 80, 60), (60, 60, 80, 61),
    (30, 90, 41, 17), (8, 300, 7, 20), (75, 100, 32, 32), (40, 333, 32, 33),
]
EVAL = [  # width, height, resize, crop
    (61, 43, 36, 32), (43, 61, 36, 32), (50, 50, 33, 24), (20, 31, 41, 35), (90, 30, 16, 21),
    (30, 90, 17, 20), (7, 7, 7, 7),
]


def main():
    lines, pixels = [], b""
    for name, how in (("bilinear", Image.BILINEAR), ("bicubic", Image.BICUBIC)):
        for w, h, ow, oh in SIZES:
            lines.append(f"resize {name} {w} {h} {ow} {oh}")
            pixels += np.asarray(image(w, h).resize((ow, oh), how)).tobytes()
        for w, h, side, crop in EVAL:
            lines.append(f"eval {name} {w} {h} {side} {crop}")
            oh, ow = F._compute_resized_output_size((h, w), [side])
            resized = image(w, h).resize((ow, oh), how)
            pixels += np.asarray(F.center_crop(resized, crop)).tobytes()
    open(os.path.join(HERE, "resize.txt"), "w").write("\n".join(lines) + "\n")
    version = PIL.__version__.split(".")[0]
    open(os.path.join(HERE, f"resize_{version}.bin"), "wb").write(pixels)


main()
