#!/usr/bin/env python3
"""Compares the ONNX models of `shoal export` with `shoal predict`, for every network.

    tests/golden/scripts/compare_onnx.py [--program FILE] [--size N] [--images FOLDER] [NETWORK...]

Needs Python's onnx, onnxruntime, safetensors, Pillow (13 or later) and NumPy. Gives each network
random weights that keep the scale of activations from layer to layer, exports it, and prints the
largest differences between logits over all images:

    graph          onnxruntime on crops that Pillow made
    preprocessing  onnxruntime on the decoded images, with --with-preprocessing
    batch          onnxruntime on all crops at once, with --dynamic-batch

Exits with 1 if one of them is above 1e-4. The largest logit is printed for comparison.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import onnx
import onnxruntime
from PIL import Image
from safetensors.numpy import load_file, save_file

TOP = Path(__file__).resolve().parents[3]
LIMIT = 1e-4
CLASSES = [f"class{number}" for number in range(10)]


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def random_weights(shoal, network, folder):
    """Makes the weights. Returns the options that select them."""
    for part in ("train", "val"):
        for name in CLASSES:
            (folder / "data" / part / name).mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / "tests/golden/images/baseline_420.jpg", folder / "data" / part / name)
    # fmt: off
    run(shoal, "train", "--data", folder / "data", "--output", folder / network, "--model", network,
        "--size", 32, "--batch-size", 4, "--max-steps", 1, "--epochs", 1, "--lr", 0.01)
    # fmt: on
    file = folder / network / "random.safetensors"
    run(shoal, "export", folder / network, "-o", file)
    random = numpy.random.default_rng(1)
    tensors = load_file(file)
    for name, values in tensors.items():
        if name.endswith("running_var"):
            tensors[name] = random.uniform(0.5, 1.5, values.shape)
        elif values.ndim > 1:
            tensors[name] = random.normal(0, numpy.prod(values.shape[1:]) ** -0.5, values.shape)
        elif values.ndim == 1:  # batch norm and biases; small at the end of ResNet's deep branches
            mean = 0.2 if name.endswith("bn3.weight") else float(name.endswith(".weight"))
            tensors[name] = random.normal(mean, 0.2, values.shape)
    save_file({name: numpy.array(values, numpy.float32) for name, values in tensors.items()}, file)
    names = folder / "names.txt"
    names.write_text("\n".join(CLASSES))
    return ["--weights", file, "--model", network, "--classes", names]


def predict(shoal, weights, size, images):
    """Returns the logits, one row per image."""
    # fmt: off
    lines = run(shoal, "predict", *weights, "--json", "--logits", "--topk", len(CLASSES),
                "--val-size", size, *images)
    # fmt: on
    rows = []
    for line in lines.splitlines():
        logits = {guess["class"]: guess["logit"] for guess in json.loads(line)[f"top{len(CLASSES)}"]}
        rows.append([logits[name] for name in CLASSES])
    return numpy.array(rows)


def export(shoal, weights, size, file, *more):
    run(shoal, "export", *weights, "--val-size", size, "-o", file, *more)
    onnx.checker.check_model(onnx.load(file), full_check=True)
    return onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])


def crop(image, meta):
    """Resizes, crops and normalizes as the model's metadata says."""
    resize, side = int(meta["resize"]), int(meta["crop"])
    short = min(image.size)
    width, height = (resize * length // short for length in image.size)
    filters = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}
    resized = image.resize((width, height), filters[meta["interpolation"]])
    left, top = round((width - side) / 2), round((height - side) / 2)
    pixels = numpy.asarray(resized.crop((left, top, left + side, top + side)), numpy.float32) / 255
    mean, std = (numpy.array(json.loads(meta[name]), numpy.float32) for name in ("mean", "std"))
    return ((pixels - mean) / std).transpose(2, 0, 1)[None]


def compare(shoal, network, size, files, folder):
    weights, file = random_weights(shoal, network, folder), folder / network / "model.onnx"
    info = next(row for row in json.loads(run(shoal, "models", "--json")) if row["name"] == network)
    size = size or info["eval_size"]
    expected = predict(shoal, weights, size, files)
    images = [Image.open(file).convert("RGB") for file in files]

    session = export(shoal, weights, size, file)
    meta = session.get_modelmeta().custom_metadata_map
    assert json.loads(meta["class_names"]) == CLASSES and meta["model"] == network
    crops = [crop(image, meta) for image in images]
    graph = numpy.concatenate([session.run(None, {"images": x})[0] for x in crops])
    batch = export(shoal, weights, size, file, "--dynamic-batch").run(
        None, {"images": numpy.concatenate(crops)}
    )[0]
    session = export(shoal, weights, size, file, "--with-preprocessing")
    whole = numpy.concatenate(
        [session.run(None, {"images": numpy.asarray(image)[None]})[0] for image in images]
    )
    worst = [float(abs(found - expected).max()) for found in (graph, batch, whole)]
    print(
        f"{network:20} {size:4} px  largest logit {abs(expected).max():9.4f}  "
        f"graph {worst[0]:.1e}  batch {worst[1]:.1e}  preprocessing {worst[2]:.1e}",
        flush=True,
    )
    return all(difference <= LIMIT for difference in worst)  # false for NaN


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--program", default=TOP / "build/release/shoal")
    parser.add_argument("--size", type=int, help="crop size; default: the network's own")
    parser.add_argument("--images", type=Path, default=TOP / "tests/golden/images")
    parser.add_argument("networks", nargs="*")
    arguments = parser.parse_args()
    shoal = arguments.program
    files = sorted(arguments.images.rglob("*.[jJ][pP]*[gG]"))
    files = [file for file in files if Image.open(file).mode in ("RGB", "L")]
    known = [row["name"] for row in json.loads(run(shoal, "models", "--json"))]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for network in arguments.networks or known:
            good &= compare(shoal, network, arguments.size, files, Path(folder))
            shutil.rmtree(Path(folder) / network)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
