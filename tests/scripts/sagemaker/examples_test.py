"""Checks that each example makes a valid request and that shoal accepts its hyperparameters.

Environment: SHOAL_PROGRAM is the built program.
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import ROOT, SCRIPTS, launch

EXAMPLES = SCRIPTS / "examples"
PROGRAM = Path(os.environ["SHOAL_PROGRAM"])
IMAGES = ("baseline_420.jpg", "grey.jpg", "progressive.jpg", "restart.jpg")
# Example → expected resolved settings of a run with its hyperparameters.
RESOLVED = {
    "imagenet_main": {
        "model": "resnet50",
        "epochs": 10,
        "seed": 123,
        "lr": 0.1,
        "optimizer": "sgd",
    },
    "horovod_pipe": {"model": "resnet50", "epochs": 90, "lr": 0.1},
    "book_chapter": {"model": "resnet50", "epochs": 90, "momentum": 0.9},
    "smddp_efficientnet": {
        "model": "efficientnet_b4",
        "epochs": 5,
        "amp": "bf16",
        "sync_bn": True,
        "mixup": 0.2,
        "weight_decay": 5e-06,
        "optimizer": "rmsprop",
        "lr": 0.00015625,
    },  # 0.005 × 4 / 128
}


def request_of(name, command="train"):
    code, out, err = launch(
        command,
        EXAMPLES / f"{name}.yaml",
        "--dry-run",
        *(["--metrics", PROGRAM] if command == "train" else []),
    )
    assert code == 0, err
    return json.loads(out)


def train(hyperparameters):
    """Trains one step in a temporary container folder.

    Returns (exit code, stderr, resolved settings).
    """
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        config = base / "input/config"
        config.mkdir(parents=True)
        (config / "resourceconfig.json").write_text(
            '{"current_host": "algo-1", "hosts": ["algo-1"]}'
        )
        (config / "hyperparameters.json").write_text(json.dumps(hyperparameters))
        for part in ("train/a", "train/b", "validation/a", "validation/b"):
            (base / "input/data" / part).mkdir(parents=True)
            for image in IMAGES:
                shutil.copy(ROOT / "tests/golden/images" / image, base / "input/data" / part)
        done = subprocess.run(
            [
                PROGRAM,
                "train",
                "--strict-hyperparameters",
                "--size",
                "32",
                "--val-size",
                "32",
                "--batch-size",
                "4",
                "--max-steps",
                "1",
                "--nproc",
                "1",
            ],
            env=os.environ | {"SAGEMAKER_BASE_DIR": folder},
            capture_output=True,
            text=True,
        )
        summary = base / "output/data/summary.json"
        found = json.loads(summary.read_text())["settings"] if summary.exists() else {}
        return done.returncode, done.stderr, found


class Examples(unittest.TestCase):
    def test_every_example_is_tested(self):
        found = {path.stem for path in EXAMPLES.glob("*.yaml")}
        self.assertEqual(found, {*RESOLVED, "chain", "pack", "prepare"})

    def test_shoal_trains_with_each_examples_hyperparameters(self):
        for name, expected in RESOLVED.items():
            with self.subTest(name):
                code, err, found = train(request_of(name)["HyperParameters"])
                self.assertEqual(code, 0, err)
                self.assertEqual({key: found[key] for key in expected}, expected)

    def test_a_misspelt_hyperparameter_is_an_error(self):
        code, err, _ = train({"epochz": "3"})
        self.assertEqual(code, 2)
        self.assertIn("epochz (did you mean epochs?)", err)

    def test_requests_contain_the_programs_metric_definitions(self):
        printed = json.loads(subprocess.check_output([PROGRAM, "metrics"]))
        self.assertEqual(
            request_of("book_chapter")["AlgorithmSpecification"]["MetricDefinitions"], printed
        )

    def test_requests_match_the_reference_systems(self):
        smddp = request_of("smddp_efficientnet")
        self.assertEqual(
            smddp["HyperParameters"],
            {
                "mode": "train",
                "arch": "efficientnet-b4",
                "use_amp": "",
                "use_xla": "",
                "max_epochs": "5",
                "train_batch_size": "64",
                "lr_init": "0.005",
                "batch_norm": "syncbn",
                "mixup_alpha": "0.2",
                "weight_decay": "5e-06",
            },
        )
        self.assertEqual(smddp["ResourceConfig"]["InstanceType"], "ml.p4d.24xlarge")
        pipe = request_of("horovod_pipe")["InputDataConfig"]
        self.assertEqual(
            [c["ChannelName"] for c in pipe], [f"train_{i}" for i in range(4)] + ["eval"]
        )
        self.assertEqual({c["InputMode"] for c in pipe}, {"Pipe"})
        self.assertEqual([c.get("ShuffleConfig") for c in pipe], [{"Seed": 1}] * 4 + [None])
        spot = request_of("imagenet_main")
        self.assertTrue(spot["EnableManagedSpotTraining"])
        self.assertEqual(spot["ResourceConfig"]["InstanceCount"], 3)
        book = request_of("book_chapter")
        self.assertEqual(book["RetryStrategy"], {"MaximumRetryAttempts": 30})
        self.assertEqual(book["ResourceConfig"]["KeepAlivePeriodInSeconds"], 1800)

    def test_shoal_accepts_the_arguments_of_the_packing_job(self):
        spec = request_of("pack", "process")["AppSpecification"]
        self.assertEqual(spec["ContainerEntrypoint"], ["shoal", "pack"])
        with tempfile.TemporaryDirectory() as folder:
            source, result = Path(folder) / "images", Path(folder) / "train.pack"
            (source / "a").mkdir(parents=True)
            shutil.copy(ROOT / "tests/golden/images/baseline_420.jpg", source / "a")
            done = subprocess.run(
                [PROGRAM, "pack", source, result, *spec["ContainerArguments"][2:]],
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(result.exists())

    def test_shoal_accepts_the_arguments_of_the_preparing_job(self):
        spec = request_of("prepare", "process")["AppSpecification"]
        with tempfile.TemporaryDirectory() as folder:
            words = list(spec["ContainerArguments"])
            self.assertEqual(words[2], "/opt/ml/processing/output")
            words[1:3] = [folder, f"{folder}/made"]
            done = subprocess.run(
                [PROGRAM, spec["ContainerEntrypoint"][1], *words], capture_output=True, text=True
            )
            self.assertIn("there is no ILSVRC2012_", done.stderr)


if __name__ == "__main__":
    unittest.main()
