#!/usr/bin/env python3
"""Prints results files as Markdown tables: table.py FILE.json ... [--only REGEX of names]

If there are a step.json and a rivals.json, the first table compares each step of timm with shoal's.
"""

import argparse
import json
import pathlib
import re

import common
import configurations


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


def comparison(own, rivals):
    """Returns a row for each measurement of timm. A ratio is shoal / timm; it is None if one of
    them was not measured."""
    own = {row["name"]: row for row in own}
    rows = []
    for rival in rivals:
        name = configurations.own_name_of(rival["name"])
        mine = own.get(name, {})

        def ratio(key, rival_key, rival=rival, mine=mine):
            if mine.get(key) and rival.get(rival_key):
                return mine[key] / rival[rival_key]
            return None

        rows.append({"name": rival["name"], "shoal": name,
                     "shoal_images_per_second": mine.get("images_per_second"),
                     "timm_images_per_second": rival.get("images_per_second"),
                     "speed": ratio("images_per_second", "images_per_second"),
                     "reserved_memory": ratio("reserved_mib", "reserved_mb")})
    return rows


parser = argparse.ArgumentParser(description=__doc__,
                                 formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.json")
parser.add_argument("--only", default="", metavar="REGEX")
options = parser.parse_args()
contents = {file.stem: json.loads(file.read_text()) for file in options.files}
if "step" in contents and "rivals" in contents:
    compared = comparison(contents["step"]["results"], contents["rivals"]["results"])
    contents = {"comparison": {"title": "shoal's training step compared with timm's",
                               "machine": contents["step"]["machine"],
                               "results": compared}} | contents
for content in contents.values():
    print(f"## {content['title']}\n")
    print("; ".join(f"{key} {value}" for key, value in content["machine"].items()
                    if value is not None) + "\n")
    rows = [row for row in content["results"] if re.search(options.only, str(row.get("name", "")))]
    for line in table(rows):
        print(f"| {' | '.join(line)} |")
    print()
