"""Writes tests/golden/weights: small files of torch.save, and pickles of plain values.

    python3 make_weights.py          # needs torch
"""

import argparse
import collections
import pathlib
import pickle

import torch

OUT = pathlib.Path(__file__).resolve().parent / "weights"


def tensors():
    """Of several types, strides and places in one storage; each holds 0, 1, 2, … in some order."""
    base = torch.arange(24, dtype=torch.float32)
    return collections.OrderedDict(
        matrix=base.reshape(4, 6).clone(),
        transposed=base.reshape(4, 6).t(),
        part=base[6:12],
        every_second=base[::2],
        halves=torch.arange(5, dtype=torch.float16),
        bfloat=torch.arange(5, dtype=torch.bfloat16),
        doubles=torch.arange(3, dtype=torch.float64),
        count=torch.tensor(7),
        empty=torch.zeros(0, 3),
        parameter=torch.nn.Parameter(torch.arange(4, dtype=torch.float32)),
    )


def main():
    OUT.mkdir(exist_ok=True)
    module = torch.nn.Module()
    for name, value in tensors().items():
        module.register_buffer(name, value.detach())
    torch.save(module.state_dict(), OUT / "state_dict.pth")  # an OrderedDict with _metadata
    wrapped = {f"module._orig_mod.{name}": value for name, value in tensors().items()}
    torch.save({"epoch": 3, "state_dict": wrapped, "best_acc1": torch.tensor(55.5)}, OUT / "example.pth.tar")
    torch.save({"model": tensors(), "args": argparse.Namespace(lr=0.1)}, OUT / "reference.pth")
    torch.save({"epoch": 3}, OUT / "nothing.pth")
    torch.save(tensors(), OUT / "legacy.pth", _use_new_zipfile_serialization=False)
    values = {
        "numbers": [0, 255, 256, 65536, -1, 1 << 40, -(1 << 40), 1 << 80, True, False],
        "other": [None, 1.5, b"bytes"],
        "tuples": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)),
        "ordered": collections.OrderedDict(one=1),
        "object": argparse.Namespace(lr=0.1),
        "long text": "x" * 300,
    }
    values["numbers again"] = values["numbers"]
    for protocol in (2, 3, 4, 5):
        (OUT / f"values{protocol}.pkl").write_bytes(pickle.dumps(values, protocol))


if __name__ == "__main__":
    main()
