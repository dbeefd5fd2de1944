#!/usr/bin/env python3
"""Writes lamb.txt in the folder above: five steps of LAMB, computed with numpy.

Needs numpy (made with numpy 2.4.6). Usage: python make_lamb.py [--check]
--check: also compares with timm.optim.Lamb in float64 (needs torch and timm).

One line per record:  CASE TYPE STEP TENSOR VALUE...
    CASE    lamb, or lamb_clip (gradients clipped to the norm 2.5, and other betas)
    TYPE    f32 or f64
    STEP    number of finished steps (1 to 5)
    TENSOR  name of a row of TENSORS; `large` lists only every 499th value
The test repeats TENSORS and the formulas of optimizer_formulas.py.
"""

import math
import pathlib
import sys

import numpy as np
from optimizer_formulas import gradient, rate, start

HERE = pathlib.Path(__file__).resolve().parents[1]
STEPS = 5
# name, length, factor of the initial values, weight decay, factor of the learning rate
TENSORS = [
    ("weight", 20, 1.0, 1 / 128, 1.0),
    ("bias", 5, 1.0, 0.0, 1.0),
    ("large", 9990, 3.0, 1 / 32, 0.5),
    ("zero", 16, 0.0, 1 / 128, 1.0),
]
CASES = {"lamb": (0.9, 0.999, 0), "lamb_clip": (0.8, 0.99, 2.5)}  # betas, clip
EPS = 1e-6


def norm(values):
    return float(np.sqrt(np.sum(np.square(values.astype(np.float64)))))


def initial(dtype):
    return [np.array([factor * start(i) for i in range(length)], dtype)
            for _, length, factor, _, _ in TENSORS]


def gradients(step, dtype):
    return [np.array([gradient(i, step) for i in range(length)], dtype)
            for _, length, _, _, _ in TENSORS]


def lamb(beta1, beta2, clip, dtype):
    """Yields the tensors after each step."""
    tensors = initial(dtype)
    means = [np.zeros_like(t) for t in tensors]
    squares = [np.zeros_like(t) for t in tensors]
    for step in range(STEPS):
        grads = gradients(step, dtype)
        total = math.sqrt(sum(norm(g) ** 2 for g in grads))
        factor = dtype(min(1.0, clip / (total + 1e-6)) if clip else 1.0)
        for k, (_, _, _, decay, lr_factor) in enumerate(TENSORS):
            g = grads[k] * factor
            means[k] = dtype(beta1) * means[k] + dtype(1 - beta1) * g
            squares[k] = dtype(beta2) * squares[k] + dtype(1 - beta2) * g * g
            mean = means[k] / dtype(1 - beta1 ** (step + 1))
            square = squares[k] / dtype(1 - beta2 ** (step + 1))
            change = mean / (np.sqrt(square) + dtype(EPS)) + dtype(decay) * tensors[k]
            ratio = 1.0
            if decay and norm(tensors[k]) > 0 and norm(change) > 0:
                ratio = norm(tensors[k]) / norm(change)
            tensors[k] = tensors[k] - dtype(rate(step) * lr_factor * ratio) * change
        yield step + 1, tensors


def check(beta1, beta2, clip):
    """Returns the largest difference from timm's Lamb."""
    import torch
    from timm.optim.lamb import Lamb
    tensors = [torch.nn.Parameter(torch.from_numpy(t)) for t in initial(np.float64)]
    groups = [{"params": [t], "weight_decay": row[3]} for t, row in zip(tensors, TENSORS)]
    optimizer = Lamb(groups, lr=1, betas=(beta1, beta2), eps=EPS, max_grad_norm=None)
    worst = 0
    for step, (_, wanted) in enumerate(lamb(beta1, beta2, clip, np.float64)):
        for tensor, group, row, g in zip(tensors, optimizer.param_groups, TENSORS,
                                         gradients(step, np.float64)):
            tensor.grad = torch.from_numpy(g)
            group["lr"] = rate(step) * row[4]
        if clip:
            torch.nn.utils.clip_grad_norm_(tensors, clip)
        optimizer.step()
        worst = max(worst, *(np.abs(t.detach().numpy() - w).max() for t, w in zip(tensors, wanted)))
    return worst


lines = []
for name, (beta1, beta2, clip) in CASES.items():
    for type_name, dtype in (("f32", np.float32), ("f64", np.float64)):
        for step, tensors in lamb(beta1, beta2, clip, dtype):
            for row, tensor in zip(TENSORS, tensors):
                numbers = " ".join(f"{v:.17g}" for v in tensor[::499 if row[0] == "large" else 1])
                lines.append(f"{name} {type_name} {step} {row[0]} {numbers}")
    if "--check" in sys.argv:
        print(name, "differs from timm's by at most", check(beta1, beta2, clip))
(HERE / "lamb.txt").write_text("\n".join(lines) + "\n")
