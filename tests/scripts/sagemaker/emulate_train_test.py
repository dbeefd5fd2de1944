"""Trains in `emulate`: an interrupted spot job gives the same weights as an undisturbed one.

Environment: SHOAL_PROGRAM is the built program.
"""

import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

from support import IMAGE, ROOT, emulate

PROGRAM = os.environ["SHOAL_PROGRAM"]
IMAGES = ("baseline_420", "grey", "progressive", "restart")
SETTINGS = {
    "image": IMAGE,
    "role": "shoal",
    "instances": "ml.c5.xlarge",
    "output": "s3://bucket/jobs",
    "metrics": PROGRAM,
    "spot": True,
    "max_wait": "2d",
    "hyperparameters": {
        "model": "efficientnet_b0",
        "size": 32,
        "val-size": 32,
        "batch-size": 4,
        "epochs": 2,
        "lr": 0.001,
        "print-freq": 1,
        "nproc": 1,
        "threads": 1,
        "workers": 1,
    },
}


class Training(unittest.TestCase):
    def test_an_interrupted_spot_job_gives_the_weights_of_an_undisturbed_one(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for part in ("train/a", "train/b", "val/a", "val/b"):
                (folder / part).mkdir(parents=True)
                # 20 steps per epoch, so that the job is still running when it is stopped
                for copy in range(10 if part.startswith("train") else 1):
                    for image in IMAGES:
                        source = ROOT / f"tests/golden/images/{image}.jpg"
                        shutil.copy(source, folder / part / f"{image}-{copy}.jpg")
            settings = SETTINGS | {"channels": {p: str(folder / p) for p in ("train", "val")}}
            (folder / "job.json").write_text(json.dumps(settings))

            def run(job, *words):
                code, out, err = emulate(
                    folder / "job.json",
                    *("--program", PROGRAM, "--s3", folder / "s3", "--job-name", job),
                    *("--checkpoints", f"s3://bucket/{job}", *words),
                )
                self.assertEqual(code, 0, out + err)
                return (
                    out,
                    (folder / f"s3/bucket/jobs/{job}/output/model/model.safetensors").read_bytes(),
                )

            out, whole = run("whole")
            self.assertRegex(out, r"Acc@1 \d")
            out, interrupted = run("interrupted", "--stop-at", r"Epoch: \[0\]\[ 1/20\]")
            self.assertIn("stopped by SIGTERM", out)
            self.assertRegex(out, r"start .*/checkpoints/epoch-0000-step-\d+\.pt")
            self.assertTrue(interrupted == whole, "the weights differ")


if __name__ == "__main__":
    unittest.main()
