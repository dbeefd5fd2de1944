import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import SCRIPTS

REGISTRY = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"


def commit():
    words = ["git", "-C", SCRIPTS.parents[1], "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.check_output([*words, "--exclude", "*"], text=True).strip()


class BuildAndPush(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def tool(self, name, text):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def run_script(self, *arguments, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        path = f"{self.folder}:{os.environ['PATH']}"
        return subprocess.run(
            [SCRIPTS / "build_and_push.sh", *arguments],
            capture_output=True,
            text=True,
            env=clean | {"PATH": path} | environment,
        )

    def test_a_dry_run_only_prints_the_commands(self):
        for name in ("docker", "aws"):
            self.tool(name, f"touch {self.folder}/called; exit 1")
        done = self.run_script(
            "--dry-run",
            "--account",
            "123456789012",
            "--region",
            "eu-west-1",
            "--repository",
            "r",
            "--tag",
            "t",
            "--",
            "--build-arg",
            "SETUP=--cuda",
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.strip() for line in done.stdout.splitlines()]
        self.assertEqual(
            lines,
            [
                f"docker build -t {REGISTRY}/r:t --build-arg COMMIT={commit()} "
                f"--build-arg SETUP=--cuda {SCRIPTS.parents[1]}",
                "aws ecr create-repository --region eu-west-1 --repository-name r",
                "aws ecr get-login-password --region eu-west-1 "
                f"| docker login --username AWS --password-stdin {REGISTRY}",
                f"docker push {REGISTRY}/r:t",
                f"{REGISTRY}/r:t",
            ],
        )
        self.assertFalse((self.folder / "called").exists())

    def test_the_script_builds_creates_the_repository_logs_in_and_pushes(self):
        log = self.folder / "log"
        self.tool("docker", f'echo "docker $*" >>{log}; case $1 in login) cat >>{log} ;; esac')
        self.tool(
            "aws",
            f'echo "aws $*" >>{log}\ncase $* in *describe-repo*) exit 254 ;; '
            "*get-caller*) echo 123456789012 ;; *login-pass*) echo secret ;; esac",
        )
        done = self.run_script("--tag", "t", AWS_REGION="eu-west-1")
        self.assertEqual((done.returncode, done.stdout), (0, f"{REGISTRY}/shoal:t\n"), done.stderr)
        found = sorted(line.split(" --")[0] for line in log.read_text().splitlines())
        self.assertEqual(
            found,
            sorted(
                [
                    "aws sts get-caller-identity",
                    f"docker build -t {REGISTRY}/shoal:t",
                    "aws ecr describe-repositories",
                    "aws ecr create-repository",
                    "aws ecr get-login-password",
                    "docker login",
                    "secret",
                    f"docker push {REGISTRY}/shoal:t",
                ]
            ),
        )

    def test_errors_are_one_line(self):
        self.tool("aws", "exit 1")
        self.tool("docker", "exit 1")
        for arguments, code, expected in (
            (["--account", "12", "--region", "x"], 2, "--account is '12'"),
            (["--account", "123456789012"], 2, "the region is unknown"),
            (["--region", "x"], 1, "the account is unknown"),
            (["--tag"], 2, "--tag needs a value"),
            (["--account", "123456789012", "--region", "x"], 1, "building"),
        ):
            with self.subTest(arguments):
                done = self.run_script(*arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                *others, last = done.stderr.splitlines()
                self.assertIn(expected, last)
                self.assertEqual([line for line in others if "error" in line], [])


if __name__ == "__main__":
    unittest.main()
