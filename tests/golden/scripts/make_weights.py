"""Writes tests/golden/weights: small files of torch.save and torch.jit.save, and pickles of plain
values.

    python3 make_weights.py          # needs torch
"""

import argparse
import collections
import pathlib
import pickle

import torch

OUT = pathlib.Path(__file__).resolve().parents[1] / "weights"


def tensors():
    """Returns tensors with several dtypes, strides and storage offsets.

    Each contains 0, 1, 2, … in some order.
    """
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


def weights(value):
    """Returns a state dict whose tensors are filled with `value`.

    It has no num_batches_tracked, as in old files.
    """
    shapes = {"conv1.weight": (2, 3, 1, 1), "bn1.weight": 2, "bn1.bias": 2, "bn1.running_mean": 2,
              "bn1.running_var": 2, "fc.weight": (3, 2), "fc.bias": 3}
    return collections.OrderedDict((name, torch.full((shape,) if isinstance(shape, int) else shape, float(value)))
                                   for name, shape in shapes.items())


def write_entries():
    """Writes files with several state dicts, or with a model where a state dict is expected."""
    averaged = {f"module.{name}": value for name, value in weights(2).items()}
    averaged["n_averaged"] = torch.tensor(9)
    torch.save(weights(1), OUT / "old.pth")
    torch.save({"model": weights(1), "model_ema": averaged, "optimizer": {"state": {0: {"step": 1}}}, "epoch": 3},
               OUT / "reference_ema.pth")
    torch.save({"epoch": 3, "arch": "net", "state_dict": weights(1), "state_dict_ema": weights(2)},
               OUT / "timm_ema.pth.tar")
    torch.save({"model": weights(1), "ema": {"module": weights(2), "updates": 4}}, OUT / "nested_ema.pth")
    torch.save({"generator": weights(1), "critic": weights(2)}, OUT / "unknown.pth")
    torch.save({"net": weights(1), "epoch": 3}, OUT / "single.pth")
    model = torch.nn.Linear(2, 1)
    torch.save(model, OUT / "whole.pth")
    torch.save({"epoch": 3, "model": model, "ema": None}, OUT / "whole_inside.pth")
    torch.jit.save(torch.jit.script(model), OUT / "script.pt")


def main():
    OUT.mkdir(exist_ok=True)
    write_entries()
    module = torch.nn.Module()
    for name, value in tensors().items():
        module.register_buffer(name, value.detach())
    torch.save(module.state_dict(), OUT / "state_dict.pth")  # an OrderedDict with _metadata
    wrapped = {f"module._orig_mod.{name}": value for name, value in tensors().items()}
    torch.save({"epoch": 3, "state_dict": wrapped, "best_acc1": torch.tensor(55.5)}, OUT / "example.pth.tar")
    torch.save({"model": tensors(), "args": argparse.Namespace(lr=0.1)}, OUT / "reference.pth")
    torch.save({"epoch": 3}, OUT / "nothing.pth")
    torch.save(tensors(), OUT / "legacy.pth", _use_new_zipfile_serialization=False)
    for protocol in (3, 4, 5):
        torch.save(tensors(), OUT / f"legacy{protocol}.pth", _use_new_zipfile_serialization=False,
                   pickle_protocol=protocol)
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
