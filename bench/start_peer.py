#!/usr/bin/env python3
"""Trains one step as PyTorch's imagenet/main.py does, for bench/start. Prints the loss."""

import argparse

import torch
import torchvision
from torchvision import transforms

parser = argparse.ArgumentParser()
parser.add_argument("images")
parser.add_argument("--model")
parser.add_argument("--batch-size", type=int)
parser.add_argument("--size", type=int)
parser.add_argument("--workers", type=int)


def main():
    options = parser.parse_args()
    torch.set_num_threads(2)
    normalize = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    steps = [transforms.RandomResizedCrop(options.size), transforms.RandomHorizontalFlip(),
             transforms.ToTensor(), normalize]
    images = torchvision.datasets.ImageFolder(options.images + "/train", transforms.Compose(steps))
    loader = torch.utils.data.DataLoader(images, options.batch_size, shuffle=True,
                                         num_workers=options.workers, drop_last=True)
    model = getattr(torchvision.models, options.model)(num_classes=len(images.classes))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    criterion = torch.nn.CrossEntropyLoss()
    model.train()
    batch, labels = next(iter(loader))
    loss = criterion(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"Loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
