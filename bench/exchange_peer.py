#!/usr/bin/env python3
"""Times training steps of PyTorch with DistributedDataParallel over Gloo, for bench/exchange.

Prints a line of JSON with the seconds of each step. Without --rank, trains in one process. Uses
torchvision's models in channels-last layout, SGD with momentum and synthetic images.
"""

import argparse
import json
import time

import torch
import torchvision

parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--batch-size", type=int, required=True)
parser.add_argument("--size", type=int, required=True)
parser.add_argument("--steps", type=int, required=True)
parser.add_argument("--rank", type=int)
parser.add_argument("--master")
parser.add_argument("--compression", action="store_true")
options = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(0)
model = getattr(torchvision.models, options.model)().to(memory_format=torch.channels_last).train()
network = model
if options.rank is not None:
    torch.distributed.init_process_group("gloo", init_method=options.master, rank=options.rank,
                                         world_size=2)
    network = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    if options.compression:
        from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook

        network.register_comm_hook(None, bf16_compress_hook)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
criterion = torch.nn.CrossEntropyLoss()
images = torch.randn(options.batch_size, 3, options.size, options.size)
images = images.contiguous(memory_format=torch.channels_last)
labels = torch.arange(options.batch_size) % 1000
seconds = []
for _ in range(options.steps + 3):
    start = time.perf_counter()
    optimizer.zero_grad(set_to_none=False)
    loss = criterion(network(images), labels)
    loss.backward()
    optimizer.step()
    loss.item()
    seconds.append(time.perf_counter() - start)
print(json.dumps({"step_seconds": seconds[3:]}))
