"""Opens checkpoints in Python, as torch.load(file, weights_only=True) does.

Environment: SHOAL_PROGRAM is the built program; SHOAL_READER is `torch` (the interpreter's own), or
`rules`: the standard library, limited to what torch.load(weights_only=True) accepts.
"""

import ctypes
import json
import math
import os
import pickle
import pickletools
import re
import shutil
import struct
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
MODEL = "efficientnet_b0"

# The opcodes that torch/_weights_only_unpickler.py knows, by their names in pickletools.
OPCODES = set(
    "PROTO STOP GLOBAL NEWOBJ REDUCE BUILD APPEND APPENDS SETITEM SETITEMS MARK TUPLE TUPLE1 TUPLE2 "
    "TUPLE3 NONE NEWFALSE NEWTRUE EMPTY_TUPLE EMPTY_LIST EMPTY_DICT EMPTY_SET BINPERSID BININT "
    "BININT1 BININT2 BINFLOAT BINUNICODE SHORT_BINSTRING LONG1 BINGET LONG_BINGET BINPUT "
    "LONG_BINPUT".split()
)
TYPES = {"FloatStorage": ("F32", 4), "LongStorage": ("I64", 8)}


class Rules(pickle.Unpickler):
    def __init__(self, archive):
        self.archive = archive
        self.folder = archive.namelist()[0].split("/")[0]
        content = archive.read(f"{self.folder}/data.pkl")
        for opcode, value, _ in pickletools.genops(content):
            if opcode.name not in OPCODES or (opcode.name == "PROTO" and value != 2):
                raise pickle.UnpicklingError(f"torch.load does not know {opcode.name} {value}")
        super().__init__(archive.open(f"{self.folder}/data.pkl"), encoding="utf-8")

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self.rebuild
        if module == "torch" and name in TYPES:
            return TYPES[name]
        raise pickle.UnpicklingError(f"torch.load does not allow {module}.{name}")

    def persistent_load(self, saved):
        what, kind, key, device, elements = saved
        content = self.archive.read(f"{self.folder}/data/{key}")
        if what != "storage" or device != "cpu" or len(content) != elements * kind[1]:
            raise pickle.UnpicklingError(f"storage {key} has {len(content)} bytes")
        return kind, content

    @staticmethod
    def rebuild(storage, offset, sizes, strides, *_):
        (name, width), content = storage
        steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
        if list(strides) != steps:
            raise pickle.UnpicklingError(f"strides {strides} of a tensor with sizes {sizes}")
        end = offset + math.prod(sizes)
        return name, list(sizes), content[offset * width : end * width]


def load_by_rules(file):
    with zipfile.ZipFile(file) as archive:
        return Rules(archive).load()


def load_by_torch(file):
    import torch

    names = {torch.float32: "F32", torch.int64: "I64"}

    def plain(value):
        if isinstance(value, torch.Tensor):
            content = ctypes.string_at(value.contiguous().data_ptr(), value.nbytes)
            return names[value.dtype], list(value.shape), content
        if isinstance(value, dict):
            return {key: plain(entry) for key, entry in value.items()}
        return value

    return plain(torch.load(file, weights_only=True))


LOAD = {"rules": load_by_rules, "torch": load_by_torch}[os.environ["SHOAL_READER"]]


def read_safetensors(file):
    content = file.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    found, data = {}, content[8 + size :]
    for name, entry in json.loads(content[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            found[name] = entry["dtype"], entry["shape"], data[begin:end]
    return found


def torchvision_names():
    lines = (GOLDEN / "models.txt").read_text()
    return set(re.findall(rf"^state {MODEL} (\S+)", lines, re.MULTILINE))


class CheckpointInPython(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for part in ("train", "val"):
            for name in "ab":
                (self.folder / "data" / part / name).mkdir(parents=True)
                for index in range(4):
                    shutil.copy(
                        GOLDEN / "images/baseline_420.jpg",
                        self.folder / "data" / part / name / f"{index}.jpg",
                    )

    def train(self, name, *more):
        """Returns the last checkpoint's entries and the exported tensors."""
        run = self.folder / name
        # fmt: off
        done = subprocess.run(
            [
                os.environ["SHOAL_PROGRAM"], "train", "--data", self.folder / "data",
                "--output", run, "--export-dir", run / "model", "--export", "last",
                "--model", MODEL, "--size", "32", "--batch-size", "4", "--epochs", "1",
                "--lr", "0.01", *more,
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        # fmt: on
        self.assertEqual(done.returncode, 0, done.stderr)
        last = json.loads((run / "checkpoints/manifest.json").read_text())["last"]
        return LOAD(run / "checkpoints" / last), read_safetensors(run / "model/model.safetensors")

    def test_model_is_a_state_dict_with_torchvisions_names(self):
        checkpoint, exported = self.train("plain")
        self.assertEqual(set(checkpoint["model"]), torchvision_names())
        self.assertTrue(checkpoint["model"] == exported, "the tensors differ")
        self.assertNotIn("ema", checkpoint)
        self.assertEqual(checkpoint["classes"], ["a", "b"])

    def test_the_averaged_weights_are_under_ema(self):
        checkpoint, exported = self.train("averaged", "--ema", "0.5")
        self.assertEqual(set(checkpoint["model"]), torchvision_names())
        self.assertTrue(checkpoint["ema"] == exported, "the tensors differ")
        self.assertFalse(checkpoint["model"] == checkpoint["ema"])


if __name__ == "__main__":
    unittest.main()
