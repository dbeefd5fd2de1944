#!/usr/bin/env python3
"""Writes binary_cross_entropy.txt in the folder above: the loss of timm's BinaryCrossEntropy.

Needs torch and timm (made with torch 2.11.0 and timm 1.0.31).
Usage: python make_binary_cross_entropy.py

One line per record:  SMOOTHING MIXED THRESHOLD SUM WEIGHTED LOSS GRADIENT...
    SMOOTHING  label smoothing
    MIXED      1: labels are mixed with those of the reversed batch, as by timm's Mixup
    THRESHOLD  target_threshold; -1: None
    SUM        1: sum_classes
    WEIGHTED   1: `weight` has one row per sample, the average of CLASS_WEIGHTS by its target
    LOSS       sum over the rows
    GRADIENT   its derivatives with respect to the logits, row by row
Logits, labels and weights are those of tests/ops/binary_cross_entropy_test.cpp.
"""

import itertools
import math
import pathlib

import torch
from timm.data.mixup import mixup_target
from timm.loss import BinaryCrossEntropy

CLASSES = 6
LABELS = torch.tensor([0, 3, 5, 1, 2])
LAMBDA = torch.tensor([0.25, 0.5, 1.0, 0.75, 0.125], dtype=torch.double)[:, None]
CLASS_WEIGHTS = torch.tensor([0.5, 2.0, 1.0, 0.0, 4.0, 0.25], dtype=torch.double)


def record(smoothing, mixed, threshold, sum_classes, weighted):
    logits = [3 * math.sin(0.37 * i + 0.5) for i in range(len(LABELS) * CLASSES)]
    logits = torch.tensor(logits).view(len(LABELS), CLASSES).requires_grad_()
    lam = LAMBDA if mixed else 1.0
    soft = mixup_target(LABELS, CLASSES, lam, smoothing)
    loss = BinaryCrossEntropy(
        smoothing=smoothing,
        target_threshold=None if threshold < 0 else threshold,
        weight=(soft @ CLASS_WEIGHTS)[:, None] if weighted else None,
        sum_classes=bool(sum_classes),
    )(logits, soft if mixed else LABELS)
    loss = loss * len(LABELS)
    loss.backward()
    settings = f"{smoothing} {mixed} {threshold} {sum_classes} {weighted}"
    values = [loss.item(), *logits.grad.flatten().tolist()]
    return settings + " " + " ".join(repr(value) for value in values)


def main():
    torch.set_default_dtype(torch.double)
    cases = [
        (smoothing, mixed, threshold, 0, 0)
        for smoothing, mixed, threshold in itertools.product((0.0, 0.125), (0, 1), (-1, 0.2))
    ]
    cases += [(0.0, 1, 0, 1, 0), (0.125, 1, -1, 1, 0)]
    cases += [(0.0, 0, -1, 0, 1), (0.125, 1, -1, 0, 1), (0.125, 1, 0.2, 1, 1)]
    path = pathlib.Path(__file__).resolve().parents[1] / "binary_cross_entropy.txt"
    path.write_text("\n".join(record(*case) for case in cases) + "\n")


if __name__ == "__main__":
    main()
