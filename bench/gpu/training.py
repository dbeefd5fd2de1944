"""Trains small models on synthetic images on a GPU and compares the results with training on the
CPU. With --images, also compares the predictions of the first model for a folder of images.

    training.py PROGRAM [--images DIR] [--json FILE] [--deadline SECONDS] [--device cpu]

Always makes all runs, because they are compared with each other: --only and --retry have no effect.
Exit status 1 if a run failed, was skipped, or has an unexpected result. With --device cpu, all runs
use the CPU, to test this program.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import common

LIKELY_SECONDS = 30
# Allowed relative difference from the validation loss on the CPU. The GPU adds and rounds in
# another order; a larger learning rate would amplify that.
NEAR, NEAR_IN_BF16 = 0.05, 0.25
NEAR_PREDICTION = 0.01  # absolute difference of a probability
PREDICTED = "predict resnet18"
IMAGES = ["--train", "synthetic:384:10:96x96", "--val", "synthetic:96:10:96x96", "--size", "64",
            "--epochs", "2", "--seed", "5", "--global-batch-size", "32", "--mixup", "0.2",
            "--dropout", "0.1"]
# Options of each run, and the expected result: "near NAME" (similar validation loss) or
# "equal NAME" (same model, bit for bit).
RESNET = ["--model", "resnet18", "--lr", "0.002"]
EXACT = [*RESNET, "--deterministic"]
EFFICIENTNET = ["--model", "efficientnet_b0", "--lr", "0.001"]
RUNS = {
    "train resnet18, CPU": ([*RESNET, "--device", "cpu"], None),
    "train resnet18": (RESNET, "near train resnet18, CPU"),
    "train resnet18, deterministic": (EXACT, "near train resnet18, CPU"),
    "train resnet18, again": (EXACT, "equal train resnet18, deterministic"),
    "train resnet18, resumed": ([*EXACT, "RESUMED"], "equal train resnet18, deterministic"),
    "train resnet18, bf16": ([*RESNET, "--amp", "bf16"], "near train resnet18, CPU"),
    "train resnet18, two processes share the GPU": (
        [*RESNET, "--nproc", "2", "--backend", "gloo", "--sync-bn"], "near train resnet18, CPU"),
    "train efficientnet_b0, CPU": ([*EFFICIENTNET, "--device", "cpu"], None),
    "train efficientnet_b0": (EFFICIENTNET, "near train efficientnet_b0, CPU"),
}


def call(command, options):
    with tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err, process_group=0)
        try:
            status = child.wait(options.timeout)
        finally:
            common.kill_group(child)
        err.seek(0)
        if status != 0:
            end = " / ".join(err.read().splitlines()[-3:])[-400:]
            raise RuntimeError(f"status {status}: {end}")


def run(program, words, folder, options):
    """Trains, exports the model to folder/model, and returns the history row of the last
    validation."""
    call([program, "train", *IMAGES, "--device", options.device, "--output", folder, "--export-dir",
          f"{folder}/model", *words], options)
    history = pathlib.Path(folder, "history.jsonl").read_text()
    lines = [json.loads(line) for line in history.splitlines()]
    return [line for line in lines if line["event"] == "valid"][-1]


def predict(program, kept, options):
    """Compares the probabilities of all classes on the CPU and on the device."""
    found = []
    for device in ("cpu", options.device):
        file = kept / f"{len(found)}.jsonl"
        call([program, "predict", kept / "train_resnet18_CPU/model", options.images, "--device",
              device, "--topk", "10", "--output", file], options)
        rows = map(json.loads, file.read_text().splitlines())
        found.append({(row["path"], each["class"]): each["probability"]
                      for row in rows for each in row["top10"]})
    most = max(abs(value - found[1][key]) for key, value in found[0].items())
    return {"ok": most <= NEAR_PREDICTION, "compared": f"probabilities differ by {most:.1e}"}


def measure(program, name, kept, options):
    if name == PREDICTED:
        return predict(program, kept, options)
    words, comparison = RUNS[name]
    folder = str(kept / name.replace(" ", "_").replace(",", ""))
    shutil.rmtree(folder, ignore_errors=True)
    if "RESUMED" in words:
        words = words[:-1]
        run(program, [*words, "--max-steps", "7", "--checkpoint-steps", "7"], folder, options)
        words = [*words, "--resume"]
    result = run(program, words, folder, options)
    row = {"ok": True, "loss": result["loss"], "top1": result["acc1"]}
    how, _, other = (comparison or "").partition(" ")
    if not how:
        return row
    theirs = kept / other.replace(" ", "_").replace(",", "")
    if how == "equal":
        row["ok"] = pathlib.Path(folder, "model/model.safetensors").read_bytes() == (
            theirs / "model/model.safetensors").read_bytes()
        row["compared"] = f"{'equal to' if row['ok'] else 'not equal to'} {other}"
        return row
    expected = json.loads([line for line in (theirs / "history.jsonl").read_text().splitlines()
                           if '"valid"' in line][-1])["loss"]
    near = NEAR_IN_BF16 if "bf16" in words else NEAR
    row["ok"] = abs(row["loss"] - expected) <= near * expected + 0.02
    row["compared"] = f"{other}: {expected:.4f}"
    return row


def main():
    parser = common.child_parser(__doc__, timeout=120)
    parser.add_argument("program")
    parser.add_argument("--images", metavar="DIR")
    options = parser.parse_args()
    limit = options.timeout
    results = common.Results("shoal train on a GPU, synthetic images", options,
                             ("ok", "loss", "compared"))
    with tempfile.TemporaryDirectory() as kept:
        for name in [*RUNS, *([PREDICTED] if options.images else [])]:
            if results.seconds_left() < LIKELY_SECONDS:
                results.leave_out(name, LIKELY_SECONDS)
                continue
            options.timeout = min(limit, results.seconds_left() / 2)  # a resumed run is two runs
            begin = time.perf_counter()
            try:
                row = measure(options.program, name, pathlib.Path(kept), options)
            except Exception as error:
                row = {"ok": False, "error": common.described(error)}
            results.add({"name": name, **row, "seconds": round(time.perf_counter() - begin, 1)})
    failed = results.end()
    sys.exit(failed or results.left_out > 0)


main()
