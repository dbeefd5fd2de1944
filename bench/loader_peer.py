"""The pipeline that bench/loader compares with: torchvision on Pillow, one process.

Prints one JSON object. Usage: loader_peer.py DIR PASSES bilinear|bicubic
"""

import json
import sys
import time

import torch
from torchvision import datasets, transforms

torch.set_num_threads(1)
torch.manual_seed(0)
folder, passes, filter_name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
data = datasets.ImageFolder(folder, transforms.Compose([
    transforms.RandomResizedCrop(224, interpolation=transforms.InterpolationMode(filter_name)),
    transforms.RandomHorizontalFlip(),
    transforms.ToTensor(),
    transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
]))
for i in range(len(data)):  # warms the page cache
    data[i]
begin = time.perf_counter()
for _ in range(passes):
    for i in range(len(data)):
        data[i]
seconds = time.perf_counter() - begin
images = len(data) * passes
print(json.dumps({"images_per_second": images / seconds, "us_per_image": 1e6 * seconds / images}))
