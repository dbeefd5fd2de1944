"""Writes tests/golden/records: small TFRecord and RecordIO files of other programs.

    python3 make_records.py          # needs the packages tfrecord, protobuf and scipy

RecordIO is packed with struct, as in MXNet's recordio.py. Payloads are split at the magic number,
as in dmlc-core. Each record's content is text: "content of NAME".
"""

import gzip
import pathlib
import struct
import zlib

import numpy
import scipy.io
from tfrecord import writer

OUT = pathlib.Path(__file__).resolve().parents[1] / "records"
MAGIC = 0xCED7230A
IMAGES = [("n02_7.JPEG", 2, "n02"), ("n01_3.JPEG", 1, "n01"), ("n04_1.JPEG", 4, "n04")]


def content(name):
    return f"content of {name}".encode()


def tf_records():
    def write(file, rows):
        out = writer.TFRecordWriter(str(OUT / file))
        for row in rows:
            out.write(row)
        out.close()

    full = [{"image/encoded": (content(name), "byte"), "image/class/label": (label, "int"),
             "image/class/synset": (synset.encode(), "byte"), "image/filename": (name.encode(), "byte"),
             "image/height": (32, "int"), "image/format": (b"JPEG", "byte"),
             "image/object/bbox/xmin": ([0.25, 0.5], "float")} for name, label, synset in IMAGES]
    write("imagenet.tfrecord", full)
    write("numbers.tfrecord", [{k: row[k] for k in ("image/encoded", "image/class/label")} for row in full])
    pixels = [bytes(range(i, i + 12)) for i in (0, 100)]  # 2×2×3
    write("uint8.tfrecord", [{"data": (p, "byte"), "labels": (i, "int")} for i, p in enumerate(pixels)])
    doubles = [struct.pack("<12d", *[level / 255 for level in p]) for p in pixels]
    write("float64.tfrecord", [{"data": (p, "byte"), "labels": (i, "int")} for i, p in enumerate(doubles)])
    plain = (OUT / "imagenet.tfrecord").read_bytes()
    (OUT / "imagenet.tfrecord.gz").write_bytes(gzip.compress(plain, mtime=0))
    (OUT / "imagenet.tfrecord.zlib").write_bytes(zlib.compress(plain))


def part(kind, payload):
    return struct.pack("<II", MAGIC, kind << 29 | len(payload)) + payload + b"\0" * (-len(payload) % 4)


def record(payload):
    """Splits the payload at each aligned magic number, and drops these numbers."""
    magic = struct.pack("<I", MAGIC)
    places = [i for i in range(0, len(payload) - 3, 4) if payload[i:i + 4] == magic]
    pieces, begin = [], 0
    for place in places:
        pieces.append(payload[begin:place])
        begin = place + 4
    pieces.append(payload[begin:])
    if len(pieces) == 1:
        return part(0, payload)
    kinds = [1] + [2] * (len(pieces) - 2) + [3]
    return b"".join(part(kind, piece) for kind, piece in zip(kinds, pieces))


def image_record(label, number, payload):
    return record(struct.pack("<IfQQ", 0, label, number, 0) + payload)


def record_io():
    magic = struct.pack("<I", MAGIC)
    (OUT / "plain.rec").write_bytes(b"".join(
        image_record(label, i, content(name)) for i, (name, label, _) in enumerate(IMAGES)))
    split = [magic + b"ab", b"abcd" + magic + magic + b"x", b"a" + magic + b"unaligned", b"end!" + magic]
    (OUT / "split.rec").write_bytes(b"".join(image_record(i, i, p) for i, p in enumerate(split)))
    (OUT / "array.rec").write_bytes(record(struct.pack("<IfQQf", 1, 0, 5, 0, 3.0) + b"content"))
    (OUT / "several.rec").write_bytes(record(struct.pack("<IfQQff", 2, 0, 5, 0, 3.0, 4.0) + b"content"))
    (OUT / "listed.rec").write_bytes((OUT / "plain.rec").read_bytes())
    (OUT / "listed.lst").write_text("".join(
        f"{i}\t{label:.6f}\t{synset}/{name}\n" for i, (name, label, synset) in enumerate(IMAGES)))


def meta_mat():
    """Writes two files like the devkit's meta.mat, with the fields that shoal reads and others."""
    fields = [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("words", "O"), ("children", "O")]
    synsets = numpy.empty((3, 1), dtype=fields)
    rows = [(1, "n02119789", "kit fox"), (2, "n02100735", "English setter"), (300, "n01", "thing")]
    for i, (number, wnid, words) in enumerate(rows):
        synsets[i, 0] = (float(number), wnid, words, numpy.arange(i, dtype=float))
    for name, compressed in (("meta.mat", True), ("meta_plain.mat", False)):
        scipy.io.savemat(OUT / name, {"synsets": synsets}, do_compression=compressed)


OUT.mkdir(exist_ok=True)
meta_mat()
tf_records()
record_io()
