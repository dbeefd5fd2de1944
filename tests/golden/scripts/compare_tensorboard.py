"""Reads the event file of a run with the package tensorboard, and compares it with the run's history.

    python3 compare_tensorboard.py RUN     # the folder of --output; needs the package tensorboard

Checks that every scalar has exactly the points of history.jsonl, and that images, histograms, texts
and hyperparameters can be read. Prints what it found.
"""

import io
import json
import pathlib
import sys

import numpy
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata

COUNTERS = {"epoch", "step_in_epoch", "step", "correct1", "correct5", "images"}


def numbers(prefix, values, without=()):
    return {prefix + key: value for key, value in values.items()
            if isinstance(value, (int, float)) and key not in without}


def points_of(history):
    """Returns {tag: [(step, value)]} for the lines of a history."""
    points = {}
    for line in history.read_text().splitlines():
        row = json.loads(line)
        timing = row.get("timing", {})
        values = numbers("utilization/", timing.get("utilization", {}))
        if row["event"] != "test":  # an evaluation batch
            values |= numbers(row["event"] + "/", row, COUNTERS)
            values |= numbers(row["event"] + "_timing/", timing)
        for tag, value in values.items():
            points.setdefault(tag, []).append((row["step"], float(numpy.float32(value))))
    return points


def main(run):
    events = EventAccumulator(str(run / "tensorboard"), size_guidance={
        "scalars": 0, "images": 0, "histograms": 0, "tensors": 0})
    events.Reload()
    tags = events.Tags()
    expected = points_of(run / "history.jsonl")
    found = {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in tags["scalars"]}
    for tag in sorted(expected):
        assert found.get(tag) == expected[tag], (tag, found.get(tag), expected[tag])
    print(f"{len(expected)} scalars with {sum(map(len, expected.values()))} points equal the history; "
          f"more scalars: {sorted(set(found) - set(expected))}")
    for tag in tags["images"]:
        for event in events.Images(tag):
            image = Image.open(io.BytesIO(event.encoded_image_string))
            assert image.size == (event.width, event.height)
            print(f"image {tag}, step {event.step}: {image.format}, {image.size}")
    steps = {tag: [e.step for e in events.Histograms(tag)] for tag in tags["histograms"]}
    print(f"{len(steps)} histograms, steps {sorted({s for of in steps.values() for s in of})}")
    for tag in tags["tensors"]:
        data = events.SummaryMetadata(tag).plugin_data
        if data.plugin_name == "text":
            print(f"text {tag}:", events.Tensors(tag)[0].tensor_proto.string_val[0].decode()[:200])
        elif tag == metadata.SESSION_START_INFO_TAG:
            start = metadata.parse_session_start_info_plugin_data(data.content)
            print(f"{len(start.hparams)} hyperparameters, lr {start.hparams['lr'].number_value}")
        elif tag == metadata.SESSION_END_INFO_TAG:
            print("end:", metadata.parse_session_end_info_plugin_data(data.content).status)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
