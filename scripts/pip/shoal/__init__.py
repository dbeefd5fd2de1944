"""Entry point of the command `shoal` that pip installs."""

import os
import sys
from pathlib import Path


def main():
    """Replaces this process with this package's program bin/shoal."""
    os.execv(Path(__file__).parent / "bin" / "shoal", ["shoal", *sys.argv[1:]])
