#!/usr/bin/env python3
"""Tests of the model of a disk that loses power."""

import os
import tempfile
import unittest
from pathlib import Path

from journal import VARIANTS, Disk, Call, content_after_loss

CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def call(kind, path, descriptor=3, place=0, source="", content=b""):
    return Call("rank0", 1, kind, path, descriptor, place, source, 0, "", content, path, 1, False)


def whole_file(name, content, aside="."):
    """Returns the calls of shoal::write_whole() for place/NAME, with its part in `aside`."""
    part, path = f"{aside}/.{name}.part", f"place/{name}"
    return [
        call("open", part, place=CREATE),
        call("write", part, content=content),
        call("fsync", part),
        call("rename", path, source=part),
        call("open", "place", place=os.O_DIRECTORY),
        call("fsync", "place"),
    ]


class DiskTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.start = Path(folder.name)
        for name in ("place", "aside"):
            (self.start / name).mkdir()

    def left(self, calls):
        """Returns, for every kind of power loss, the files in the folder `place`."""
        disk = Disk(self.start)
        for one in calls:
            disk.apply(one)
        return {
            variant: {
                os.path.basename(name): content_after_loss(file, keep)
                for name, (file, keep) in disk.left(variant).items()
                if file and name.startswith("place/")
            }
            for variant in VARIANTS
        }

    def test_a_flushed_file_survives(self):
        for files in self.left(whole_file("a", b"one", "aside")).values():
            self.assertEqual(files, {"a": b"one"})

    def test_a_file_in_place_does_not_change_when_its_temporary_name_is_used_again(self):
        first, again = whole_file("a", b"one", "aside"), whole_file("a", b"second", "aside")
        for count in range(4):  # up to the rename
            for files in self.left(first + again[:count]).values():
                self.assertEqual(files, {"a": b"one"})

    def test_a_file_that_was_not_flushed_may_be_empty(self):
        calls = [one for one in whole_file("a", b"one") if one.kind != "fsync"]
        left = self.left(calls)
        self.assertEqual(left["names only"], {"a": b""})
        self.assertEqual(left["nothing"], {})

    def test_the_second_of_two_removals_may_reach_the_disk_alone(self):
        for name in "ab":
            (self.start / "place" / name).write_bytes(b"x")
        removals = [call("unlink", "place/a"), call("unlink", "place/b")]
        self.assertEqual(self.left(removals)["the last name only"], {"a": b"x"})
        flush = [call("open", "place", place=os.O_DIRECTORY), call("fsync", "place")]
        for files in self.left([removals[0], *flush, removals[1]]).values():
            self.assertNotIn("a", files)


if __name__ == "__main__":
    unittest.main()
