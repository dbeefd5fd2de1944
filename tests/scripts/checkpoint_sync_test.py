"""Stops and kills runs whose checkpoint folder is mirrored to S3, and resumes them from the copy.

S3 is moto's server on loopback. As on SageMaker, the mirror uploads new and changed files and
deletes removed ones. A new container starts with a checkpoint folder downloaded from S3.
Environment: SHOAL_PROGRAM is the built program.
"""

import json
import logging
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import boto3
from moto.server import ThreadedMotoServer

PROGRAM = os.environ["SHOAL_PROGRAM"]
IMAGES = Path(__file__).resolve().parents[1] / "golden/images"
GRACE_SECONDS = 120  # from SIGTERM to SIGKILL
LIMIT_SECONDS = 240  # for all containers, so that ctest does not end this test before
CHECKPOINT = re.compile(r"epoch-\d+-step-(\d+)\.(pt|json)")
REWRITTEN = ("manifest.json", "history.jsonl")
ALLOWED = re.compile(
    r"(superseded-|unknown-)?epoch-\d+-step-\d+\.(pt|json)|manifest\.json|history\.jsonl"
)
HYPERPARAMETERS = (
    '{"model": "efficientnet_b0", "size": "32", "batch_size": "4", "epochs": "8", "lr": "0.01", '
    '"ema": "0.9", "checkpoint_steps": "10", "keep": "2", "nproc": "2", "threads": "1", '
    '"workers": "1", "seed": "7"}'
)
STEPS = 40  # 40 images / (2 processes x batch size 4) x 8 epochs


def step_of(name):
    found = CHECKPOINT.fullmatch(name)
    return int(found[1]) if found else -1


def files(folder):
    """Returns {name: (size in bytes, modification time)}."""
    found = {}
    for path in folder.rglob("*"):
        try:
            status = path.stat()
        except FileNotFoundError:  # removed since it was listed
            continue
        if stat.S_ISREG(status.st_mode):
            found[path.relative_to(folder).as_posix()] = (status.st_size, status.st_mtime_ns)
    return found


class Repeat(threading.Thread):
    """Calls `once` repeatedly until end(). If `once` raised an exception, end() raises it."""

    def __init__(self, once):
        super().__init__()
        self.once, self.over, self.error = once, threading.Event(), None

    def run(self):
        try:
            while not self.over.wait(0.005):
                self.once()
        except Exception as error:
            self.error = error

    def end(self):
        self.over.set()
        self.join()
        if self.error:
            raise self.error


class Mirror:
    """Keeps the bucket equal to the folder: uploads new and changed files, deletes removed ones."""

    def __init__(self, s3, bucket, folder):
        self.s3, self.bucket, self.folder = s3, bucket, folder
        self.uploaded = files(folder)  # these files were just downloaded

    def once(self):
        found = files(self.folder)
        for name, state in found.items():
            if self.uploaded.get(name) != state:
                try:
                    body = (self.folder / name).read_bytes()
                except FileNotFoundError:
                    continue
                self.s3.put_object(Bucket=self.bucket, Key=name, Body=body)
                self.uploaded[name] = state
        for name in set(self.uploaded) - found.keys():
            self.s3.delete_object(Bucket=self.bucket, Key=name)
            del self.uploaded[name]


class Watch:
    """Records all file names and sizes. Calls act() once a checkpoint of `step` or later exists."""

    def __init__(self, folder, step, act):
        self.folder, self.step, self.act = folder, step, act
        self.sizes, self.reached = {}, False
        self.before = files(folder)

    def once(self):
        found = files(self.folder)
        for name, state in found.items():
            if state != self.before.get(name):
                self.sizes.setdefault(name, set()).add(state[0])
        there = any(step_of(name) >= self.step and name.endswith(".json") for name in found)
        if there and not self.reached:
            self.reached = True
            self.act()


class Container:
    """A temporary /opt/ml with images, in which `train` can run."""

    def __init__(self, folder):
        self.base = Path(folder)
        shutil.rmtree(self.base, ignore_errors=True)
        config = self.base / "input/config"
        config.mkdir(parents=True)
        self.checkpoints = self.base / "state"
        self.checkpoints.mkdir()
        (config / "resourceconfig.json").write_text(
            '{"current_host": "algo-1", "hosts": ["algo-1"]}'
        )
        (config / "hyperparameters.json").write_text(HYPERPARAMETERS)
        (config / "checkpointconfig.json").write_text(f'{{"LocalPath": "{self.checkpoints}"}}')
        jpegs = ("baseline_420", "grey", "progressive", "restart", "baseline_444")
        for part, count in (("train", 4), ("validation", 1)):
            for name in "ab":
                place = self.base / "input/data" / part / name
                place.mkdir(parents=True)
                for index in range(count):
                    for jpeg in jpegs:
                        shutil.copy(IMAGES / f"{jpeg}.jpg", place / f"{index}_{jpeg}.jpg")

    def start(self):
        return subprocess.Popen(
            [PROGRAM, "train"],
            env=os.environ | {"SAGEMAKER_BASE_DIR": str(self.base)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def model(self):
        return (self.base / "model/model.safetensors").read_bytes()

    def history(self):
        """Returns the entries of the history without times."""
        lines = (self.base / "output/data/history.jsonl").read_text().splitlines()
        entries = [json.loads(line) for line in lines]
        left_out = ("timing", "time")
        return [{key: entry[key] for key in entry if key not in left_out} for entry in entries]

    def last_checkpoint(self):
        return max((path for path in self.checkpoints.glob("*.pt")), key=lambda p: step_of(p.name))


logging.getLogger("werkzeug").setLevel(logging.ERROR)


class CheckpointSync(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)
        host, port = cls.server.get_host_and_port()
        cls.s3 = boto3.client(
            "s3",
            endpoint_url=f"http://{host}:{port}",
            region_name="us-east-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )
        cls.s3.create_bucket(Bucket="state")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.timers = []
        self.end = time.monotonic() + LIMIT_SECONDS
        self.base = Path(folder.name) / "ml"  # every container uses this folder, like /opt/ml

    def start(self, container):
        """Starts a container, and kills its processes after the test if they still run."""
        process = container.start()

        def end():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

        self.addCleanup(end)
        return process

    def stderr_of(self, process):
        """Waits for the end of the container. Returns what it has written to stderr."""
        return process.communicate(timeout=self.end - time.monotonic())[1]

    def keys(self):
        return {
            entry["Key"] for entry in self.s3.list_objects_v2(Bucket="state").get("Contents", [])
        }

    def run_mirrored(self, step, act):
        """Runs a container with the checkpoints from S3. Returns container, exit code and stderr.

        Calls act(process) at the checkpoint of `step`.
        """
        container = Container(self.base)
        for name in self.keys():
            self.s3.download_file("state", name, str(container.checkpoints / name))
        process = self.start(container)
        watch = Watch(container.checkpoints, step, lambda: act(process))
        mirror = Mirror(self.s3, "state", container.checkpoints)
        threads = [Repeat(watch.once), Repeat(mirror.once)]
        for thread in threads:
            self.addCleanup(thread.over.set)
            thread.start()
        err = self.stderr_of(process)
        for timer in self.timers:
            timer.cancel()
        for thread in threads:
            thread.end()
        if process.returncode == 0:  # a clean exit: the mirror still uploads the last files
            mirror.once()
        self.assertTrue(watch.reached, err)
        # The mirrored folder contains only finished checkpoints, which never change.
        for name, sizes in watch.sizes.items():
            self.assertTrue(ALLOWED.fullmatch(name), name)
            if name not in REWRITTEN:
                self.assertEqual(len(sizes), 1, f"{name} was seen with {sizes} bytes")
        return container, process.returncode, err

    def test_a_run_that_was_stopped_killed_and_moved_gives_bit_identical_results(self):
        whole = Container(self.base)
        process = self.start(whole)
        err = self.stderr_of(process)
        self.assertEqual(process.returncode, 0, err)
        model, checkpoint = whole.model(), whole.last_checkpoint().read_bytes()
        history = whole.history()
        self.assertGreater(len(history), 8)

        # SageMaker stops the run: SIGTERM, then 120 s to save a checkpoint.
        def stop(process):
            os.kill(process.pid, signal.SIGTERM)
            kill = threading.Timer(GRACE_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
            self.timers.append(kill)
            self.addCleanup(kill.cancel)
            kill.start()

        container, code, err = self.run_mirrored(10, stop)
        self.assertEqual(code, 0, err)
        self.assertIn("stopped by SIGTERM", err)
        stopped_at = step_of(container.last_checkpoint().name)
        self.assertLess(stopped_at, STEPS)
        self.assertEqual(self.keys(), {path.name for path in container.checkpoints.iterdir()})

        # The machine is lost without warning, possibly during an upload.
        _, code, err = self.run_mirrored(
            stopped_at + 10, lambda p: os.killpg(p.pid, signal.SIGKILL)
        )
        self.assertEqual(code, -signal.SIGKILL)
        self.assertRegex(err, rf"start .*-step-0*{stopped_at}\.pt, .* step {stopped_at}\n")

        # Only half of the newest checkpoint was uploaded, so the run resumes from the one before.
        # Its .json marker may be missing, because it is written last.
        steps = sorted({step_of(n) for n in self.keys() if n.endswith(".pt")})
        newest, before = steps[-1], steps[-2]
        name = next(n for n in self.keys() if step_of(n) == newest and n.endswith(".pt"))
        body = self.s3.get_object(Bucket="state", Key=name)["Body"].read()
        self.s3.put_object(Bucket="state", Key=name, Body=body[: len(body) // 2])
        moved, code, err = self.run_mirrored(STEPS, lambda p: None)
        self.assertEqual(code, 0, err)
        self.assertIn(name, err)
        self.assertRegex(err, rf"start .*-step-0*{before}\.pt, .* step {before}\n")

        self.assertTrue(moved.model() == model, "the models differ")
        self.assertTrue(
            moved.last_checkpoint().read_bytes() == checkpoint, "the checkpoints differ"
        )
        self.assertEqual(moved.history(), history)
        self.assertEqual(self.keys(), {path.name for path in moved.checkpoints.iterdir()})


if __name__ == "__main__":
    unittest.main()
