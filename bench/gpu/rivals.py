#!/usr/bin/env python3
"""Times training steps of timm's models, computed as in timm's train.py, on random images in GPU
memory.

Usage: rivals.py [--json FILE] [--only REGEX] [--deadline SECONDS] [--dry --device cpu]

Channels-last, autocast, label smoothing 0.1, SGD with momentum. Each configuration runs in its own
process and is named MODEL/PIXELS/BATCH/bf16/WAY, where WAY is eager or a mode of torch.compile.
configurations.py lists them.

  first_step_seconds  the first step, with compilation and cuDNN's choice of algorithms
  steady_seconds      warm-up after the first step, until three consecutive steps take about the
                      same time
  images_per_second   median, minimum and maximum of five groups of steps, in GPU time
  allocated_mb        peak memory of the timed steps; reserved_mb: peak of the whole process
  graph_skips         number of parts that mode reduce-overhead could not record as CUDA graphs

Exit status 1 if a measurement failed.
"""

import math
import os
import sys
import tempfile
import time

import torch

import common
import configurations

TITLE = ("Training steps of timm's models (torch.optim.SGD with foreach, the default of PyTorch "
         "and timm; TF32 allowed, cudnn.benchmark)")
DROPS = {"efficientnet_b0": (0.2, 0.2), "efficientnet_b4": (0.4, 0.2),
         "efficientnetv2_s": (0.2, 0.2)}
EXPECTED = {"eager": 20, "compile": 90, "reduce-overhead": 90}


def expected(name, rows):
    """Estimates how many seconds a measurement will take.

    Returns the longest time so far for this model and way, else for this way, else a guess.
    """
    model, *_, way = name.split("/")
    done = [row for row in rows if "error" not in row and row["name"].endswith("/" + way)]
    done = [row for row in done if row["name"].startswith(model + "/")] or done
    return max((row["seconds"] for row in done), default=EXPECTED[way])


def steady(seconds, dry):
    if dry:
        return len(seconds) == 2
    last = seconds[-3:]
    return len(seconds) >= 5 and sum(seconds[1:]) > 1 and (
        max(last) < 1.1 * min(last) or len(seconds) >= 100)


def measure(name, options):
    import timm
    model, size, batch, _, way = name.split("/")
    size, batch, device = int(size), int(batch), options.device
    if device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
    torch.manual_seed(0)
    drop, drop_path = DROPS.get(model, (0, 0))
    model = timm.create_model(model, drop_rate=drop, drop_path_rate=drop_path)
    model = model.to(device, memory_format=torch.channels_last).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-5)
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    images = torch.randn(batch, 3, size, size, device=device).contiguous(
        memory_format=torch.channels_last)
    labels = torch.randint(1000, (batch,), device=device)
    forward = model
    if way != "eager":
        forward = torch.compile(model, mode="default" if way == "compile" else way)

    def step():
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            loss = criterion(forward(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    def steps(count):
        for _ in range(count):
            loss = step()
        return loss

    seconds = []
    while not steady(seconds, options.dry):
        begin = time.perf_counter()
        step()
        common.finish(device)
        seconds.append(time.perf_counter() - begin)
    count = 2 if options.dry else max(4, math.ceil(0.5 / seconds[-1]))
    if device == "cuda":
        reserved = torch.cuda.max_memory_reserved()
        torch.cuda.reset_peak_memory_stats()
    groups = [common.seconds_of(lambda: steps(count), device) for _ in range(common.GROUPS)]
    row = common.spread("images_per_second", [batch * count / group for group in groups])
    row |= {"first_step_seconds": seconds[0], "steady_seconds": sum(seconds[1:]),
            "steps_timed": 5 * count}
    if device == "cuda":
        row |= {"allocated_mb": torch.cuda.max_memory_allocated() >> 20,
                "reserved_mb": max(reserved, torch.cuda.max_memory_reserved()) >> 20}
    if way != "eager":
        row |= {"graph_skips": torch._dynamo.utils.counters["inductor"]["cudagraph_skips"],
                "cache": "kept" if options.cache else "fresh"}
    return row | {"loss": steps(1).item()}


parser = common.child_parser(__doc__, timeout=400)
parser.add_argument("--cache", metavar="DIR", help="cache of compiled code; without it each "
                    "configuration compiles everything, so first_step_seconds is that of a first "
                    "run")
options = parser.parse_args()
with tempfile.TemporaryDirectory() as fresh:
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = options.cache or fresh
    failed = common.each_in_a_child(
        TITLE, configurations.rival_names(options.dry), lambda name: measure(name, options),
        expected, options, ("images_per_second", "first_step_seconds", "reserved_mb", "seconds"))
sys.exit(failed)
