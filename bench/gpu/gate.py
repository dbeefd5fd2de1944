#!/usr/bin/env python3
"""Checks that all checks passed: gate.py FOLDER with the results of `checks`.

Exit status 1 if not; one sentence says why.
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
