#!/usr/bin/env python3
"""Adds up the GPU time of each kernel in a trace of PyTorch's profiler, such as the trace that
`shoal bench step --trace` writes. Copies and fills of GPU memory count as kernels.

Usage: kernels.py TRACE.json [--json FILE] [--text FILE] [--rows 60]

Prints the kernels with the most time, and writes the same text to --text. --json: all kernels with
their full names; us is microseconds, share is the fraction of the time of all kernels.

Exit status 1 if the trace contains no kernels.
"""

import argparse
import json
import pathlib
import re
import sys

CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")
COLUMNS = 90  # of a kernel's name
NOISE = re.compile(r"\d\w*|_.*|Unvhdl.*|void|const|long|int|false|true|lambda|shoal|Shared|Fixed")


def identifiers(name):
    """Yields the identifiers in the template arguments of call_for_index or call_for_block. `name`
    may be mangled."""
    rest = re.split("call_for_(?:index|block)", name, maxsplit=1)[1]
    if rest.startswith("<"):
        yield from re.findall(r"\w+(?!::|\w)", rest)
        return
    rest = re.sub(r"L[ij]\d+E|N?S\w?_", " ", rest)  # numbers and substitutions
    while found := re.search(r"(?<=I)[df](?=[E ])|[1-9]\d*", rest):
        rest = rest[found.end():]
        if found[0].isalpha():
            yield {"d": "double", "f": "float"}[found[0]]
        elif re.match(r"[a-zA-Z]\w", rest):
            word, rest = rest[:int(found[0])], rest[int(found[0]):]
            yield word


def short(name):
    """Returns a readable name.

    All kernels of shoal are instances of call_for_index or call_for_block. What differs are the
    template arguments, which most tools print mangled, because NVIDIA's compiler has its own names
    for lambdas.
    """
    if "call_for_" in name:
        names = [word for word in identifiers(name) if not NOISE.fullmatch(word)]
        return "shoal: " + " ".join(list(dict.fromkeys(names))[:4])
    return re.sub(r"(?:\b\w+::|\(anonymous namespace\)::)+", "", name.removeprefix("void "))


def table(events):
    """Returns the kernels with calls, us and share, the longest first, and the time in us from the
    start of the first kernel to the end of the last."""
    found = [event for event in events
             if event.get("ph") == "X" and event.get("cat") in CATEGORIES]
    rows = {}
    for event in found:
        row = rows.setdefault(event["name"], {"name": event["name"], "calls": 0, "us": 0.0})
        row["calls"] += 1
        row["us"] += event["dur"]
    total = sum(row["us"] for row in rows.values())
    for row in rows.values():
        row["share"] = row["us"] / total if total else 0
    span = max((event["ts"] + event["dur"] for event in found), default=0) - min(
        (event["ts"] for event in found), default=0)
    return sorted(rows.values(), key=lambda row: -row["us"]), span


def lines(rows, span, most):
    total, calls = (sum(row[key] for row in rows) for key in ("us", "calls"))
    yield (f"{total / 1e3:.3f} ms in {calls} calls of {len(rows)} kernels, within "
           f"{span / 1e3:.3f} ms")
    yield f"{'ms':>9}  {'share':>7}  {'calls':>6}  kernel"
    for row in rows[:most]:
        yield (f"{row['us'] / 1e3:9.3f}  {100 * row['share']:5.1f} %  {row['calls']:6}  "
               f"{short(row['name'])[:COLUMNS]}")
    rest = rows[most:]
    if rest:
        us, calls = (sum(row[key] for row in rest) for key in ("us", "calls"))
        yield f"{us / 1e3:9.3f}  {100 * us / total:5.1f} %  {calls:6}  {len(rest)} other kernels"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path, metavar="TRACE.json")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--text", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--rows", type=int, default=60, metavar="N")
    options = parser.parse_args()
    rows, span = table(json.loads(options.trace.read_text(errors="replace"))["traceEvents"])
    if not rows:
        sys.exit(f"{options.trace} contains no kernels")
    text = "\n".join(lines(rows, span, options.rows)) + "\n"
    print(text, end="")
    if options.text:
        options.text.write_text(text)
    if options.json:
        options.json.write_text(json.dumps({"span_us": span, "kernels": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
