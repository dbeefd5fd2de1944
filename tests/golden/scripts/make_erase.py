"""Writes tests/golden/erase.txt: small images, normalized and erased by timm's RandomErasing (mode
const), as 32-bit floats.

    python3 make_erase.py          # needs torch and timm 1.0

Each case is one line: height width, x0 y0 x1 y1 of the erased box, then height·width·3 bytes of the
image and the same number of result values, both row by row with interleaved channels.
"""

import pathlib
import random

import torch
from timm.data.random_erasing import RandomErasing

OUT = pathlib.Path(__file__).resolve().parents[1] / "erase.txt"
MEAN = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)


def main():
    random.seed(3)
    torch.manual_seed(3)
    erasing = RandomErasing(probability=1, mode="const", device="cpu")
    lines = []
    for height, width in ((8, 8), (9, 12), (12, 7), (10, 10)):
        image = torch.randint(1, 255, (3, height, width), dtype=torch.uint8)
        result = (image.float().div(255) - MEAN) / STD
        erasing(result)
        gone = (result == 0).all(dim=0).nonzero()
        (y0, x0), (y1, x1) = gone.min(dim=0).values.tolist(), (gone.max(dim=0).values + 1).tolist()
        assert len(gone) == (y1 - y0) * (x1 - x0) > 0
        numbers = [height, width, x0, y0, x1, y1]
        numbers += image.permute(1, 2, 0).flatten().tolist()
        values = [f"{value:.9g}" for value in result.permute(1, 2, 0).flatten().tolist()]
        lines.append(" ".join([*map(str, numbers), *values]))
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
