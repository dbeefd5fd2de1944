"""Checks that hostile files of weights take no more memory than SECURITY.md promises.

Environment: SHOAL_PROGRAM is the built program.
"""

import os
import re
import struct
import subprocess
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


def inspect(path):
    """Runs `shoal inspect PATH`. Returns (exit code, stderr, peak memory of the process, bytes)."""
    command = [os.environ["SHOAL_PROGRAM"], "inspect", str(path)]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        return process.returncode, errors.read(), usage.ru_maxrss * 1024


class Memory(unittest.TestCase):
    def test_hostile_weights_stay_below_the_promised_memory(self):
        promised = re.search(r"at most (\d+) MB of memory plus (\w+) times", SECURITY.read_text())
        self.assertEqual(promised[2], "four")
        self.base = int(promised[1]) * 10**6
        # These pickles contain little except containers, numbers, references to a memo or texts.
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
        for name, content in pickles.items():
            self.check_memory(zipped, name, content)
        # Headers just below the limit of 10 MiB are parsed. Larger ones are refused before parsing.
        for name, unit in (("lists", b"[],"), ("objects", b"{},"), ("numbers", b"1,")):
            largest = 10 * MIB // len(unit) - 8
            self.check_memory(header, name, b'{"a":[' + unit * largest + b"0]}")
            errors = self.check_memory(header, name, b'{"a":[' + unit * (largest * 11 // 10) + b"0]}")
            self.assertIn("header is larger than", errors)
        self.check_memory(header, "nested", b'{"a":' + b"[" * (4 * MIB) + b"]" * (4 * MIB) + b"}")
        names = b",".join(b'"%x":0' % i for i in range(MIB // 2))
        self.check_memory(header, "names", b"{" + names + b"}")

    def check_memory(self, make, name, content):
        """Checks the peak memory for a file with this content. Returns stderr."""
        with self.subTest(make.__name__, name=name), tempfile.TemporaryDirectory() as folder:
            path = make(Path(folder), content)
            code, errors, peak = inspect(path)
            self.assertIn(code, (0, 1, 2), errors)
            if code != 0:
                self.assertIn("weights.", errors)
            self.assertLess(peak, self.base + 4 * path.stat().st_size)
            return errors


if __name__ == "__main__":
    unittest.main()
