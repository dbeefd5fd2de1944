"""Shared by the programs in this folder: options, timing, the results file, child processes.

A results file is {"title": ..., "machine": {...}, "results": [...]}. Each result is a flat object
with a "name". If a value was measured several times, KEY is the median and KEY_least and KEY_most
are the minimum and maximum. A failed measurement has "error" instead of values.
"""

import argparse
import contextlib
import datetime
import json
import math
import os
import pathlib
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from importlib import metadata

GROUPS = 5
STARTED = time.perf_counter()
# Ends like Ctrl-C, so that kill_group() ends the programs that are being measured.
signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def parser(description):
    made = argparse.ArgumentParser(description=description,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--json", type=pathlib.Path, metavar="FILE",
                      help="results file, rewritten after every measurement; measurements that it "
                      "contains are skipped")
    made.add_argument("--retry", action="store_true", help="repeat failed measurements")
    made.add_argument("--only", default="", metavar="REGEX", help="measure only matching names")
    made.add_argument("--deadline", type=float, default=math.inf, metavar="SECONDS",
                      help="start no measurement that would probably end later than this")
    made.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    made.add_argument("--dry", action="store_true", help="use tiny shapes and few repetitions")
    return made


def child_parser(description, timeout):
    made = parser(description)
    made.add_argument("--timeout", type=float, default=timeout, metavar="SECONDS",
                      help="limit for one measurement")
    made.add_argument("--child", help=argparse.SUPPRESS)
    return made


def machine(device):
    def version(package):
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return None

    facts = {"card": "none (CPU)"}
    if device == "cuda":
        try:
            fields = subprocess.run(
                ["nvidia-smi", "--query-gpu=name,driver_version,memory.total",
                 "--format=csv,noheader", "--id=0"],
                capture_output=True, text=True, check=True).stdout.strip().split(", ")
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"no usable GPU: nvidia-smi: {error}; to try the programs, use "
                     "--device cpu --dry")
        facts = dict(zip(("card", "driver", "card_memory"), fields))
        with contextlib.suppress(ImportError):  # native.py and training.py do not need torch
            import torch
            facts |= {"cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
    models = re.findall(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    packages = ("torch", "torchvision", "timm", "triton", "pillow")
    return facts | {package: version(package) for package in packages} | {
        "python": platform.python_version(),
        "processor": models[0] if models else platform.machine(),
        "cores": len(os.sched_getaffinity(0)), "date": datetime.date.today().isoformat()}


def spread(key, values):
    return {key: statistics.median(values), f"{key}_least": min(values), f"{key}_most": max(values)}


def finish(device):
    if device == "cuda":
        import torch
        torch.cuda.synchronize()


def seconds_of(work, device):
    """Returns the seconds of one call of work(): GPU time on a GPU, else wall-clock time."""
    if device == "cpu":
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin
    import torch
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3


def described(error):
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{pathlib.Path(where.filename).name}:{where.lineno}"
    return f"{type(error).__name__}: {error}"[:400] + f" ({place})"


def digits(value):
    if not isinstance(value, float) or not math.isfinite(value):
        return "" if value is None else str(value)
    return f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}" if value else "0"


def cells(row):
    """Returns the row's values as text. Median, minimum and maximum become one cell."""
    return {key: f"{digits(value)} ({digits(row[key + '_least'])}–{digits(row[key + '_most'])})"
            if key + "_least" in row else digits(value)
            for key, value in row.items() if not re.search("_(least|most)$", key)}


def failed(row):
    return "error" in row or row.get("ok") is False


class Results:
    """The results of one program. `shown`: the keys to print on the terminal."""

    def __init__(self, title, options, shown):
        self.options, self.shown = options, shown
        self.head = {"title": title, "machine": machine(options.device)}
        self.rows, self.left_out = [], 0
        if options.json and options.json.exists():
            before = json.loads(options.json.read_text())
            if before["machine"]["card"] != self.head["machine"]["card"]:
                sys.exit(f"{options.json} was measured on another GPU: {before['machine']['card']}")
            self.rows = before["results"]

    def wanted(self, name):
        return re.search(self.options.only, name) and not any(
            row["name"] == name and
            not (self.options.retry and failed(row))
            for row in self.rows)

    def seconds_left(self):
        return self.options.deadline - (time.perf_counter() - STARTED)

    def leave_out(self, name, needed):
        """Reports that `name` is skipped, because it needs more seconds than are left."""
        print(f"{name}  skipped: {max(0, self.seconds_left()):.0f} s left, needs {needed:.0f} s",
              flush=True)
        self.left_out += 1

    def get(self, name, key):
        return next((row.get(key) for row in self.rows if row["name"] == name), None)

    def add(self, row):
        self.rows = [other for other in self.rows if other["name"] != row["name"]] + [row]
        if self.options.json:
            part = self.options.json.with_name(self.options.json.name + ".part")
            part.write_text(json.dumps(self.head | {"results": self.rows}, indent=1) + "\n")
            os.replace(part, self.options.json)
        texts = cells(row)
        print(row["name"], *(f"{key} {texts[key]}" for key in self.shown if key in texts),
              *([row["error"].splitlines()[0]] if "error" in row else []), sep="  ", flush=True)

    def end(self):
        """Prints how many measurements were skipped. Returns whether a measurement failed."""
        if self.left_out:
            print(f"{self.left_out} skipped because of --deadline")
        return any(map(failed, self.rows))


def kill_group(child):
    """Kills a process and all processes that it started. Its group must be its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def run_child(name, seconds):
    """Runs this program with --child NAME. Returns the row that it prints, a row with "error" if it
    fails, or None if it is killed after `seconds`."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen([sys.executable, *sys.argv, "--child", name], stdout=out,
                                 stderr=err, process_group=0)
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            kill_group(child)
        out.seek(0)
        err.seek(0)
        lines = out.read().splitlines()
        if status is None:
            return None
        if status == 0 and lines:
            return json.loads(lines[-1])
        return {"error": f"status {status}: " + " / ".join(err.read().splitlines()[-3:])[-400:]}


def each_in_a_child(title, names, measure, expected, options, shown):
    """Runs measure(name) for each name in a fresh process, until the deadline. Returns whether one
    failed.

    expected(name, rows) estimates the seconds for this name from the rows so far.
    """
    if options.child:
        try:
            row = measure(options.child)
        except Exception as error:
            row = {"error": described(error)}
        print(json.dumps(row))
        return False
    results = Results(title, options, shown)
    for name in filter(results.wanted, names):
        left = results.seconds_left()
        needed = expected(name, results.rows)
        if needed > left:
            results.leave_out(name, needed)
            continue
        begin = time.perf_counter()
        row = run_child(name, min(options.timeout, left))
        if row is None and left < options.timeout:
            print(f"{name}  not finished by the deadline", flush=True)
            continue
        row = row or {"error": f"not finished after {options.timeout:g} s"}
        results.add({"name": name, **row, "seconds": round(time.perf_counter() - begin, 1)})
    return results.end()
