#!/usr/bin/env python3
"""Writes images/*: one tiny file of every supported format.

Also writes images.txt (name, width, height of each) and images.rgb (their pixels from Pillow's
convert("RGB")). Needs pillow, numpy. Usage: python make_images.py
"""

import os
import struct
import zlib

import numpy as np
from PIL import Image

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "images")
rng = np.random.default_rng(1)


def smooth(width, height, channels):
    """Returns waves and an edge: compresses well as JPEG, and chroma varies everywhere."""
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    planes = [
        127 + 90 * np.sin(x / (5 + c) + c) * np.cos(y / (7 - c)) + 30 * (x > y)
        for c in range(channels)
    ]
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def save(name, array, mode=None, **options):
    image = Image.fromarray(array if array.shape[-1] > 1 else array[..., 0])
    if mode:
        image = image.convert(mode)
    image.save(os.path.join(HERE, name), **options)


def png(name, width, height, depth, color, samples):
    """Writes a PNG with `depth` bits per channel; Pillow cannot write RGB with 16 bits."""
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in samples)
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    with open(os.path.join(HERE, name), "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n")
        for tag, data in ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")):
            f.write(struct.pack(">I", len(data)) + tag + data)
            f.write(struct.pack(">I", zlib.crc32(tag + data)))


def pnm(name, header, largest, samples):
    """Writes a binary PNM with samples from 0 to `largest`; Pillow cannot write `largest` itself."""
    with open(os.path.join(HERE, name), "wb") as f:
        f.write(header.encode() + samples.astype("u1" if largest < 256 else ">u2").tobytes())


def main():
    os.makedirs(HERE, exist_ok=True)
    rgb, big = smooth(23, 17, 3), smooth(67, 45, 3)
    for name, sampling in (("444", 0), ("422", 1), ("420", 2)):
        save(f"baseline_{name}.jpg", big, quality=90, subsampling=sampling)
    save("progressive.jpg", big, quality=88, progressive=True)
    save("restart.jpg", big, quality=88, restart_marker_blocks=3)
    save("grey.jpg", smooth(41, 29, 1), quality=90)
    planes = [Image.fromarray(plane) for plane in np.moveaxis(smooth(67, 45, 4), -1, 0)]
    Image.merge("CMYK", planes).save(os.path.join(HERE, "cmyk.jpg"), quality=92)
    exif = Image.Exif()
    exif[0x0112] = 6  # rotation by 90 degrees, which shoal ignores
    save("rotated.jpg", smooth(40, 20, 3), quality=90, exif=exif)
    noise = rng.integers(0, 256, (17, 23, 4), np.uint8)
    save("rgb.png", rgb)
    save("rgba.png", noise)
    save("grey.png", noise[..., :1])
    Image.fromarray(noise[..., :2].copy()).save(os.path.join(HERE, "grey_alpha.png"))
    save("palette.png", rgb, "P")
    save("one_bit.png", noise[..., :1], "1")
    png("rgb16.png", 23, 17, 16, 2, rng.integers(0, 65536, (17, 23 * 3)))
    save("lossless.webp", rgb, lossless=True)
    save("alpha.webp", noise, lossless=True, exact=True)
    save("lossy.webp", big, quality=90)
    save("rgb.bmp", rgb)
    save("grey.bmp", noise[..., :1])
    save("palette.bmp", rgb, "P")
    save("rgb.tiff", rgb)
    save("lzw.tiff", rgb, compression="tiff_lzw")
    save("grey.tiff", noise[..., :1])
    save("deflate.tiff", rgb, compression="tiff_adobe_deflate")
    save("rgb.ppm", rgb)
    save("grey.pgm", noise[..., :1])
    save("one_bit.pbm", noise[..., :1], "1")
    levels = rng.integers(0, 64, (17, 23, 3))
    pnm("levels63.ppm", "P6\n# a comment\n23 # another\r17\n\t63\n", 63, levels)
    pnm("grey15.pgm", "P5 23 17 15 ", 15, rng.integers(0, 16, (17, 23)))
    pnm("rgb1023.pnm", "P6\n23 17\n1023\n", 1023, rng.integers(0, 1024, (17, 23, 3)))
    pnm("rgb65535.ppm", "P6\n23 17\n65535\n", 65535, rng.integers(0, 65536, (17, 23, 3)))
    lines, pixels = [], b""
    for name in sorted(os.listdir(HERE)):
        with Image.open(os.path.join(HERE, name)) as image:
            array = np.asarray(image.convert("RGB"))
        lines.append(f"{name} {array.shape[1]} {array.shape[0]}")
        pixels += array.tobytes()
    folder = os.path.dirname(HERE)
    open(os.path.join(folder, "images.txt"), "w").write("\n".join(lines) + "\n")
    open(os.path.join(folder, "images.rgb"), "wb").write(pixels)


main()
