"""Runs the checks and measurements of shoal's own programs.

    native.py PART PROGRAM [--json FILE] [--only REGEX] [--deadline SECONDS] [--device cpu] [--dry]

  checks    all checks of gpu_first_light (bench/gpu/first_light.cpp)
  step      `shoal bench step`, with the shapes that rivals.py measures; PROGRAM is shoal
  speed     `shoal train` on synthetic images, with data loading; PROGRAM is shoal
  loader    loader_bench over --images DIR, with each number of threads in --workers 16,8,4,2,1

Exit status 1 if a check or a measurement failed, or a check was skipped.
"""

import datetime
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import common
import configurations

CHECKS = ["plugin", "operations", "step resnet18", "step efficientnet_b0", "nccl",
          "graph resnet18 f32", "graph resnet18 bf16", "graph efficientnet_b0 f32",
          "graph efficientnet_b0 bf16", "trace TRACE", "shared"]
ON_CPU = re.compile("operations|step|shared")
LIKELY_SECONDS = 15
SPEED_WARMUP = 30  # steps


def checks(on_cpu):
    return [name for name in CHECKS if not on_cpu or ON_CPU.match(name)]


def output_of(command, seconds):
    """Returns what a program prints to stdout. Kills it after `seconds`."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, process_group=0)
    try:
        out, _ = child.communicate(timeout=seconds)
    finally:
        common.kill_group(child)
    if child.returncode != 0:
        raise subprocess.CalledProcessError(child.returncode, command)
    return out


def step_rates(program, name, options):
    """Returns the rates and the memory of `shoal bench step`.

    `name`: "MODEL SIZE BATCH-SIZE AMP", and "deterministic" or nothing.
    """
    model, size, batch, amp, *more = name.split()
    command = [program, "bench", "step", "--json", "--model", model, "--size", size,
               "--batch-size", batch, "--amp", amp, "--device", options.device,
               "--steps", "3" if options.dry else "50", *(f"--{word}" for word in more)]
    done = json.loads(output_of(command, options.timeout))
    row = {"ok": True, "images_per_second": done["images_per_sec"],
           "images_per_second_least": done["images_per_sec_min"],
           "images_per_second_most": done["images_per_sec_max"], "kernels": done["kernels"],
           "gflops": done["operations_per_sec"] / 1e9,
           "machine_gflops": done["machine_operations_per_sec"] / 1e9}
    if "peak_gpu_bytes" in done:
        row["reserved_mib"] = done["peak_gpu_bytes"] / 2**20
    return row


def speed_rates(program, name, options):
    """Returns the rate of `shoal train` after the first steps, from the times in its history."""
    model, size, batch, amp = name.split()
    warmup, steps = (1, 4) if options.dry else (SPEED_WARMUP, 200)
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--train", f"synthetic:{steps * int(batch)}:1000:256x256",
                   "--val", "synthetic:32:1000:256x256", "--model", model, "--size", size,
                   "--global-batch-size", batch, "--amp", amp, "--device", options.device,
                   "--epochs", "1", "--output", folder]
        output_of(command, options.timeout)
        rows = [json.loads(line)
                for line in pathlib.Path(folder, "history.jsonl").read_text().splitlines()]
        summary = json.loads(pathlib.Path(folder, "summary.json").read_text())
    rows = [row for row in rows if row["event"] == "train" and row["step"] >= warmup]
    begin, end = (datetime.datetime.fromisoformat(row["time"].replace("Z", "+00:00"))
                  for row in (rows[0], rows[-1]))
    images = int(batch) * (rows[-1]["step"] - rows[0]["step"])
    return {"ok": True, "images_per_second": images / (end - begin).total_seconds(),
            "wait_share": summary["loader"]["wait_share"]}


def loader_rates(program, name, options):
    """Returns the median, minimum and maximum of five runs. One more run, before them, writes the
    seek indexes and is not counted."""
    until = time.monotonic() + options.timeout
    with tempfile.TemporaryDirectory() as indexes:
        command = [program, "loader", options.images, "2" if options.dry else "10",
                   name.split()[1], indexes]
        done = [json.loads(output_of(command, until - time.monotonic())) for _ in range(6)][1:]
    return {"ok": True} | (
        common.spread("images_per_second", [each["images_per_second"] for each in done])) | (
        common.spread("processor_us", [each["processor_us"] for each in done]))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environments(name):
    """Returns a list with the extra environment variables of each process of the check `name`."""
    if name != "shared":
        return [{}]
    meeting = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
               "MASTER_PORT": str(free_port())}
    return [{**meeting, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(2)]


class Child:
    """A process that writes its output to temporary files."""

    def __init__(self, command, variables):
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, env={**os.environ, **variables}, text=True,
                                        stdout=self.out, stderr=self.err)

    def end(self):
        """Kills the process if it still runs. Returns the JSON object that it printed; adds "error"
        on failure."""
        killed = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        for stream in (self.out, self.err):
            stream.seek(0)
        row = json.loads(([line for line in self.out if line.startswith("{")] or ["{}"])[-1])
        last_lines = " / ".join(self.err.read().splitlines()[-3:])[-400:]
        if killed:
            row |= {"ok": False, "error": "did not finish in time: " + last_lines}
        elif self.process.returncode != 0:
            row |= {"ok": False, "error": f"status {self.process.returncode}: {last_lines}"}
        elif "ok" not in row:
            row |= {"ok": False, "error": "printed no result: " + last_lines}
        return row


def answer(program, name, options):
    """Runs one check or measurement and returns its result."""
    with tempfile.TemporaryDirectory() as folder:  # holds the trace if there is no --json
        trace = f"{options.json or folder + '/checks'}.trace.json"
        words = [trace if word == "TRACE" else word for word in name.split()]
        row = answer_of(program, name, words + ["cpu"] * (options.device == "cpu"), options)
    row.pop("check", None)
    return row


def answer_of(program, name, words, options):
    """Returns the JSON object that the program printed.

    With several processes, returns the object of a failed one, if any failed.
    """
    children = [Child([program, *words], variables) for variables in environments(name)]
    until = time.monotonic() + options.timeout
    while time.monotonic() < until:
        states = [child.process.poll() for child in children]
        if any(states) or None not in states:
            break
        time.sleep(0.02)
    # Ends the processes that have already failed first. The others may only be waiting for them.
    children.sort(key=lambda child: not child.process.poll())
    rows = [child.end() for child in children]
    return next((row for row in rows if not row.get("ok")), rows[0])


def main():
    parser = common.child_parser(__doc__, timeout=120)
    parser.add_argument("part", choices=("checks", "step", "speed", "loader"))
    parser.add_argument("program")
    parser.add_argument("--images", metavar="DIR")
    parser.add_argument("--workers", default="16,8,4,2,1", help="for loader: numbers of threads")
    options = parser.parse_args()
    if not shutil.which(options.program):
        parser.error(f"{options.program} is not a program")
    if options.part == "loader" and not options.images:
        parser.error("loader needs --images DIR")
    measure = answer
    if options.part == "checks":
        title, names = "Checks of LibTorch and of our operations", checks(options.device == "cpu")
    elif options.part == "loader":
        title = "shoal's loader: batches of 128 crops of 224 pixels"
        names, measure = [f"loader {n}" for n in options.workers.split(",")], loader_rates
    elif options.part == "speed":
        title = "shoal train on synthetic images, with data loading"
        names, measure = configurations.own_names(options.dry)[:1], speed_rates
    else:
        title, measure = "shoal's training step (shoal bench step)", step_rates
        names = configurations.own_names(options.dry)
    results = common.Results(title, options, ("ok", "images_per_second", "reserved_mib"))
    limit = options.timeout
    for name in filter(results.wanted, names):
        left = results.seconds_left()
        if left < LIKELY_SECONDS:
            results.leave_out(name, LIKELY_SECONDS)
            continue
        options.timeout = min(limit, left)
        begin = time.perf_counter()
        try:
            row = measure(options.program, name, options)
        except Exception as error:
            row = {"ok": False, "error": common.described(error)}
        if common.failed(row) and options.part != "checks" and results.seconds_left() < 1:
            print(f"{name}  not finished by the deadline", flush=True)
            continue
        results.add({"name": name, **row, "seconds": round(time.perf_counter() - begin, 1)})
    failed = results.end()
    sys.exit(failed or options.part == "checks" and results.left_out > 0)


if __name__ == "__main__":
    main()
