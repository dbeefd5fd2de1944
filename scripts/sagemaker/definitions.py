"""Metric definitions, from a saved JSON file or from the program itself."""

import json
import os
import shutil
import subprocess
from pathlib import Path

from errors import UserError

BUILT = Path(__file__).resolve().parents[2] / "build/release/shoal"


def find_program():
    """Returns the path of the program shoal, or None."""
    return str(BUILT) if BUILT.exists() else shutil.which("shoal")


def parse(origin, text):
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UserError(f"metrics: {origin} is not valid JSON: {error}") from None
    if not isinstance(found, list):
        raise UserError(
            f"metrics: {origin} must contain a list of objects with Name and Regex, "
            "as printed by `shoal metrics`"
        )
    return found


def from_program(program):
    try:
        done = subprocess.run([program, "metrics"], capture_output=True, text=True)
    except OSError as error:
        raise UserError(f"metrics: cannot run {program}: {error.strerror}") from None
    if done.returncode != 0:
        raise UserError(f"metrics: {program} metrics failed: {done.stderr.strip()}")
    return parse(program, done.stdout)


def metric_definitions(source):
    """Returns the definitions as [{"Name": ..., "Regex": ...}].

    `source`: path of a JSON file or of the program shoal, "none" for an empty list, or None to look
    for shoal in build/release and on PATH. In that case, the list is empty if there is none.
    """
    if source == "none":
        return []
    if source is None:
        program = find_program()
        return from_program(program) if program else []
    if os.access(source, os.X_OK) and Path(source).is_file():
        return from_program(str(Path(source).resolve()))
    try:
        return parse(source, Path(source).read_text())
    except OSError as error:
        raise UserError(f"metrics: cannot read {source}: {error.strerror}") from None
