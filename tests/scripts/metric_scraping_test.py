"""Applies the metric definitions to complete logs of real runs, with different regex engines.

The logs, and the histories with the unrounded values, were recorded by tests/golden/scripts/make_logs.
Environment: SHOAL_PROGRAM is the built program; SHOAL_ENGINE is python, re2 or javascript;
SHOAL_NODE is node's path, for javascript.
"""

import json
import os
import re
import subprocess
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOGS = HERE.parent / "golden/logs"
ENGINE = os.environ["SHOAL_ENGINE"]

# Metric → where the history contains its value: the event, then the path of keys.
KEY_VALUE = {
    "train:loss": ("train", "loss"),
    "train:acc1": ("train", "acc1"),
    "train:acc5": ("train", "acc5"),
    "train:lr": ("train", "lr"),
    "train:grad_norm": ("train", "grad_norm"),
    "train:images_per_sec": ("train", "timing", "images_per_sec"),
    "train:step_time": ("train", "timing", "step"),
    "train:data_time": ("train", "timing", "data"),
    "epoch": ("train", "epoch"),
    "valid:loss": ("valid", "loss"),
    "valid:acc1": ("valid", "acc1"),
    "valid:acc5": ("valid", "acc5"),
    "valid:images_per_sec": ("valid", "timing", "images_per_sec"),
    "valid:ema_loss": ("valid_ema", "loss"),
    "valid:ema_acc1": ("valid_ema", "acc1"),
    "valid:ema_acc5": ("valid_ema", "acc5"),
}
IMAGENET = {
    "loss": ("train", "loss"),
    "acc1": ("train", "acc1"),
    "acc5": ("train", "acc5"),
    "time": ("train", "timing", "step"),
    "data_time": ("train", "timing", "data"),
    "test_loss": ("test", "loss"),
    "test_acc1": ("test", "acc1"),
    "test_acc5": ("test", "acc5"),
    "final_acc1": ("valid", "acc1"),
    "final_acc5": ("valid", "acc5"),
}

# Printed every 10 s, so the recorded runs are too short for it; log() adds one line.
UTILIZATION = {
    f"util:{name}": ("train", "timing", "utilization", name)
    for name in (
        "cpu_cores",
        "cpu_percent",
        "memory_gb",
        "memory_percent",
        "disk_read_mb_s",
        "disk_write_mb_s",
        "network_in_mb_s",
        "network_out_mb_s",
        "gpu_percent",
        "gpu_memory_percent",
    )
}

# Prefixes that launchers add to the lines of rank 0. The recorded logs of torchrun and mpirun have
# such prefixes too.
PREFIXES = {
    "none": "",
    "torchrun, local ranks": "[default0]:",
    "PyTorch's errors": "[rank0]:",
    "mpirun": "[1,0]<stdout>:",
    "toolkit over mpirun": "[1,mpirank:0,algo-1]<stdout>:",
    "horovodrun": "[0]<stdout>:",
    "horovodrun, over mpirun": "[1,0]<stdout>:",
    "horovodrun, with times": "Fri Jan  2 03:04:05 2026[0]<stdout>:",
    "srun": "0: ",
    "srun, ten tasks": " 0: ",
    "kubectl": "[pod/shoal-worker-0/main] ",
    "docker compose": "algo-1-x7k2p  | ",
}


def scan(compiled, lines):
    return [
        [[name, match[1]] for name, regex in compiled for match in regex.finditer(line)]
        for line in lines
    ]


def capture_python(definitions, lines):
    return scan([(entry["Name"], re.compile(entry["Regex"])) for entry in definitions], lines)


def capture_re2(definitions, lines):
    import re2

    return scan([(entry["Name"], re2.compile(entry["Regex"])) for entry in definitions], lines)


def capture_javascript(definitions, lines):
    done = subprocess.run(
        [os.environ["SHOAL_NODE"], HERE / "capture.js"],
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        input=json.dumps({"definitions": definitions, "lines": lines}),
    )
    return json.loads(done.stdout)


# Returns for each line the list of captured [name, text].
CAPTURE = {"python": capture_python, "re2": capture_re2, "javascript": capture_javascript}[ENGINE]


def as_printed_like(text, value):
    """Returns `value` formatted with the number of digits in `text`."""
    mantissa, e, _ = text.partition("e")
    digits = len(mantissa.partition(".")[2])
    return f"{value:.{digits}{'e' if e else 'f'}}"


def in_history(name, history):
    event, *path = (KEY_VALUE | IMAGENET | UTILIZATION)[name]
    values = [entry for entry in history if entry["event"] == event]
    for key in path:
        values = [value[key] for value in values if key != "utilization" or key in value]
    return values


def log(name):
    """Returns (lines, history) of a recorded run."""
    history = [json.loads(line) for line in (LOGS / f"{name}.jsonl").read_text().splitlines()]
    values = {path[-1]: 0.25 + i for i, path in enumerate(UTILIZATION.values())}
    next(row for row in history if row["event"] == "train")["timing"]["utilization"] = values
    line = "".join(f"util:{key}={value:.6f}; " for key, value in values.items())
    lines = (LOGS / f"{name}.txt").read_text().splitlines()
    return [*lines, line + "epoch=0; step=1;"], history


def with_prefix(lines, prefix, tab):
    return [(prefix + line).replace("\t", tab) for line in lines]


class Scraping(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.definitions = json.loads(
            subprocess.check_output([os.environ["SHOAL_PROGRAM"], "metrics"])
        )

    def check(self, logs):
        """Checks that each log contains each value of its history once.

        `logs`: {title: (lines, history)}.
        """
        found = iter(
            CAPTURE(self.definitions, [line for lines, _ in logs.values() for line in lines])
        )
        for title, (lines, history) in logs.items():
            texts = {entry["Name"]: [] for entry in self.definitions}
            for name, text in (one for _ in lines for one in next(found)):
                texts[name].append(text)
            with self.subTest(title):
                self.check_one(texts, history)

    def check_one(self, found, history):
        self.assertEqual(set(found), {*KEY_VALUE, *IMAGENET, *UTILIZATION, "total_time"})
        self.assertEqual(len(found["total_time"]), 1)
        self.assertGreaterEqual(
            float(found.pop("total_time")[0]) + 1, sum(in_history("train:step_time", history))
        )
        for name, texts in found.items():
            values = in_history(name, history)
            self.assertTrue(values, name)
            self.assertEqual(
                texts, [as_printed_like(text, value) for text, value in zip(texts, values)]
            )
            self.assertEqual(len(texts), len(values), name)

    def test_recorded_logs_contain_the_rounded_values_of_their_histories(self):
        # CloudWatch stores a tab as #011.
        self.check(
            {
                f"{name}, tab as {tab!r}": (with_prefix(lines, "", tab), history)
                for name in ("shoal", "torchrun", "mpirun")
                for lines, history in [log(name)]
                for tab in ("\t", "#011")
            }
        )

    def test_launcher_prefixes_do_not_change_the_captured_values(self):
        lines, history = log("shoal")
        self.check(
            {
                f"{launcher}, tab as {tab!r}": (with_prefix(lines, prefix, tab), history)
                for launcher, prefix in PREFIXES.items()
                for tab in ("\t", "#011")
            }
        )

    def test_recorded_logs_have_the_prefixes_of_their_launchers(self):
        for name, prefix in (("torchrun", "[default0]:"), ("mpirun", "[1,0]<stdout>:")):
            lines, _ = log(name)
            self.assertTrue(any(line.startswith(prefix + "Epoch: [0]") for line in lines), name)

    def test_definitions_are_within_sagemakers_limits(self):
        self.assertLessEqual(len(self.definitions), 40)
        for entry in self.definitions:
            self.assertLessEqual(len(entry["Name"]), 255)
            self.assertLessEqual(len(entry["Regex"]), 500)


if __name__ == "__main__":
    unittest.main()
