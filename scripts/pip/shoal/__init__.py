"""The program `shoal` of this package, for the command that pip installs."""

import os
import sys
from pathlib import Path


def main():
    """Replaces this process by the program."""
    os.execv(Path(__file__).parent / "bin" / "shoal", ["shoal", *sys.argv[1:]])
