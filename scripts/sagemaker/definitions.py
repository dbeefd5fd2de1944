"""Metric definitions, from a saved JSON file or from the program itself."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from errors import UserError

BUILT = Path(__file__).resolve().parents[2] / "build/release/shoal"


def parse(origin, text):
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UserError(f"metrics: {origin} is no JSON: {error}") from None
    if not isinstance(found, list):
        raise UserError(
            f"metrics: {origin} must hold a list of Name and Regex, "
            "as `shoal metrics --definitions` prints it"
        )
    return found


def of_program(program):
    try:
        done = subprocess.run([program, "metrics", "--definitions"], capture_output=True, text=True)
    except OSError as error:
        raise UserError(f"metrics: {program} cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        raise UserError(f"metrics: {program} metrics --definitions failed: {done.stderr.strip()}")
    return parse(program, done.stdout)


def metric_definitions(asked):
    """[{"Name", "Regex"}]; `asked`: a file, a program, "none", or None: the program if found."""
    if asked == "none":
        return []
    if asked is None:
        program = str(BUILT) if BUILT.exists() else shutil.which("shoal")
        return of_program(program) if program else []
    if os.access(asked, os.X_OK) and Path(asked).is_file():
        return of_program(str(Path(asked).resolve()))
    try:
        return parse(asked, Path(asked).read_text())
    except OSError as error:
        raise UserError(f"metrics: {asked} cannot be read: {error.strerror}") from None
