"""The test image of several scripts. formula_image() of tests/data computes the same pixels."""

import numpy as np
from PIL import Image


def image(width, height):
    """Returns squares of noise and squares of smooth gradients (RGB)."""
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(3), indexing="ij")
    noise = (x * x * 3 + y * y * 5 + x * y * 7 + c * 61 + (x ^ y) * 11) & 255
    smooth = (x * 2 + y + c * 40) & 255
    return Image.fromarray(np.where((x // 16 + y // 16) % 2 == 0, noise, smooth).astype(np.uint8))
