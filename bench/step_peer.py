#!/usr/bin/env python3
"""Times PyTorch's training step or its evaluation of a batch, for bench/step.

Uses torchvision's models in channels-last layout. Takes the options and prints the values of
`shoal bench step --json` that bench/step uses. --compile compiles the model with torch.compile.
"""

import argparse
import json
import resource
import time

import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="efficientnet_b0")
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--size", type=int, default=224)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--warmup", type=int, default=3)
parser.add_argument("--steps", type=int, default=8)
parser.add_argument("--amp", choices=("off", "bf16"), default="off")
parser.add_argument("--eval", action="store_true")
parser.add_argument("--compile", action="store_true")
options = parser.parse_args()

torch.set_num_threads(options.threads)
torch.manual_seed(0)
model = getattr(torchvision.models, options.model)().to(memory_format=torch.channels_last).train()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
criterion = torch.nn.CrossEntropyLoss()
images = torch.randn(options.batch_size, 3, options.size, options.size)
images = images.contiguous(memory_format=torch.channels_last)
labels = (torch.arange(options.batch_size) * 31) % 1000
if options.eval:
    model.eval()
network = torch.compile(model) if options.compile else model


def evaluate():
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16,
                                                enabled=options.amp == "bf16"):
        return network(images).float().sum().item()


def train():
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.amp == "bf16"):
        loss = criterion(network(images), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


step = evaluate if options.eval else train
seconds = []
for i in range(options.warmup + options.steps):
    if i == options.warmup:
        before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    last = step()
    if i >= options.warmup:
        seconds.append(time.perf_counter() - start)

after = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "loss": last, "peak_bytes": after.ru_maxrss * 1024,
    "page_faults_per_step": (after.ru_minflt - before.ru_minflt) / options.steps,
    "torch": torch.__version__, "step_seconds": seconds}))
