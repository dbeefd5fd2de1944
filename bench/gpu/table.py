#!/usr/bin/env python3
"""Prints results files as Markdown tables: table.py FILE.json ... [--only REGEX of names]"""

import argparse
import json
import pathlib
import re

import common


def table(rows):
    """Yields the lines of a table. Columns: all keys, in the order of their first use."""
    texts = [common.cells(row) for row in rows]
    columns = list(dict.fromkeys(key for row in texts for key in row))
    numbers = {key for key in columns
               if all(isinstance(row.get(key, 0), (int, float)) for row in rows)}
    yield columns
    yield ["---:" if key in numbers else "---" for key in columns]
    for row in texts:
        yield [row.get(key, "").partition("\n")[0].replace("|", "\\|") for key in columns]


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.json")
parser.add_argument("--only", default="", metavar="REGEX")
options = parser.parse_args()
for file in options.files:
    content = json.loads(file.read_text())
    print(f"## {content['title']}\n")
    print("; ".join(f"{key} {value}" for key, value in content["machine"].items()
                    if value is not None) + "\n")
    rows = [row for row in content["results"] if re.search(options.only, str(row.get("name", "")))]
    for line in table(rows):
        print(f"| {' | '.join(line)} |")
    print()
