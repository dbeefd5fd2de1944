"""The journal of a run under preload.cpp, and the disks that a power loss could leave.

A run is started with a library that writes one line per file system call. This module reads those
lines. `losses` replays them on a model of a disk and yields the folders that the machine could find
after a power loss at any of the calls.
"""

import collections
import dataclasses
import errno
import os
import re
import shutil


@dataclasses.dataclass(frozen=True)
class Call:
    role: str  # launcher, rank0, rank1, ...
    process: int
    kind: str  # as in faults.h
    path: str  # relative to the watched folder; the new name of a rename
    descriptor: int
    place: int  # flags of open, offset of write, length of truncate, 1 for syncfs
    source: str  # the old name of a rename
    result: int
    error: str  # errno, or the injected action
    content: bytes
    pattern: str  # the path with wildcards for process ids and times in names
    number: int  # from 1: among the calls of this role and kind to paths of this pattern
    is_folder: bool  # whether the path is a folder

    @property
    def site(self):
        """Identifies this call in any run of the same command."""
        return (self.role, self.kind, self.pattern, self.number)

    @property
    def creates(self):
        return self.kind == "open" and bool(self.place & os.O_CREAT)


def read_journal(file):
    """Returns the calls in order. A killed process may not have recorded its last call."""
    calls, counts, folders = [], collections.Counter(), set()
    with open(file, "rb") as journal:
        for line in journal:
            fields = line.decode("utf-8", "surrogateescape").rstrip("\n").split("\t")
            role, process, kind, path, descriptor, place, source, result, error, size = fields
            content = journal.read(int(size))
            pattern = re.sub(r"\.\d+-[0-9a-f]+\.part$", ".*.part", path)
            pattern = re.sub(r"tfevents\.\d+", "tfevents.*", pattern)
            counts[role, kind, pattern] += 1
            if kind == "open" and int(place) & os.O_DIRECTORY:
                folders.add(path)
            numbers = int(descriptor), int(place), source, int(result), error, content
            number = counts[role, kind, pattern]
            calls.append(
                Call(role, int(process), kind, path, *numbers, pattern, number, path in folders)
            )
    return calls


class File:
    """The content of one file: what a flush made durable, and the changes since then."""

    made = 0

    def __init__(self, content=b""):
        File.made += 1
        self.number, self.flushed = File.made, 0  # flushed: number of durable changes
        self.durable = content
        self.pending = []  # (offset, bytes), or (length, None) for a truncation

    def content(self, changes):
        data = bytearray(self.durable)
        for place, new in changes:
            data.extend(bytes(max(0, place - len(data))))
            if new is None:
                del data[place:]
            else:
                data[place : place + len(new)] = new
        return bytes(data)

    def flush(self):
        self.flushed += len(self.pending)
        self.durable, self.pending = self.content(self.pending), []


@dataclasses.dataclass
class Change:
    """A change of the names in a folder. A flush of the folder makes it durable."""

    folder: str
    removes: str | None = None
    adds: str | None = None
    file: File | None = None  # of `adds`; None for a folder


# What a power loss keeps of the changes that were not flushed: {variant: (names, contents)}.
VARIANTS = {
    "nothing": ("none", "none"),
    "names only": ("all", "none"),  # files are short or empty
    "names and zeros": ("all", "zeros"),
    "names and half of the content": ("all", "half"),
    "content only": ("none", "all"),
    "the last name only": ("last", "none"),  # changes of names in another order
}


class Disk:
    """Applies calls to a model of the watched folder."""

    def __init__(self, start):
        self.names = {".": None}  # durable names: {path: File, or None for a folder}
        self.changes = []  # changes of names that are not yet durable
        self.open = {}  # {(process, descriptor): File}
        if start.exists():
            for path in start.rglob("*"):
                name = path.relative_to(start).as_posix()
                self.names[name] = None if path.is_dir() else File(path.read_bytes())

    def now(self, changes=None):
        names = dict(self.names)
        for change in self.changes if changes is None else changes:
            names.pop(change.removes, None)
            if change.adds is not None:
                names[change.adds] = change.file
        return names

    def apply(self, call):
        if call.result < 0:
            return
        handle = (call.process, call.descriptor)
        if call.kind == "open":
            self._open(call, handle)
        elif call.kind == "write" and call.content:
            self.open[handle].pending.append((call.place, call.content))
        elif call.kind == "truncate":
            self.open[handle].pending.append((call.place, None))
        elif call.kind == "mkdir":
            self.changes.append(Change(os.path.dirname(call.path) or ".", adds=call.path))
        elif call.kind == "unlink":
            self.changes.append(Change(os.path.dirname(call.path) or ".", removes=call.path))
        elif call.kind == "rename":
            file = self.now()[call.source]
            folder = os.path.dirname(call.path) or "."
            self.changes.append(Change(folder, call.source, call.path, file))
        elif call.kind == "fsync":
            self._flush(call, handle)

    def _open(self, call, handle):
        names = self.now()
        file = names.get(call.path)
        if call.path not in names:
            file = File()
            self.changes.append(
                Change(os.path.dirname(call.path) or ".", adds=call.path, file=file)
            )
        elif file is not None and call.place & os.O_TRUNC:
            file.pending.append((0, None))
        self.open[handle] = file

    def _flush(self, call, handle):
        everything = call.place == 1  # syncfs
        for file in [f for f in self.now().values() if f] if everything else [self.open[handle]]:
            if file is not None:
                file.flush()
        # Journaling file systems write the folders above a flushed file or folder too.
        durable = [
            change
            for change in self.changes
            if everything
            or (change.file is None and change.adds and is_above(change.adds, call.path))
            or (self.open[handle] is None and change.folder == call.path)
        ]
        self.names = self.now(durable)
        # A durable rename into this folder has also moved the name out of its old folder.
        self.changes = [
            change
            for number, change in enumerate(self.changes)
            if change not in durable
            and not any(
                later in durable and later.removes == change.adds is not None
                for later in self.changes[number + 1 :]
            )
        ]

    def left(self, variant):
        """Returns what a power loss leaves now: {path: (File, how much of its content)}."""
        keep_names, keep_content = VARIANTS[variant]
        kept = {"none": [], "all": self.changes, "last": self.changes[-1:]}[keep_names]
        names = self.now(kept)
        return {
            name: (file, "all" if file is None or not file.pending else keep_content)
            for name, file in names.items()
            if all(folder in names for folder in parents(name))
        }


def parents(name):
    while name := os.path.dirname(name):
        yield name


def is_above(folder, path):
    return folder == path or path.startswith(folder + "/")


def content_after_loss(file, keep):
    if keep == "half":
        half = file.pending[: len(file.pending) // 2 + 1]
        place, last = half.pop()
        return file.content([*half, (place, last[: len(last) // 2] if last else last)])
    whole = file.content(file.pending)
    if keep == "zeros":
        known = file.durable[: len(whole)]
        return known + bytes(len(whole) - len(known))
    return file.durable if keep == "none" else whole


def losses(calls, start):
    """Yields (number of the call, variant, what is left) for every possible power loss.

    `start` is the folder before the first call. Several writes in a row to one file count as one.
    """
    disk, seen = Disk(start), set()
    for number, call in enumerate(calls, 1):
        disk.apply(call)
        after = calls[number] if number < len(calls) else call
        if call.kind == after.kind == "write" and call.path == after.path and after is not call:
            continue
        for variant in VARIANTS:
            left = disk.left(variant)
            key = frozenset(
                (name, file and (file.number, file.flushed, len(file.pending)), keep)
                for name, (file, keep) in left.items()
            )
            if key in seen:
                continue
            seen.add(key)
            yield number, variant, left


def left_at_end(calls, start):
    """Yields (variant, what is left) for a power loss after the last call."""
    disk = Disk(start)
    for call in calls:
        disk.apply(call)
    for variant in VARIANTS:
        yield variant, disk.left(variant)


def restore(left, folder):
    """Replaces the contents of `folder` with what the power loss left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in sorted(left):
        file, keep = left[name]
        if file is None:
            (folder / name).mkdir(exist_ok=True)
        else:
            (folder / name).write_bytes(content_after_loss(file, keep))


# Errors of fsync() on file systems that cannot flush folders.
CANNOT_FLUSH = {str(code) for code in (errno.EINVAL, errno.ENOTSUP)}


def failed_flushes(calls, repeats=False):
    """Returns the calls of close and fsync that failed, after which written bytes may be lost.

    Leaves out descriptors that wrote nothing, files that are removed before or next (to be written
    again, or because nobody needs them), and folders that cannot be flushed. With `repeats`, also
    leaves out folders that are flushed again later.
    """
    written, failed = {}, []  # written: paths of descriptors
    for number, call in enumerate(calls, 1):
        handle = (call.process, call.descriptor)
        if call.kind == "open":
            written.pop(handle, None)
        elif call.kind in ("write", "truncate") and call.result >= 0:
            written[handle] = call.path
        elif call.kind == "unlink" and call.result >= 0:
            written = {one: path for one, path in written.items() if path != call.path}
        elif call.kind in ("close", "fsync") and call.result < 0 and call.error.isdigit():
            if call.is_folder:
                lost = call.kind == "fsync" and call.error not in CANNOT_FLUSH
                lost = lost and not (repeats and is_flushed(call.path, calls[:number], calls[number:]))
            else:
                lost = handle in written and not is_removed(call.path, calls[number:])
            if lost:
                failed.append(call)
    return failed


def is_flushed(folder, before, after):
    """Returns whether the calls `after` flush the folder in time.

    If the last file that was renamed into the folder is a checkpoint whose marker is missing, no
    marker may be added before the flush. Otherwise, no marker may be removed before the flush, and
    no marker of another checkpoint may be added.
    """
    renamed = [
        call.path
        for call in before
        if call.result >= 0 and call.kind == "rename" and call.path.startswith(f"{folder}/epoch-")
    ]
    last, _, kind = renamed[-1].rpartition(".") if renamed else ("", "", "json")
    for call in after:
        if call.result < 0:
            continue
        if call.kind == "fsync" and call.path == folder:
            return True
        stem, _, extension = call.path.rpartition(".")
        if not stem.startswith(f"{folder}/epoch-") or extension != "json":
            continue
        if call.kind == "rename" and (stem != last or kind == "pt"):
            return False
        if call.kind == "unlink" and kind == "json":
            return False
    return False


def is_removed(path, calls):
    """Returns whether these calls remove the file before any of them renames it."""
    for call in calls:
        if call.result >= 0 and call.kind == "unlink" and call.path == path:
            return True
        if call.result >= 0 and call.kind == "rename" and call.source == path:
            return False
    return False


def saved_step(calls):
    """Returns the step of the newest checkpoint whose marker was renamed and flushed; 0: none."""
    renamed = saved = 0
    for call in calls:
        folder, name = os.path.split(call.path)
        if call.result < 0:
            continue
        if call.kind == "rename" and name.startswith("epoch-") and name.endswith(".json"):
            renamed = max(renamed, int(name[:-5].rsplit("-", 1)[1]))
            place = folder
        if call.kind == "fsync" and renamed and call.path == place:
            saved = renamed
    return saved
