#!/usr/bin/env python3
"""Trains one network with PyTorch, for bench/accuracy.

Prints a line of JSON: the top-1 accuracy after each epoch, the training time in seconds, and the
versions of torchvision and torch. Uses the recipe that bench/accuracy sets for `shoal train`: crops
of random area and aspect ratio (bicubic), horizontal flips, a cosine schedule updated every step,
label smoothing, and no weight decay on biases and batch norm. Images are decoded once and kept in
memory.
"""

import argparse
import json
import math
import pathlib
import sys
import time

import environment
import torch
import torchvision
import torchvision.transforms as transforms
from PIL import Image

parser = argparse.ArgumentParser()
parser.add_argument("--data", required=True)
parser.add_argument("--model", required=True)
parser.add_argument("--weights")
parser.add_argument("--size", type=int, required=True)
parser.add_argument("--epochs", type=int, required=True)
parser.add_argument("--batch", type=int, required=True)
parser.add_argument("--optimizer", choices=("sgd", "adamw"), required=True)
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--weight-decay", type=float, required=True)
parser.add_argument("--warmup-epochs", type=float, required=True)
parser.add_argument("--crop-scale-min", type=float, required=True)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--threads", type=int, required=True)
options = parser.parse_args()
torch.set_num_threads(options.threads)
torch.manual_seed(options.seed)


def load(split):
    folders = sorted(folder for folder in (pathlib.Path(options.data) / split).iterdir()
                     if folder.is_dir())
    return [(Image.open(file).convert("RGB").copy(), label)
            for label, folder in enumerate(folders) for file in sorted(folder.iterdir())]


def make_network(classes):
    if not options.weights:
        return getattr(torchvision.models, options.model)(num_classes=classes)
    sys.path.insert(0, str(environment.lite_packages()))
    import efficientnet_lite_pytorch

    # The package computes the padding for a fixed image size.
    network = efficientnet_lite_pytorch.EfficientNet.from_name(
        options.model.replace("_", "-"), image_size=options.size)
    network.load_state_dict(torch.load(options.weights, weights_only=True))
    network._fc = torch.nn.Linear(network._fc.in_features, classes)
    torch.nn.init.zeros_(network._fc.weight)  # as shoal initializes a new classifier
    torch.nn.init.zeros_(network._fc.bias)
    return network


lite = options.weights is not None
mean, std = (([127 / 255] * 3, [128 / 255] * 3) if lite
             else ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
bicubic = transforms.InterpolationMode.BICUBIC
to_tensor = [transforms.ToTensor(), transforms.Normalize(mean, std)]
augment = transforms.Compose([
    transforms.RandomResizedCrop(options.size, (options.crop_scale_min, 1), interpolation=bicubic),
    transforms.RandomHorizontalFlip(), *to_tensor])
prepare = transforms.Compose([transforms.Resize(options.size, bicubic),
                              transforms.CenterCrop(options.size), *to_tensor])
train, val = load("train"), load("val")
network = make_network(1 + max(label for _, label in train)).to(memory_format=torch.channels_last)
norms = [p for name, p in network.named_parameters() if p.ndim == 1]
others = [p for name, p in network.named_parameters() if p.ndim > 1]
groups = [{"params": norms, "weight_decay": 0.0},
          {"params": others, "weight_decay": options.weight_decay}]
optimizer = (torch.optim.SGD(groups, lr=options.lr, momentum=0.9) if options.optimizer == "sgd"
             else torch.optim.AdamW(groups, lr=options.lr))
criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
steps_per_epoch = len(train) // options.batch
warmup = round(options.warmup_epochs * steps_per_epoch)
total = options.epochs * steps_per_epoch


def rate(step):
    if step < warmup:
        return options.lr * (0.01 + 0.99 * step / warmup)
    return options.lr * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


def batch_of(samples, transform):
    images = torch.stack([transform(image) for image, _ in samples])
    labels = torch.tensor([label for _, label in samples])
    return images.contiguous(memory_format=torch.channels_last), labels


def top1():
    network.eval()
    right = 0
    with torch.no_grad():
        for index in range(0, len(val), 250):
            images, labels = batch_of(val[index:index + 250], prepare)
            right += (network(images).argmax(1) == labels).sum().item()
    return 100 * right / len(val)


start = time.monotonic()
step = 0
accuracies = []
for epoch in range(options.epochs):
    network.train()
    order = torch.randperm(len(train)).tolist()
    for index in range(steps_per_epoch):
        chosen = order[index * options.batch:(index + 1) * options.batch]
        images, labels = batch_of([train[i] for i in chosen], augment)
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        optimizer.zero_grad()
        criterion(network(images), labels).backward()
        optimizer.step()
        step += 1
    accuracies.append(top1())
print(json.dumps({"top1": accuracies, "seconds": time.monotonic() - start,
                  "version": f"torchvision {torchvision.__version__}",
                  "torch": torch.__version__}))
