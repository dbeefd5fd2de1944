"""Shared by the tests of `emulate`: jobs of a stand-in program and of shoal."""

import json
import os
import shutil
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

from support import IMAGE, ROOT, emulate

STAND_IN = f"""#!{sys.executable} -B
import json, os, pathlib, signal, socket, sys
base = pathlib.Path(os.environ["SAGEMAKER_BASE_DIR"])
if sys.argv[1:2] == ["pack"]:
    names = sorted(path.name for path in pathlib.Path(sys.argv[2]).rglob("*") if path.is_file())
    pathlib.Path(sys.argv[3]).write_text(" ".join(names))
    sys.exit(0)
config = lambda name: json.loads((base / f"input/config/{{name}}.json").read_text())
exec(json.loads(config("hyperparameters")["code"]))
"""
IMAGES = ("baseline_420", "grey", "progressive", "restart")


class Emulated(unittest.TestCase):
    """Has a folder `folder`, whose subfolder s3 emulates S3, and the folder `bucket` in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.bucket = self.folder / "s3/bucket"
        self.settings = {
            "image": IMAGE,
            "role": "shoal",
            "instances": "ml.c5.xlarge",
            "output": "s3://bucket/jobs",
        }

    def emulate(self, *words):
        return emulate(*words, "--s3", self.folder / "s3")

    def submit(self, program, settings, *words):
        """Runs a job of `program`. Returns (exit code, stdout, stderr)."""
        file = self.folder / "job.json"
        file.write_text(json.dumps(settings))
        return self.emulate(file, "--program", program, *words)


class StandIn(Emulated):
    """Runs jobs of a program that runs the Python code in the hyperparameter `code`.

    The code can use `base`, the folder in place of /opt/ml, and config(NAME), which reads a
    platform file.
    """

    def setUp(self):
        super().setUp()
        program = self.folder / "program"
        program.write_text(STAND_IN)
        program.chmod(0o755)
        self.put("train/a/1", b"one")
        self.put("train/b/2", b"two")
        self.settings |= {
            "job_name": "job",
            "metrics": "none",
            "channels": {"train": "s3://bucket/train/"},
        }

    def put(self, key, data):
        path = self.bucket / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def job(self, code, *words, **settings):
        """Runs a job. Returns (exit code, stdout, stderr)."""
        found = self.settings | {"hyperparameters": {"code": json.dumps(code)}} | settings
        return self.submit(self.folder / "program", found, *words)

    def result(self, name):
        return (self.bucket / "jobs/job/output" / name).read_text()

    def text_from_second_host(self, *words):
        """Runs two hosts. The second sends its name to the first.

        Returns (what the first received and its network interface, stderr).
        """
        pipe = self.folder / "port"
        code = f"""
resources = config("resourceconfig")
first, host = resources["hosts"][0], resources["current_host"]
if host == first:
    server = socket.create_server((first, 0))
    with open({str(pipe)!r}, "w") as file:
        file.write(str(server.getsockname()[1]))
    text = server.accept()[0].recv(99).decode()
    (base / "model/text").write_text(text + " " + resources["network_interface_name"])
else:
    with open({str(pipe)!r}) as file:
        port = int(file.read())
    socket.create_connection((first, port)).send(host.encode())
"""
        os.mkfifo(pipe)
        code, _, err = self.job(code, *words, instances="2 x ml.c5.xlarge")
        self.assertEqual(code, 0, err)
        return self.result("model/text"), err


class Shoal(Emulated):
    """Runs training jobs of shoal, whose path is in SHOAL_PROGRAM."""

    def setUp(self):
        super().setUp()
        self.program = os.environ["SHOAL_PROGRAM"]
        for part in ("train/a", "train/b", "val/a", "val/b"):
            (self.bucket / part).mkdir(parents=True)
            for copy in range(10 if part.startswith("train") else 1):
                for image in IMAGES:
                    source = ROOT / f"tests/golden/images/{image}.jpg"
                    shutil.copy(source, self.bucket / part / f"{image}-{copy}.jpg")
        self.settings |= {
            "metrics": self.program,
            "channels": {"train": "s3://bucket/train/", "val": "s3://bucket/val/"},
        }
        self.hyperparameters = {
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
        }

    def make_tar(self, key, folders):
        """Makes a tar in the bucket from class folders of the bucket."""
        with tarfile.open(self.bucket / key, "w") as tar:
            for folder in folders:
                for path in sorted((self.bucket / folder).iterdir()):
                    tar.add(path, f"{path.parent.name}/{path.name}")

    def train(self, job, *words, hyperparameters={}, **settings):
        """Trains in the job `job`. Returns (stdout, stderr, bytes of the trained weights)."""
        found = self.settings | {"hyperparameters": self.hyperparameters | hyperparameters}
        found |= settings
        code, out, err = self.submit(self.program, found, "--job-name", job, *words)
        self.assertEqual(code, 0, out + err)
        self.assertIn(f"{job}: Completed", out)
        model = self.bucket / f"jobs/{job}/output/model/model.safetensors"
        return out, err, model.read_bytes()

    def check_two_hosts(self, first, *words):
        """Trains on two hosts, one process each, and compares with two processes on one host.

        The name of the first host is `first`. Returns stderr.
        """
        once = {"epochs": 1}
        _, _, expected = self.train("one", hyperparameters=once | {"nproc": 2})
        out, err, found = self.train(
            "two", *words, hyperparameters=once, instances="2 x ml.c5.xlarge"
        )
        self.assertRegex(out, rf"(?m)^{first} \| .* 2 processes")
        self.assertRegex(out, rf"(?m)^{first} \| .*Acc@1 \d")
        self.assertTrue(found == expected, "the weights differ")
        return err
