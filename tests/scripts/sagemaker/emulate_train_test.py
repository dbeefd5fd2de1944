"""Trains in `emulate`: interrupted spot jobs, two hosts, Pipe channels.

Environment: SHOAL_PROGRAM is the built program.
"""

import unittest

from emulated import Shoal

SPOT = {"spot": True, "max_wait": "2d"}


class Training(Shoal):
    def check_interruption(self, stop, **settings):
        """Compares the weights of a job interrupted at the line `stop` with an undisturbed one."""
        settings |= SPOT
        out, _, whole = self.train("whole", checkpoints="s3://bucket/whole", **settings)
        self.assertRegex(out, r"Acc@1 \d")
        words = ("--stop-at", stop)
        settings |= {"checkpoints": "s3://bucket/interrupted"}
        out, _, interrupted = self.train("interrupted", *words, **settings)
        self.assertIn("stopped by SIGTERM", out)
        self.assertRegex(out, r"start .*/checkpoints/epoch-0000-step-\d+\.pt")
        self.assertTrue(interrupted == whole, "the weights differ")
        return out

    def test_an_interrupted_spot_job_gives_the_weights_of_an_undisturbed_one(self):
        # 20 steps per epoch, so that the job is still running when it is stopped
        self.check_interruption(r"Epoch: \[0\]\[ 1/20\]")

    def test_an_interrupted_job_with_pipes_gives_the_weights_of_an_undisturbed_one(self):
        for part in ("a", "b"):  # the pipe delivers both objects
            (self.bucket / "stream").mkdir(exist_ok=True)
            self.make_tar(f"stream/{part}.tar", [f"train/{part}"])
        self.make_tar("val.tar", ["val/a", "val/b"])
        (self.bucket / "names").mkdir()
        (self.bucket / "names/classes").write_text("a\nb\n")
        out = self.check_interruption(
            r"Epoch: \[0\]\[ 1/20\]",
            channels={
                "train": {"source": "s3://bucket/stream/", "mode": "Pipe"},
                "validation": {"source": "s3://bucket/val.tar", "mode": "Pipe"},
                "names": "s3://bucket/names/",
            },
            hyperparameters={
                "train-samples": 80,
                "classes": "/opt/ml/input/data/names/classes",
            },
        )
        self.assertIn("valid:images=8;", out)

    def test_two_hosts_train_the_weights_of_two_processes_on_one_host(self):
        self.check_two_hosts("127.0.0.1", "--loopback")


if __name__ == "__main__":
    unittest.main()
