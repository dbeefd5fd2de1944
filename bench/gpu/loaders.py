#!/usr/bin/env python3
"""Times other data loaders on class folders of JPEGs: batches of 128 random crops of 224 pixels,
randomly flipped, uint8, in random order. The dataset is repeated, so that no epoch ends during a
measurement.

Usage: loaders.py DIR [--workers 16,8,4,2,1] [--json FILE] [--deadline SECONDS] [--dry --device cpu]

  torchvision    PyTorch's DataLoader over ImageFolder with transforms on Pillow; batches stay in
                 host memory
  timm           timm's create_loader with fast collate; its prefetcher copies to the GPU and
                 normalizes
  nvjpeg/crop    threads read files; the GPU decodes a batch (decode_jpeg), then crops and resizes
                 each image
  nvjpeg/decode  like nvjpeg/crop, but without cropping and resizing

The number after a name: worker processes, or reading threads. Files are in the page cache.
processor_us: CPU time per image in microseconds, workers included. left_out: images that nvJPEG
cannot decode.

Exit status 1 if a measurement failed.
"""

import itertools
import math
import pathlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import torch

import common

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from pytorch_loader import processor_seconds, pytorch_batches  # noqa: E402

TITLE = "Other loaders: batches of 128 crops of 224 pixels from class folders of JPEGs"
EPOCH = 200_000  # minimum number of images, so that no epoch ends during a measurement


def names(options):
    most, *fewer = options.workers.split(",")
    loaders = ("torchvision", "timm", "nvjpeg/crop", "nvjpeg/decode")
    return [f"{loader}/{most}" for loader in loaders] + [
        f"torchvision/{workers}" for workers in fewer]


def repeats(count):
    return math.ceil(EPOCH / count)


def torchvision(options, workers):
    return pytorch_batches(options.folder, options.batch, workers, repeats)[0], {}


def timm(options, workers):
    from timm.data import ImageDataset, create_loader
    data = ImageDataset(options.folder)
    data.reader.samples *= repeats(len(data))
    return iter(create_loader(data, 224, options.batch, is_training=True, color_jitter=0,
                              num_workers=workers, device=torch.device(options.device))), {}


def nvjpeg(options, workers, crop):
    from torchvision.datasets import ImageFolder
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import RandomResizedCrop
    from torchvision.transforms.v2 import functional

    def decoded(files):
        return decode_jpeg(files, ImageReadMode.RGB, options.device)

    def readable(path):
        try:
            decoded([read_file(path)])
        except RuntimeError:
            return False
        return True

    def cropped(image):
        box = RandomResizedCrop.get_params(image, (0.08, 1), (3 / 4, 4 / 3))
        image = functional.resized_crop(image, *box, [224, 224], antialias=True)
        return functional.horizontal_flip(image) if torch.rand(()) < 0.5 else image

    found = [path for path, _ in ImageFolder(options.folder).samples]
    paths = [path for path in found if readable(path)]

    def batches():
        with ThreadPoolExecutor(workers) as pool:
            order = (paths[i] for _ in itertools.count()
                     for i in torch.randperm(len(paths)).tolist())

            def read():
                return [pool.submit(read_file, path)
                        for path in itertools.islice(order, options.batch)]

            following = read()
            while True:
                files, following = [each.result() for each in following], read()
                images = decoded(files)
                yield torch.stack([cropped(image) for image in images]) if crop else images

    return batches(), {"left_out": len(found) - len(paths)}


def take(batches, seconds, options, least=1):
    """Takes batches until `seconds` have passed and `least` batches were taken.

    Returns images per second and the number of images.
    """
    begin, count = time.perf_counter(), 0
    while count < least or time.perf_counter() - begin < seconds:
        next(batches)
        count += 1
    common.finish(options.device)
    return count * options.batch / (time.perf_counter() - begin), count * options.batch


def measure(name, options):
    torch.set_num_threads(1)
    loader, workers = name.rsplit("/", 1)
    workers = int(workers)
    make = {"torchvision": torchvision, "timm": timm,
            "nvjpeg/crop": lambda *given: nvjpeg(*given, crop=True),
            "nvjpeg/decode": lambda *given: nvjpeg(*given, crop=False)}[loader]
    batches, facts = make(options, workers)
    begin = time.perf_counter()
    next(batches)
    first = time.perf_counter() - begin
    take(batches, options.seconds, options, least=3 * workers)  # uses up prefetched batches
    busy = processor_seconds()
    groups = [take(batches, options.seconds, options) for _ in range(common.GROUPS)]
    busy = processor_seconds() - busy
    return common.spread("images_per_second", [rate for rate, _ in groups]) | {
        "processor_us": 1e6 * busy / sum(images for _, images in groups),
        "first_batch_seconds": first} | facts


parser = common.child_parser(__doc__, timeout=120)
parser.add_argument("folder", metavar="DIR")
parser.add_argument("--workers", default="16,8,4,2,1")
options = parser.parse_args()
options.batch, options.seconds = (4, 0.2) if options.dry else (128, 2)
sys.exit(common.each_in_a_child(
    TITLE, names(options), lambda name: measure(name, options), lambda *_: 40, options,
    ("images_per_second", "processor_us", "left_out", "seconds")))
