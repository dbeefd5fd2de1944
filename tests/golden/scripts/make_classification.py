#!/usr/bin/env python3
"""Writes classification.txt in the folder above: figures of scikit-learn and torchmetrics.

Needs scikit-learn, torch and torchmetrics (made with 1.9.1, 2.11.0 and 1.9.0).
Usage: python make_classification.py [PREDICTIONS.jsonl]

With PREDICTIONS.jsonl, written by `shoal eval --predictions PREDICTIONS.jsonl --logits`, prints the
same figures for these predictions, to compare them with evaluation.json.

Lines of classification.txt:
    images CLASSES COUNT
    image LABEL LOGIT...      once per image
    figures TOP1 TOP5 LOSS ECE PRECISION RECALL F1     unweighted means over the classes
    class PRECISION RECALL F1     once per class; 0 if undefined
    confusion COUNT...        once per label, by prediction
"""

import json
import pathlib
import sys

import numpy as np
import torch
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
    top_k_accuracy_score,
)
from torchmetrics.functional.classification import multiclass_calibration_error

BINS = 15


def figures(labels, logits):
    classes = logits.shape[1]
    names = list(range(classes))
    probabilities = torch.softmax(torch.tensor(logits, dtype=torch.double), 1).numpy()
    predicted = logits.argmax(1)
    used = sorted(set(labels) | set(predicted))
    mean = precision_recall_fscore_support(
        labels, predicted, labels=used, average="macro", zero_division=0
    )[:3]
    each = precision_recall_fscore_support(labels, predicted, labels=names, zero_division=0)[:3]
    ece = multiclass_calibration_error(
        torch.tensor(probabilities), torch.tensor(labels), classes, n_bins=BINS, norm="l1"
    ).item()
    values = [
        accuracy_score(labels, predicted),
        top_k_accuracy_score(labels, logits, k=min(5, classes - 1), labels=names),
        log_loss(labels, probabilities, labels=names),
        ece,
        *mean,
    ]
    lines = ["figures " + " ".join(repr(float(value)) for value in values)]
    lines += ["class " + " ".join(repr(float(value)) for value in row) for row in zip(*each)]
    matrix = confusion_matrix(labels, predicted, labels=names)
    lines += ["confusion " + " ".join(str(count) for count in row) for row in matrix]
    return lines


def from_file(path):
    rows = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    rows = [row for row in rows if "error" not in row]
    return (
        np.array([row["label"] for row in rows]),
        np.array([row["logits"] for row in rows], dtype=np.float32),
    )


def main():
    if len(sys.argv) > 1:
        print("\n".join(figures(*from_file(sys.argv[1]))))
        return
    random = np.random.default_rng(21)
    classes, count = 8, 60
    # No image has class 5, no prediction is class 6, and class 7 occurs in neither.
    labels = random.choice([0, 1, 2, 3, 4, 6], count)
    logits = random.normal(0, 1.5, (count, classes))
    logits[np.arange(count), labels] += random.choice([0.5, 2.5, 6], count)
    logits[:, 6] = logits[:, :6].min(1) - 0.5
    logits[:, 7] = logits[:, 6] - 0.5
    logits = logits.round(4).astype(np.float32)
    lines = [f"images {classes} {count}"]
    for label, row in zip(labels, logits):
        lines.append(f"image {label} " + " ".join(f"{value:.4f}" for value in row))
    lines += figures(labels, logits)
    path = pathlib.Path(__file__).resolve().parents[1] / "classification.txt"
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
