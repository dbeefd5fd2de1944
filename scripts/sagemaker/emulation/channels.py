"""The content of a channel: files (File), a read-only folder (FastFile) or FIFOs (Pipe)."""

import errno
import gzip
import json
import os
import random
import re
import select
import struct
import threading
import zlib
from pathlib import Path

from emulation.store import copy
from errors import UserError
from upload import split_uri

BLOCK = 1 << 16  # bytes
MAGIC = struct.pack("<I", 0xCED7230A)
POLL = 0.01  # seconds between attempts to open a FIFO that no process reads yet


def json_lines(path, place):
    try:
        return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    except (OSError, ValueError) as error:
        raise UserError(f"{place}: cannot read {path}: {error}") from None


def prefix_objects(s3, uri):
    bucket, key = split_uri(uri)
    for name in s3.keys(bucket, key):
        relative = name.removeprefix(key).lstrip("/") or name.rpartition("/")[2]
        yield relative, s3.root / bucket / name


def manifest_objects(s3, uri, place):
    try:
        prefix, *names = json.loads(s3.path(uri).read_text())
        return [(name, s3.path(prefix["prefix"] + name)) for name in names]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{place}: {s3.path(uri)} is not a manifest: {error}") from None


def source_uri(channel):
    """Returns the S3 address of a channel. A file system is emulated by the bucket FILE-SYSTEM."""
    source = channel["DataSource"]
    if "S3DataSource" in source:
        return source["S3DataSource"]["S3Uri"]
    system = source["FileSystemDataSource"]
    return f"s3://{system['FileSystemId']}{system['DirectoryPath'].rstrip('/')}/"


def objects(s3, channel):
    """Returns [(name in the channel, content)], where content is a path or bytes."""
    source = channel["DataSource"].get("S3DataSource", {"S3DataType": "S3Prefix"})
    kind, uri = source["S3DataType"], source_uri(channel)
    place = f"channels: {channel['ChannelName']}"
    if kind == "ManifestFile":
        found = manifest_objects(s3, uri, place)
    elif kind == "AugmentedManifestFile":
        found = [
            (
                name,
                s3.path(line[name]) if name.endswith("-ref") else json.dumps(line[name]).encode(),
            )
            for line in json_lines(s3.path(uri), place)
            for name in source["AttributeNames"]
        ]
    else:
        found = list(prefix_objects(s3, uri))
    missing = [path for _, path in found if isinstance(path, Path) and not path.exists()]
    if not found or missing:
        raise UserError(
            f"{place}: {uri} is emulated by {(missing or [s3.path(uri)])[0]}, which does not exist"
        )
    return found


def share(channel, found, host, hosts):
    """Returns the objects that host number `host` (from 0) receives."""
    source = channel["DataSource"].get("S3DataSource", {})
    sharded = source.get("S3DataDistributionType") == "ShardedByS3Key"
    return found[host::hosts] if sharded else found


def fill_folder(folder, found):
    for name, path in found:
        copy(path, folder / name)


def record(payload):
    """Returns a RecordIO record. Splits the payload at the magic number if it is aligned."""
    cuts = [m.start() for m in re.finditer(re.escape(MAGIC), payload) if m.start() % 4 == 0]
    parts, begin = [], 0
    for cut in [*cuts, len(payload)]:
        parts.append(payload[begin:cut])
        begin = cut + len(MAGIC)
    text = b""
    for index, part in enumerate(parts):
        flag = (index > 0) + 2 * (index < len(parts) - 1)  # 0 whole, 2 first, 3 middle, 1 last
        flag = {0: 0, 2: 1, 3: 2, 1: 3}[flag]
        text += MAGIC + struct.pack("<I", flag << 29 | len(part)) + part + b"\0" * (-len(part) % 4)
    return text


def content(channel, item):
    data = item if isinstance(item, bytes) else item.read_bytes()
    if channel.get("CompressionType") == "Gzip":
        data = gzip.decompress(data)
    return record(data) if channel.get("RecordWrapperType") == "RecordIO" else data


class Feeder(threading.Thread):
    """Writes a Pipe channel to FOLDER/NAME_0, NAME_1, ..., one FIFO per epoch, until end()."""

    def __init__(self, s3, channel, folder, host, hosts):
        super().__init__(daemon=True)
        self.channel, self.folder = channel, folder
        self.host, self.hosts = host, hosts
        self.found = objects(s3, channel)
        self.over = threading.Event()
        self.error = ""  # why writing the channel failed
        self.fifo = self.make(0)

    def make(self, epoch):
        fifo = self.folder / f"{self.channel['ChannelName']}_{epoch}"
        os.mkfifo(fifo)
        return fifo

    def order(self, epoch):
        found = list(self.found)
        if "ShuffleConfig" in self.channel:
            random.Random(f"{self.channel['ShuffleConfig']['Seed']} {epoch}").shuffle(found)
        return share(self.channel, found, self.host, self.hosts)

    def opened(self):
        """Returns the FIFO opened for writing once a process reads it, or None after end()."""
        while not self.over.wait(POLL):
            try:
                return os.open(self.fifo, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
        return None

    def write(self, file, data):
        view = memoryview(data)
        while view and not self.over.is_set():
            if select.select([], [file], [], 0.1)[1]:
                view = view[os.write(file, view[:BLOCK]) :]

    def run(self):
        epoch = 0
        while (file := self.opened()) is not None:
            name = ""
            try:
                for name, item in self.order(epoch):
                    self.write(file, content(self.channel, item))
            except BrokenPipeError:  # the reader closes when it has enough
                pass
            except (OSError, EOFError, zlib.error) as error:
                self.error = f"channels: {self.channel['ChannelName']}: {name}: {error}"
                os.close(file)
                return
            self.fifo.unlink()
            epoch += 1
            self.fifo = self.make(epoch)
            os.close(file)

    def end(self):
        self.over.set()
        self.join()
