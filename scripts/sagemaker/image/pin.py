#!/usr/bin/env python3
"""Writes toolkit-VERSION.txt: sagemaker-training and its dependencies, pinned by SHA-256.

  scripts/sagemaker/image/pin.py VERSION

The Dockerfile installs exactly these files (build argument TOOLKIT). Needs pip and the image's
Python, 3.11 on x86-64, because the files differ between versions of Python.
"""

import json
import subprocess
import sys
from pathlib import Path

# Builds the packages that have no wheel. Installed before the others.
BUILD_TOOLS = "setuptools"


def resolve(requirement):
    """Returns sorted lines NAME==VERSION --hash=sha256:HEX for all packages pip would install."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--report", "-"]
    command += ["--ignore-installed", "--disable-pip-version-check", requirement]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return sorted(
        f"{entry['metadata']['name']}=={entry['metadata']['version']} "
        f"--hash=sha256:{entry['download_info']['archive_info']['hashes']['sha256']}"
        for entry in report["install"]
    )


def main(version):
    if sys.version_info[:2] != (3, 11):
        sys.exit("pin: error: run this with Python 3.11, the image's version")
    for name, requirement in (
        ("build-tools.txt", BUILD_TOOLS),
        (f"toolkit-{version}.txt", f"sagemaker-training=={version}"),
    ):
        head = "# Made by scripts/sagemaker/image/pin.py for Python 3.11 on x86-64."
        text = "\n".join([head, *resolve(requirement), ""])
        (Path(__file__).resolve().parent / name).write_text(text)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    main(sys.argv[1])
