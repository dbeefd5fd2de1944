#!/usr/bin/env python3
"""Tells whether the part `checks` passed, from its results: gate.py FOLDER

If not, prints the reason in one sentence. Exit status: 0 passed; 1 not.
"""

import json
import pathlib
import sys

import native


def reason(folder):
    """Returns why the checks did not pass, or None if all passed."""
    def content(name):
        try:
            return json.loads((folder / name).read_text())
        except (OSError, ValueError):
            return {}

    checks = content("checks.json")
    if not checks:
        return "checks has not run"
    on_cpu = checks["machine"]["card"] == "none (CPU)"
    passed = {row["name"] for row in checks["results"] if row.get("ok")}
    missing = [name for name in native.checks(on_cpu) if name not in passed]
    if not content("installed.json").get("images_per_sec"):
        missing.append("installed")
    return f"these checks did not pass: {', '.join(missing)}" if missing else None


if __name__ == "__main__":
    sys.exit(reason(pathlib.Path(sys.argv[1])))
