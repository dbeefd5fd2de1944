"""Runs shoal's own programs.

    native.py PART PROGRAM [--json FILE] [--only REGEX] [--deadline SECONDS] [--device cpu] [--dry]

  checks    those of gpu_first_light (bench/gpu_first_light.cpp); status 1 when one failed
  step      its training step, on the shapes that rivals.py measures
  loader    loader_bench over --pictures DIR, on 1 to 16 threads
"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

import common

CHECKS = ["plugin", "operations", "step resnet18", "step efficientnet_b0", "nccl", "graph resnet18 f32",
          "graph resnet18 bf16", "graph efficientnet_b0 f32", "graph efficientnet_b0 bf16",
          "trace TRACE", "shared"]
ON_CPU = re.compile("operations|step|shared|time")
MODELS = [("efficientnet_b0", 224), ("resnet50", 224), ("efficientnet_b4", 380), ("efficientnet_v2_s", 300)]
THREADS = (16, 8, 4, 2, 1)
LIKELY_SECONDS = 15


def steps(dry):
    models, batches = ([("resnet18", 32)], (4,)) if dry else (MODELS, (256, 128, 32))
    for dtype in ("bf16", "f16"):
        for model, size in models:
            for batch in batches:
                yield from (f"time {model} {size} {batch} {dtype} {way}" for way in ("eager", "graph"))


def loader_rates(program, name, options):
    """Of five runs; the first makes the seek indexes."""
    with tempfile.TemporaryDirectory() as indexes:
        command = [program, "loader", options.pictures, "2" if options.dry else "25", name.split()[1], indexes]
        done = [json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True,
                                          timeout=options.timeout).stdout) for _ in range(6)][1:]
    return {"ok": True} | common.spread("images_per_second", [each["images_per_second"] for each in done]) | (
        common.spread("processor_us", [each["processor_us"] for each in done]))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environments(name):
    """Of the processes that this takes."""
    if name != "shared":
        return [{}]
    meeting = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
               "MASTER_PORT": str(free_port())}
    return [{**meeting, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(2)]


def answer(program, name, options):
    words = [str(options.json) + ".trace.json" if word == "TRACE" else word for word in name.split()]
    words += ["cpu"] * (options.device == "cpu")
    running = [subprocess.Popen([program, *words], env={**os.environ, **added}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for added in environments(name)]
    rows = []
    for process in running:
        try:
            out, err = process.communicate(timeout=options.timeout)
        except subprocess.TimeoutExpired:
            for other in running:
                other.kill()
            return {"error": f"not ended after {options.timeout:g} s"}
        if not out.startswith("{"):
            for other in running:
                other.kill()
            return {"error": f"status {process.returncode}: " + " / ".join(err.splitlines()[-3:])[-400:]}
        rows.append(json.loads(out))
    row = {key: value for key, value in rows[0].items() if key != "check"}
    row["ok"] = all(other["ok"] for other in rows)
    if "least" in row:
        row["images_per_second_least"], row["images_per_second_most"] = row.pop("least"), row.pop("most")
    return row


def main():
    parser = common.child_parser(__doc__, timeout=120)
    parser.add_argument("part", choices=("checks", "step", "loader"))
    parser.add_argument("program")
    parser.add_argument("--pictures", metavar="DIR")
    options = parser.parse_args()
    measure = answer
    if options.part == "checks":
        title, names = "Checks of LibTorch and of our operations", CHECKS
        if options.device == "cpu":
            names = [name for name in names if ON_CPU.match(name)]
    elif options.part == "loader":
        title, names = "shoal's loader: batches of 128 crops of 224 pixels", [f"loader {n}" for n in THREADS]
        measure = loader_rates
    else:
        title, names = "shoal's own step, without dropout and stochastic depth", steps(options.dry)
    results = common.Results(title, options, ("ok", "images_per_second", "peak_allocated_mib"))
    for name in filter(results.wanted, names):
        if results.seconds_left() < LIKELY_SECONDS:
            results.leave_out()
            continue
        begin = time.perf_counter()
        row = measure(options.program, name, options)
        results.add({"name": name, **row, "seconds": round(time.perf_counter() - begin, 1)})
    results.end()
    sys.exit(not all(row.get("ok") for row in results.rows))


main()
