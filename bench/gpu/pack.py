#!/usr/bin/env python3
"""Packs shoal's programs, the libraries that they need and some images into one compressed file,
to be carried to a machine with a GPU.

Usage: pack.py BUILD PACK.tar.xz [IMAGES.tar] [--images 100] [--limit 45]

BUILD: folder of a release build. IMAGES.tar: class folders of JPEGs. The pack gets --images of
them, from as many classes as possible, and three hard links to each: an epoch of the loader needs
more images than a batch has.

The pack has the libraries that the programs load (NEEDED entries, also those of libraries), except
those that the machine has: those of the C library, the compiler, torch and CUDA.

Prints the sizes. Exit status 1 if a library is not found, or if the pack is larger than --limit MB
(millions of bytes); then no pack is left.
"""

import argparse
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

PROGRAMS = ("gpu_first_light", "loader_bench", "shoal", "shoal-worker", "libshoal_cuda.so")
# Parts of another version of the C library do not load, so all of them must be the machine's.
ELSEWHERE = re.compile(
    r"ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|anl|nsl|mvec|nss_\w+|stdc\+\+|gcc_s|gomp)\.so.*"
    r"|lib(torch|c10|cuda|cupti|cublas|cudnn|nccl)\w*\.so.*")
COPIES = 4


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed_by(file):
    """Returns the names of the libraries that a program or library names itself."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", file))


def library_paths(files):
    """Returns {name: path} of all libraries that the loader finds for these files."""
    return dict(re.findall(r"(\S+) => (/\S+)", output_of("ldd", *files)))


def libraries_of(files):
    """Returns {name: path} of the libraries that the pack needs for these files."""
    paths, found, queue = library_paths(files), {}, list(files)
    while queue:
        for name in needed_by(queue.pop()):
            if name not in found and not ELSEWHERE.fullmatch(name):
                if name not in paths:
                    sys.exit(f"pack.py: {name} is not found on this machine")
                found[name] = paths[name]
                queue.append(paths[name])
    return found


def chosen(archive, count):
    """Returns `count` images of a tar: the first of each class, then the second of each class."""
    classes = {}
    for member in sorted(archive.getmembers(), key=lambda member: member.name):
        path = pathlib.PurePath(member.name)
        if member.isfile() and path.suffix.lower() in (".jpg", ".jpeg"):
            classes.setdefault(path.parent.name, []).append(member)
    rounds = itertools.zip_longest(*classes.values())
    return [member for members in rounds for member in members if member][:count]


def add_images(pack, archive, count):
    """Returns how many images were added."""
    members = chosen(archive, count)
    for i, member in enumerate(members):
        path = pathlib.PurePath(member.name)
        image = tarfile.TarInfo(f"images/{path.parent.name}/{i}{path.suffix}")
        image.size = member.size
        pack.addfile(image, archive.extractfile(member))
        for copy in range(1, COPIES):
            link = tarfile.TarInfo(f"images/{path.parent.name}/{i}-{copy}{path.suffix}")
            link.type, link.linkname = tarfile.LNKTYPE, image.name
            pack.addfile(link)
    return len(members)


def make(file, build, images, count):
    """Writes the pack, and returns a text about its content."""
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(file, "w:xz", preset=9) as pack:
        copies = [shutil.copy2(build / name, scratch) for name in PROGRAMS]
        output_of("strip", *copies)
        libraries = libraries_of([build / name for name in PROGRAMS])
        for path in (*copies, *libraries.values()):
            pack.add(os.path.realpath(path), f"programs/{pathlib.Path(path).name}")
        sizes = [sum(map(os.path.getsize, paths)) / 1e6 for paths in (copies, libraries.values())]
        text = f"programs {sizes[0]:.1f} MB, {len(libraries)} libraries {sizes[1]:.1f} MB"
        if images:
            with tarfile.open(images) as archive:
                text += f", {add_images(pack, archive, count)} images"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, metavar="BUILD")
    parser.add_argument("pack", type=pathlib.Path, metavar="PACK.tar.xz")
    parser.add_argument("tar", nargs="?", metavar="IMAGES.tar")
    parser.add_argument("--images", type=int, default=100, metavar="N")
    parser.add_argument("--limit", type=float, default=45, metavar="MB")
    options = parser.parse_args()
    options.pack.unlink(missing_ok=True)
    part = options.pack.with_name(options.pack.name + ".part")
    try:
        text = make(part, options.build, options.tar, options.images)
        size = part.stat().st_size / 1e6
        print(f"{options.pack}: {size:.1f} MB ({text})")
        if size > options.limit:
            sys.exit(f"pack.py: the pack has {size:.1f} MB, more than {options.limit:g} MB; "
                     "pack fewer --images")
        part.rename(options.pack)
    finally:
        part.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
