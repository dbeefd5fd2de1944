"""The peers of bench/loader's part `batches`: batches of 128 random crops of 224 pixels, uint8, in
random order.

Prints one JSON object. Usage: loader_peer_batches.py PEER SOURCE PASSES WORKERS

  dataloader  PyTorch's DataLoader with WORKERS processes, ImageFolder and torchvision's transforms
              on Pillow; SOURCE: a folder of class folders
  dali        DALI's CPU operators with WORKERS threads; SOURCE: a folder of class folders
  ffcv        FFCV's Loader with WORKERS threads; SOURCE: a file written by write_ffcv

  loader_peer_batches.py write_ffcv DIR FILE SIDE QUALITY   writes an FFCV file
  loader_peer_batches.py encode_ffcv DIR OUT SIDE QUALITY   writes the same JPEGs into class folders
  (SIDE: longest side of the images, 0: unchanged; QUALITY: JPEG quality, 0: store pixels)

A warm-up pass comes first. first_batch_seconds: time to its first batch, without imports.
There is no pause between passes, so no loader has to refill its queues at the end of an epoch.
Exit status 3 if a package that the peer needs is not installed; all need psutil and torch.
"""

import importlib
import json
import sys
import time

from pytorch_loader import processor_seconds, pytorch_batches

BATCH = 128
COMMON = ["torch", "psutil"]  # psutil: for processor_seconds()
MODULES = {
    "dataloader": ["torch.utils.data", "torchvision.transforms", "torchvision.datasets"],
    "dali": ["nvidia.dali", "torchvision.datasets"],
    "ffcv": ["numpy", "ffcv.fields.rgb_image", "ffcv.loader", "ffcv.reader", "ffcv.transforms"],
}
peer, source = sys.argv[1:3]


def dataloader(passes, workers):
    return pytorch_batches(source, BATCH, workers, lambda _: passes)


def dali(passes, workers):
    from nvidia.dali import fn, pipeline_def, types
    from torchvision.datasets import ImageFolder
    count = len(ImageFolder(source))

    @pipeline_def(batch_size=BATCH, num_threads=workers, device_id=None, exec_dynamic=False)
    def pipeline():
        jpegs, _ = fn.readers.file(file_root=source, random_shuffle=True)
        images = fn.decoders.image_random_crop(jpegs, device="cpu", random_area=[0.08, 1.0],
                                                 random_aspect_ratio=[3 / 4, 4 / 3])
        images = fn.resize(images, size=(224, 224), interp_type=types.INTERP_LINEAR,
                             antialias=True)
        return fn.flip(images, horizontal=fn.random.coin_flip())

    made = pipeline()
    made.build()
    return (made.run() for _ in range(passes * count // BATCH)), count


def ffcv(passes, workers):
    import numpy
    from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.reader import Reader
    from ffcv.transforms import RandomHorizontalFlip, ToTensor
    count = Reader(source).num_samples
    loader = Loader(source, BATCH, num_workers=workers, order=OrderOption.RANDOM, os_cache=True,
                    drop_last=True, indices=numpy.tile(numpy.arange(count, dtype="uint64"), passes),
                    pipelines={"image": [RandomResizedCropRGBImageDecoder((224, 224)),
                                         RandomHorizontalFlip(), ToTensor()], "label": None})
    return iter(loader), count


def write_ffcv(out, side, quality):
    from ffcv.fields import IntField, RGBImageField
    from ffcv.writer import DatasetWriter
    from torchvision.datasets import ImageFolder
    fields = {"image": RGBImageField(write_mode="jpg" if quality else "raw",
                                     max_resolution=side or None, jpeg_quality=quality),
              "label": IntField()}
    DatasetWriter(out, fields, num_workers=1).from_indexed_dataset(ImageFolder(source))


def encode_ffcv(out, side, quality):
    import pathlib

    import numpy
    from ffcv.fields.rgb_image import encode_jpeg, resizer
    from torchvision.datasets import ImageFolder
    data = ImageFolder(source)
    for (path, _), (image, _) in zip(data.samples, data):
        target = pathlib.Path(out) / pathlib.Path(path).relative_to(source).with_suffix(".jpg")
        target.parent.mkdir(parents=True, exist_ok=True)
        resized = resizer(numpy.array(image), side or None)
        target.write_bytes(encode_jpeg(resized, quality).tobytes())


try:
    if peer in ("write_ffcv", "encode_ffcv"):
        {"write_ffcv": write_ffcv, "encode_ffcv": encode_ffcv}[peer](
            sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
        sys.exit()
    passes, workers = int(sys.argv[3]), int(sys.argv[4])
    for module in COMMON + MODULES[peer]:
        importlib.import_module(module)  # before the clock starts
    importlib.import_module("torch").set_num_threads(1)
    begin = time.perf_counter()
    batches, count = {"dataloader": dataloader, "dali": dali, "ffcv": ffcv}[peer](passes + 1,
                                                                                  workers)
    next(batches)
    first = time.perf_counter() - begin
except ImportError as error:
    print(f"loader_peer_batches.py: {peer} is not installed: {error}", file=sys.stderr)
    sys.exit(3)
taken = 1
while taken * BATCH < count:  # the warm-up pass
    next(batches)
    taken += 1
begin, busy, images = time.perf_counter(), processor_seconds(), 0
for _ in batches:
    images += BATCH
seconds, busy = time.perf_counter() - begin, processor_seconds() - busy
print(json.dumps({"images_per_second": images / seconds, "processor_us": 1e6 * busy / images,
                  "first_batch_seconds": first}))
