#!/usr/bin/env python3
"""Writes class_weights.txt in the folder above: PyTorch's cross-entropy with class weights.

Needs torch (made with torch 2.11.0). Usage: python make_class_weights.py

One line per record:  SMOOTHING MIXED LOSS GRADIENT...
    SMOOTHING  label smoothing
    MIXED      1: the target is lambda * onehot(a) + (1 - lambda) * onehot(b); 0: onehot(a)
    LOSS       sum over the rows
    GRADIENT   its derivatives with respect to the logits, row by row
Logits, labels and weights are those of tests/ops/cross_entropy_test.cpp.
"""

import math
import pathlib

import torch
from torch.nn.functional import cross_entropy, one_hot

CLASSES = 6
A = torch.tensor([0, 3, 5, 1])
B = torch.tensor([2, 3, 0, 4])
LAMBDA = torch.tensor([0.25, 0.5, 1.0, 0.75], dtype=torch.double)[:, None]
WEIGHTS = torch.tensor([0.5, 2.0, 1.0, 0.0, 4.0, 0.25], dtype=torch.double)


def main():
    lines = []
    for smoothing in (0.0, 0.125):
        for mixed in (0, 1):
            logits = [3 * math.sin(0.37 * i + 0.5) for i in range(len(A) * CLASSES)]
            logits = torch.tensor(logits, dtype=torch.double).view(len(A), CLASSES)
            logits.requires_grad_()
            target = LAMBDA * one_hot(A, CLASSES) + (1 - LAMBDA) * one_hot(B, CLASSES)
            loss = cross_entropy(
                logits,
                target if mixed else A,
                weight=WEIGHTS,
                reduction="sum",
                label_smoothing=smoothing,
            )
            loss.backward()
            values = [loss.item(), *logits.grad.flatten().tolist()]
            lines.append(f"{smoothing} {mixed} " + " ".join(repr(v) for v in values))
    path = pathlib.Path(__file__).resolve().parents[1] / "class_weights.txt"
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
