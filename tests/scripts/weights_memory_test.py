"""Measures the memory that shoal needs for hostile files of weights, as SECURITY.md promises it.

Environment: SHOAL_PROGRAM is the built program.
"""

import os
import re
import struct
import tempfile
import unittest
import zipfile
from pathlib import Path

SECURITY = Path(__file__).resolve().parents[2] / "SECURITY.md"
MIB = 1 << 20


def zipped(folder, content):
    path = folder / "weights.pth"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights/data.pkl", content)
        archive.writestr("weights/version", "3\n")
    return path


def header(folder, json):
    path = folder / "weights.safetensors"
    path.write_bytes(struct.pack("<Q", len(json)) + json)
    return path


def peak_bytes(path):
    """Returns the peak memory of `shoal inspect PATH`, including its child processes."""
    program = os.environ["SHOAL_PROGRAM"]
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.execv(program, [program, "inspect", str(path)])
    _, status, usage = os.wait4(child, 0)
    assert os.WIFEXITED(status), f"{path}: killed by signal {os.WTERMSIG(status)}"
    return usage.ru_maxrss * 1024


class Memory(unittest.TestCase):
    def test_hostile_weights_stay_below_the_promised_memory(self):
        promised = re.search(r"at most (\d+) MB of memory plus (\w+) times", SECURITY.read_text())
        self.assertEqual(promised[2], "four")
        # Each byte of these pickles makes a container, a number, a copy of a memo or a text.
        pickles = {
            "lists": b"\x80\x02(" + b"]" * (2 * MIB) + b"l.",
            "dicts": b"\x80\x02(" + b"}" * (2 * MIB) + b"l.",
            "tuples": b"\x80\x02(" + b")" * (2 * MIB) + b"t.",
            "numbers": b"\x80\x02(" + b"K\x01" * (2 * MIB) + b"l.",
            "memos": b"\x80\x02]q\x00(" + b"h\x00" * (2 * MIB) + b"e.",
            "nested": b"\x80\x02" + b"]" + b"\x85" * (2 * MIB) + b".",
            "texts": b"\x80\x02(" + b"X\x01\x00\x00\x00a" * MIB + b"l.",
            "text": b"\x80\x02X" + struct.pack("<I", 100 * MIB) + b"a" * (100 * MIB) + b".",
        }
        headers = {
            "lists": b'{"a":[' + b"[]," * (3 * MIB) + b"[]]}",
            "objects": b'{"a":[' + b"{}," * (3 * MIB) + b"{}]}",
            "numbers": b'{"a":[' + b"1," * (4 * MIB) + b"1]}",
            "nested": b'{"a":' + b"[" * (4 * MIB) + b"]" * (4 * MIB) + b"}",
            "names": b"{" + b",".join(b'"%x":0' % i for i in range(MIB // 2)) + b"}",
        }
        for make, contents in ((zipped, pickles), (header, headers)):
            for name, content in contents.items():
                with self.subTest(make.__name__, name=name), tempfile.TemporaryDirectory() as folder:
                    path = make(Path(folder), content)
                    limit = int(promised[1]) * 10**6 + 4 * path.stat().st_size
                    self.assertLess(peak_bytes(path), limit)


if __name__ == "__main__":
    unittest.main()
