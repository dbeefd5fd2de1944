"""Initial values, gradients and learning rates of the optimizers' goldens.

tests/ops/optimizer_test.cpp repeats them.
"""

import math


def start(i):
    return math.sin(0.37 * i + 0.5)


def gradient(i, step):  # step counts from 0
    return 0.8 * math.sin(0.7 * i + 1.3 * step + 1.0) * (1 + 0.2 * step)


def rate(step):
    return 0.05 * (1 + 0.5 * math.sin(0.9 * step))
