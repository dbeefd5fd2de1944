"""The peers of bench/loader's part `crops`: one process, one thread.

Prints one JSON object. Usage: loader_peer.py PEER DIR PASSES bilinear|bicubic BOXES [POLICY]

  torchvision     ImageFolder and transforms on Pillow, as in PyTorch's imagenet example
  torchvision_v2  decode_jpeg and v2.RandomResizedCrop(antialias=True) on tensors
  timm            timm's training transform with POLICY or no augmentation; uint8, because timm's
                  prefetcher normalizes
  opencv          imdecode, crop, INTER_LINEAR (no antialiasing), normalization
  dali            DALI's CPU operators: image_slice, antialiased resize, normalization

BOXES: a file with the output of `loader_bench boxes`, the crop box of each image in each pass.
Exit status 3 if a package that the peer needs is not installed; all need numpy and torch.
"""

import json
import random
import sys
import time

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
peer, folder, passes, filter_name = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]


def end_without(error):
    print(f"loader_peer.py: {peer} is not installed: {error}", file=sys.stderr)
    sys.exit(3)


try:
    import numpy
    import torch
except ImportError as error:
    end_without(error)

torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)
boxes = iter(numpy.loadtxt(sys.argv[5], dtype=int).tolist())  # left, top, width, height
policy = sys.argv[6] if len(sys.argv) > 6 else None


def next_box(*_):
    """Replaces get_params of torchvision and timm. Returns top, left, height, width."""
    left, top, width, height = next(boxes)
    return top, left, height, width


def files():
    from torchvision.datasets import ImageFolder
    return [path for path, _ in ImageFolder(folder).samples]


def folder_with(transform):
    from torchvision.datasets import ImageFolder
    data = ImageFolder(folder, transform)
    return len(data), data.__getitem__


def torchvision():
    from torchvision import transforms
    transforms.RandomResizedCrop.get_params = staticmethod(next_box)
    return folder_with(transforms.Compose([
        transforms.RandomResizedCrop(224, interpolation=transforms.InterpolationMode(filter_name)),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]))


def torchvision_v2():
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import InterpolationMode, v2
    v2.RandomResizedCrop.make_params = lambda *_: dict(
        zip(("top", "left", "height", "width"), next_box()))
    transform = v2.Compose([
        v2.RandomResizedCrop(224, interpolation=InterpolationMode(filter_name), antialias=True),
        v2.RandomHorizontalFlip(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(MEAN, STD),
    ])
    paths = files()
    return len(paths), lambda i: transform(decode_jpeg(read_file(paths[i]), ImageReadMode.RGB))


def timm():
    from timm.data import auto_augment, create_transform
    from timm.data.transforms import RandomResizedCropAndInterpolation
    RandomResizedCropAndInterpolation.get_params = staticmethod(next_box)

    def posterize(image, bits, **_):  # Pillow 13 rejects 0 bits, which timm uses
        return image.point([v & ~(2 ** (8 - bits) - 1) for v in range(256)] * 3)

    for name in ("Posterize", "PosterizeIncreasing"):
        auto_augment.NAME_TO_OP[name] = posterize
    return folder_with(create_transform(224, is_training=True, use_prefetcher=True, color_jitter=0,
                                        interpolation=filter_name, auto_augment=policy))


def opencv():
    import cv2
    cv2.setNumThreads(0)
    paths = files()
    scale = (1 / (255 * numpy.array(STD))).astype(numpy.float32)
    shift = (numpy.array(MEAN) / numpy.array(STD)).astype(numpy.float32)

    def image(i):
        pixels = cv2.imdecode(numpy.fromfile(paths[i], numpy.uint8),
                              cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
        top, left, h, w = next_box()
        kind = cv2.INTER_CUBIC if filter_name == "bicubic" else cv2.INTER_LINEAR
        crop = cv2.resize(pixels[top:top + h, left:left + w], (224, 224), interpolation=kind)
        crop = cv2.cvtColor(crop, cv2.COLOR_BGR2RGB)
        if random.random() < 0.5:
            crop = crop[:, ::-1]
        return (crop * scale - shift).transpose(2, 0, 1).copy()

    return len(paths), image


def dali():
    from nvidia.dali import fn, pipeline_def, types
    kind = types.INTERP_CUBIC if filter_name == "bicubic" else types.INTERP_LINEAR

    def places():  # the boxes of one batch; dummies after the last box, because DALI prefetches
        batch = [next(boxes, (0, 0, 8, 8)) for _ in range(50)]
        return ([numpy.array(box[:2], numpy.int32) for box in batch],
                [numpy.array(box[2:], numpy.int32) for box in batch])

    @pipeline_def(batch_size=50, num_threads=1, device_id=None, exec_dynamic=False)
    def pipeline():
        jpegs, _ = fn.readers.file(file_root=folder, random_shuffle=False)
        first, shape = fn.external_source(places, num_outputs=2, batch=True)
        images = fn.decoders.image_slice(jpegs, device="cpu", start=first, shape=shape,
                                           axis_names="WH", adjust_orientation=False)
        images = fn.resize(images, size=(224, 224), interp_type=kind, antialias=True)
        return fn.crop_mirror_normalize(images, mirror=fn.random.coin_flip(),
                                        mean=[255 * m for m in MEAN], std=[255 * s for s in STD])

    made = pipeline()
    made.build()
    count = len(files())
    return count, lambda i: made.run() if i % 50 == 0 else None


try:
    count, take = {"torchvision": torchvision, "torchvision_v2": torchvision_v2, "timm": timm,
                   "opencv": opencv, "dali": dali}[peer]()
except ImportError as error:
    end_without(error)
for i in range(count):  # warms the page cache
    take(i)
begin, busy = time.perf_counter(), time.process_time()
for _ in range(passes):
    for i in range(count):
        take(i)
seconds, busy = time.perf_counter() - begin, time.process_time() - busy
images = count * passes
print(json.dumps({"images_per_second": images / seconds, "us_per_image": 1e6 * seconds / images,
                  "processor_us": 1e6 * busy / images}))
