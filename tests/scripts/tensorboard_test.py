"""Reads the event files of real runs with the package tensorboard.

Environment: SHOAL_PROGRAM is the built program.
"""

import io
import json
import os
import re
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from collections import ChainMap
from pathlib import Path

import numpy
from google.protobuf.descriptor import FieldDescriptor
from PIL import Image
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.compat.proto import event_pb2
from tensorboard.context import RequestContext
from tensorboard.plugins.base_plugin import TBContext
from tensorboard.plugins.hparams import (
    api_pb2,
    backend_context,
    get_experiment,
    list_session_groups,
    plugin_data_pb2,
)

SCHEMA = Path(__file__).parents[2] / "train/report/tensorboard/tensorboard.proto"
CHECKPOINT = re.compile(r"epoch-\d+-step-(\d+)\.json")
CLASSES = ["a", "b"]
SIDE, GAP = 32, 2  # pixels of an image; between two images of a grid
TRAIN, VAL = 640, 20  # images
BATCH = 32
EPOCH = TRAIN // BATCH  # steps
HEAD_SCALE = 10
COUNTERS = {"epoch", "step_in_epoch", "step", "correct1", "correct5", "images"}
TOLERANCE = 10  # of colors, because a grid is a JPEG
LIMIT = 600  # seconds after which a run counts as hanging, even on a loaded machine

# An image is mirrored as a whole, and not changed otherwise.
MIRROR = ["--hflip", "1", "--crop-scale-min", "1", "--crop-ratio-min", "1", "--crop-ratio-max", "1"]


def color(number):
    """Returns one of 64 colors that differ by at least 85 in a channel."""
    return tuple(85 * (number // power % 4) for power in (1, 4, 16))


def halves(split, number):
    """Returns the colors of the left and the right half of an image.

    No image is the mirror image of another one.
    """
    step = 3 * (number // 64 + 1) if split == "train" else 31
    return color(number % 64), color((number + step) % 64)


def make_data(folder):
    for split, count in [("train", TRAIN), ("val", VAL)]:
        for number in range(count):
            pixels = numpy.empty((SIDE, SIDE, 3), numpy.uint8)
            pixels[:, : SIDE // 2], pixels[:, SIDE // 2 :] = halves(split, number)
            place = folder / split / CLASSES[number % len(CLASSES)]
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(place / f"{number}.png")


def rows_of(run):
    """Returns the complete rows of a run's history."""
    file = run / "history.jsonl"
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def numbers(prefix, values, without=()):
    return {
        prefix + key: value
        for key, value in values.items()
        if isinstance(value, (int, float)) and key not in without
    }


def best_point(run):
    best = json.loads((run / "summary.json").read_text())["best"]
    return {"best/acc1": [(best["step"], float(numpy.float32(best["acc1"])))]}


def points_of(rows):
    """Returns {tag: [(step, value)]} for the rows of a history."""
    points = {}
    for row in rows:
        timing = row.get("timing", {})
        values = numbers("utilization/", timing.get("utilization", {}))
        if row["event"] != "test":  # an evaluation batch
            values |= numbers(row["event"] + "/", row, COUNTERS)
            values |= numbers(row["event"] + "_timing/", timing)
        if "lr" in row:
            values["learning_rate/features.0.0"] = row["lr"]
            values["learning_rate/classifier.0"] = HEAD_SCALE * row["lr"]
        for tag, value in values.items():
            points.setdefault(tag, []).append((row["step"], float(numpy.float32(value))))
    return points


def saved_step(run):
    """Returns the step of the newest checkpoint; 0 if there is none."""
    names = os.listdir(run / "checkpoints") if (run / "checkpoints").exists() else []
    return max((int(found[1]) for found in map(CHECKPOINT.fullmatch, names) if found), default=0)


def rows_after(run, step):
    return [row for row in rows_of(run) if row["event"] == "train" and row["step"] > step]


def is_used(row):
    return "utilization" in row.get("timing", {})


def safetensors(file):
    """Returns {name: values} of a file of float32 tensors."""
    data = file.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = entry["data_offsets"]
            tensors[name] = numpy.frombuffer(data[8 + size + begin : 8 + size + end], "<f4")
    return tensors


def seen(colors, channels):
    """Returns colors as a network with this number of channels sees them."""
    colors = numpy.array(colors, float)
    luma = [0.299, 0.587, 0.114]
    return colors if channels == 3 else numpy.repeat((colors @ luma)[:, None], 3, 1)


def images_of(pixels):
    """Returns the mean colors of the left and the right half of each image of a square grid."""
    count = (pixels.shape[0] + GAP) // (SIDE + GAP)
    assert pixels.shape == (count * (SIDE + GAP) - GAP,) * 2 + (3,)
    found = []
    for place in range(count * count):
        y, x = (at * (SIDE + GAP) for at in divmod(place, count))
        image, middle, edge = pixels[y : y + SIDE, x : x + SIDE], SIDE // 2, 4
        parts = image[edge:-edge, edge : middle - edge], image[edge:-edge, middle + edge : -edge]
        found.append(numpy.array([part.mean((0, 1)) for part in parts]))
    return found


def distance(found, expected):
    return numpy.abs(found - expected).max()


def schema():
    """Returns the messages and enums of the .proto file by name.

    A message or enum is a dict of its members by name. A field is the tuple (type, number).
    """
    stack = [{}]
    for block, name, kind, field, number in re.findall(
        r"(\bmessage|\benum|\boneof|}) ?(\w*)|([\w<>, ]+ )?(\w+) = (\d+);",
        re.sub("//.*", "", SCHEMA.read_text()),
    ):
        if block == "}":
            stack.pop()
        elif block:
            stack.append(stack[-1] if block == "oneof" else stack[-1].setdefault(name, {}))
        else:
            stack[-1][field] = kind.strip(), int(number)
    return stack[0]


class EventFile:
    """What TensorBoard finds in a run's folder, without any limit on the number of points."""

    def __init__(self, run, purge):
        kinds = ["scalars", "images", "histograms", "tensors"]
        self.events = EventAccumulator(
            str(run / "tensorboard"),
            size_guidance=dict.fromkeys(kinds, 0),
            purge_orphaned_data=purge,
        )
        self.events.Reload()
        self.tags = self.events.Tags()

    def scalars(self):
        return {
            tag: [(event.step, event.value) for event in self.events.Scalars(tag)]
            for tag in self.tags["scalars"]
        }

    def images(self, tag):
        """Returns {step: pixels}; of the last event if a step has several."""
        found = {}
        for event in self.events.Images(tag):
            image = Image.open(io.BytesIO(event.encoded_image_string))
            assert image.size == (event.width, event.height)
            found[event.step] = numpy.asarray(image.convert("RGB"))
        return found

    def steps(self, kind, tag):
        return [event.step for event in getattr(self.events, kind)(tag)]

    def texts(self, tag):
        """Returns [(step, text)]."""
        assert self.events.SummaryMetadata(tag).plugin_data.plugin_name == "text"
        return [
            (event.step, event.tensor_proto.string_val[0].decode())
            for event in self.events.Tensors(tag)
        ]


def hparams_row(run):
    """Returns the hyperparameters, the metrics and the status of a run in the tab HParams."""
    runs = EventMultiplexer().AddRun(str(run / "tensorboard"), run.name)
    runs.Reload()
    data = backend_context.Context(TBContext(data_provider=MultiplexerDataProvider(runs, str(run))))
    ask = api_pb2.GetExperimentRequest(include_metrics=True)
    experiment = get_experiment.Handler(RequestContext(), data, "", ask).run()
    ask = api_pb2.ListSessionGroupsRequest(
        slice_size=10, allowed_statuses=api_pb2.Status.values(),
        col_params=[{"metric": one.name} for one in experiment.metric_infos],
    )  # fmt: skip
    (row,) = list_session_groups.Handler(RequestContext(), data, "", ask).run().session_groups
    hparams = {name: getattr(one, one.WhichOneof("kind")) for name, one in row.hparams.items()}
    metrics = {one.name.tag: (one.training_step, one.value) for one in row.metric_values}
    return hparams, metrics, row.sessions[0].status


class TensorBoard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.root = Path(temporary.name)
        make_data(cls.root / "data")

    def start(self, name, *options):
        process = subprocess.Popen(
            [os.environ["SHOAL_PROGRAM"], "train", "--data", "data", "--output", name,
             "--model", "mobilenet_v3_small", "--size", str(SIDE), "--batch-size", str(BATCH),
             "--lr", "0.01", "--head-lr-scale", str(HEAD_SCALE), "--histograms", "1e",
             "--threads", "1", "--workers", "1", *MIRROR, *options],
            cwd=self.root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip
        self.addCleanup(process.stderr.close)
        return process

    def finish(self, process):
        err = process.communicate(timeout=LIMIT)[1]
        self.assertEqual(process.returncode, 0, err)

    def kill_when(self, process, ready):
        """Kills the processes of a run once `ready` is true."""
        end = time.monotonic() + LIMIT
        try:
            while not ready():
                self.assertIsNone(process.poll(), "the run ended too early")
                self.assertLess(time.monotonic(), end, "the run lacks a row or a checkpoint")
                time.sleep(0.02)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def check_scalars(self, run, expected, purges=(False, True)):
        # TensorBoard hides points that a restart repeats. They must not exist.
        for purge in purges:
            found = EventFile(run, purge).scalars()
            self.assertEqual(set(found), set(expected))
            for tag, points in expected.items():
                self.assertEqual(found[tag], points, tag)

    def check_training_images(self, pixels, channels=3):
        """Checks that a grid shows 16 training images, mirrored and each at most once."""
        known = [seen(halves("train", number)[::-1], channels) for number in range(TRAIN)]
        shown = [
            [number for number in range(TRAIN) if distance(found, known[number]) < TOLERANCE]
            for found in images_of(pixels)
        ]
        self.assertEqual(len(shown), 16)
        self.assertTrue(all(shown), shown)
        if channels == 3:
            self.assertEqual(len({number for (number,) in shown}), 16)

    def check_worst_images(self, run, file, tag, channels=3):
        """Checks the images of the best evaluations, and those of the last one in detail."""
        event, best, steps = tag.split("/")[0], -1, []
        for row in rows_of(run):
            if row["event"] == event and row["acc1"] > best:
                best = row["acc1"]
                steps.append(row["step"])
        self.assertEqual(file.steps("Images", tag), steps)
        captions = file.texts(tag + "_captions")
        self.assertEqual([step for step, _ in captions], steps)
        evaluation = json.loads((run / "evaluation.json").read_text())
        self.assertEqual(evaluation["step"], steps[-1])
        worst = evaluation["worst"][:16]
        names = evaluation["classes"]
        rows = [
            f"| {i} | {names[one['label']]}, predicted {names[one['predicted']]} "
            f"{100 * one['probability']:.1f} %, loss {one['loss']:.4g}, {one['path']} |"
            for i, one in enumerate(worst, 1)
        ]
        self.assertEqual(captions[-1][1].splitlines()[2:], rows)
        shown = images_of(file.images(tag)[steps[-1]])
        self.assertEqual(len(shown), 16)
        for one, found in zip(worst, shown):
            expected = seen(halves("val", int(Path(one["path"]).stem)), channels)
            self.assertLess(distance(found, expected), TOLERANCE, one["path"])

    def check_settings(self, run, file):
        summary = json.loads((run / "summary.json").read_text())
        ((_, text),) = file.texts("settings")
        for part in ["mobilenet_v3_small", "--head-lr-scale", summary["version"]]:
            self.assertIn(part, text)
        hparams, metrics, status = hparams_row(run)
        self.assertEqual(hparams, summary["settings"])
        self.assertEqual(metrics, {tag: points[-1] for tag, points in file.scalars().items()})
        self.assertEqual(status, api_pb2.STATUS_SUCCESS)

    def check_histograms(self, run, file, steps):
        tags = file.tags["histograms"]
        weights = [tag for tag in tags if tag.startswith("weights/")]
        gradients = ["gradients/" + tag.removeprefix("weights/") for tag in weights]
        self.assertEqual(sorted(tags), sorted(weights + gradients))
        parameters = json.loads((run / "summary.json").read_text())["model"]["parameters"]
        for kind in (weights, gradients):
            self.assertTrue(all(file.steps("Histograms", tag) == steps for tag in kind))
            last = [file.events.Histograms(tag)[-1].histogram_value for tag in kind]
            self.assertEqual(sum(one.num for one in last), parameters)
            self.assertTrue(all(sum(one.bucket) == one.num for one in last))

    def check_message(self, block, outer, theirs):
        """Compares a message with TensorBoard's. Returns the messages and enums that it uses."""
        names, used = outer.new_child(block), set()
        for name, content in block.items():
            if isinstance(content, dict):  # a nested message or enum
                continue
            kinds, field = re.findall(r"\w+", content[0]), theirs.fields_by_name[name]
            self.assertEqual((len(kinds) > 1, content[1]), (field.is_repeated, field.number), name)
            kind = kinds[-1]
            if kinds[0] == "map":
                field = field.message_type.fields_by_name["value"]
            if kind not in names:
                self.assertEqual(getattr(FieldDescriptor, f"TYPE_{kind.upper()}"), field.type, name)
                continue
            used.add(kind)
            if field.message_type:
                used |= self.check_message(names[kind], names, field.message_type)
            else:
                for value, (_, number) in names[kind].items():
                    their_name = field.enum_type.values_by_number[number].name
                    self.assertIn(their_name, (value, f"STATUS_{value}", f"DT_{value}"))
        return used

    def test_messages_have_the_same_fields_as_in_tensorboard(self):
        ours, used = ChainMap(schema()), {"Event", "HParams"}
        used |= self.check_message(ours["Event"], ours, event_pb2.Event.DESCRIPTOR)
        hparams = plugin_data_pb2.HParamsPluginData.DESCRIPTOR
        used |= self.check_message(ours["HParams"], ours, hparams)
        self.assertEqual(used, set(re.findall(r"(?:message|enum) (\w+) {", SCHEMA.read_text())))

    def test_a_run_that_was_killed_and_resumed_has_each_point_of_its_history_once(self):
        run = self.root / "killed"
        options = ["--ema", "0.9", "--epochs", "1000", "--print-freq", "2",
                   "--checkpoint-steps", "20"]  # fmt: skip

        # The utilization is measured about every 10 s.
        def ready():
            saved = saved_step(run)
            used = any(is_used(row) and row["step"] <= saved for row in rows_of(run))
            return used and rows_after(run, saved)

        self.kill_when(self.start(run.name, *options), ready)
        while not rows_after(run, saved_step(run)):  # saved a checkpoint just before the kill
            self.kill_when(self.start(run.name, *options, "--resume"), ready)

        saved, dropped = saved_step(run), rows_of(run)
        # The last row may be missing, because the history is written first.
        found = EventFile(run, purge=False).scalars()
        self.assertTrue(found in (points_of(dropped), points_of(dropped[:-1])))

        last = saved // EPOCH * EPOCH + 2 * EPOCH
        self.finish(self.start(run.name, *options, "--resume", "--max-steps", str(last)))
        rows = rows_of(run)
        self.assertEqual(len(list((run / "tensorboard").iterdir())), 1)
        file = EventFile(run, purge=False)
        expected = points_of(rows) | best_point(run)
        for tag in ["train/loss", "train/acc1", "train/lr", "train/grad_norm", "valid/loss",
                    "valid/acc1", "valid_ema/loss", "valid_ema/acc1", "train_timing/images_per_sec",
                    "train_timing/data", "utilization/cpu_cores", "utilization/cpu_percent",
                    "utilization/memory_gb"]:  # fmt: skip
            self.assertIn(tag, expected)
        self.check_scalars(run, expected)
        self.check_settings(run, file)
        self.assertEqual(sorted(file.tags["images"]), ["train/images", "valid_ema/worst"])
        self.assertEqual(file.steps("Images", "train/images"), [0])
        self.check_training_images(file.images("train/images")[0])
        self.check_worst_images(run, file, "valid_ema/worst")
        self.check_histograms(run, file, list(range(EPOCH, last + 1, EPOCH)))

    def test_the_file_of_a_new_container_hides_the_points_of_the_file_before(self):
        run = self.root / "spot"
        options = ["--print-freq", "2", "--checkpoint-steps", "6"]
        self.finish(self.start(run.name, *options, "--max-steps", "10"))
        for file in (run / "checkpoints").glob("*-step-*10.*"):
            file.unlink()  # as if the container had ended before this checkpoint
        self.assertEqual(saved_step(run), 6)
        new = run / "new"
        options += ["--resume", "--max-steps", "14", "--tensorboard", str(new)]
        self.finish(self.start(run.name, *options))
        # Without another suffix, files of runs that began in the same second have the same name.
        for file in new.iterdir():
            file.rename(run / "tensorboard" / f"{file.name}.new")
        self.assertEqual(len(list((run / "tensorboard").iterdir())), 2)
        both = [step for step, _ in EventFile(run, purge=False).scalars()["train/loss"]]
        self.assertEqual(both, [1, *range(2, 11, 2), 1, *range(2, 15, 2)])
        self.check_scalars(run, points_of(rows_of(run)) | best_point(run), purges=[True])

    def test_histograms_and_images_are_those_of_the_run(self):
        run = self.root / "grey"
        options = ["--channels", "1", "--epochs", "2", "--export", "last", "--export-dir", run.name]
        self.finish(self.start(run.name, *options))
        file = EventFile(run, purge=False)
        self.check_scalars(run, points_of(rows_of(run)) | best_point(run))
        self.check_settings(run, file)
        self.assertEqual(sorted(file.tags["images"]), ["train/images", "valid/worst"])
        self.check_training_images(file.images("train/images")[0], channels=1)
        self.check_worst_images(run, file, "valid/worst", channels=1)
        self.check_histograms(run, file, [EPOCH, 2 * EPOCH])
        tensors = safetensors(run / "model.safetensors")
        for tag in file.tags["histograms"]:
            kind, name = tag.split("/")
            if kind == "weights":
                found, values = file.events.Histograms(tag)[-1].histogram_value, tensors[name]
                self.assertEqual((found.min, found.max), (values.min(), values.max()), tag)
                total = values.sum(dtype=float)
                self.assertAlmostEqual(found.sum, total, delta=1e-4 * numpy.abs(values).sum())


if __name__ == "__main__":
    unittest.main()
