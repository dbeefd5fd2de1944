"""Checks the sections of a report in headless Chromium, with runs that the test writes.

Environment: SHOAL_PROGRAM is the built program, SHOAL_CHROMIUM the browser.
"""

import json
import math
import unittest

import numpy
from report_page import CLASSES, DRAWN, PageTest, percent, shoal

DAY = "2026-01-02T03:04:"

# Returns the color of a pixel of the confusion matrix.
PIXEL = DRAWN + """((pen) => pen.drawImage(document.querySelector(".heat"), -X, -Y))"""


def train_row(epoch, step_in_epoch, second):
    timing = {
        "images_per_sec": 100, "step": 0.5, "step_average": 0.4, "data": 0.1, "data_average": 0.05,
    }  # fmt: skip
    return {
        "event": "train", "epoch": epoch, "step_in_epoch": step_in_epoch,
        "step": 10 * epoch + step_in_epoch, "loss": 1.5, "loss_average": 2, "acc1": 40,
        "acc1_average": 35, "lr": 0.1, "timing": timing, "time": f"{DAY}{second}Z",
    }  # fmt: skip


def valid_row(name, epoch, second, unreadable=0):
    return {
        "event": name, "epoch": epoch, "step": 10 * (epoch + 1), "loss": 1.75, "acc1": 42.5,
        "acc5": 90, "unreadable": unreadable, "timing": {"seconds": 1.5, "images_per_sec": 20},
        "time": f"{DAY}{second}Z",
    }  # fmt: skip


# Two processes of the run: one from second 10 to 20, the other from second 30 to 40.
HISTORY = [
    train_row(0, 5, 15),
    train_row(0, 10, 17),
    valid_row("valid", 0, 18),
    valid_row("valid_ema", 0, 20),
    train_row(1, 10, 38),
    valid_row("valid", 1, 40, unreadable=2),
]
EVENTS = [
    {"event": "start", "step": 0, "hosts": ["one", "two"], "time": f"{DAY}10Z"},
    {"event": "resume", "step": 10, "hosts": ["two", "three"], "time": f"{DAY}30Z"},
    {"event": "unreadable", "step": 12, "images": 3, "time": f"{DAY}32Z"},
    {"event": "nonfinite", "step": 13, "updates": 1, "time": f"{DAY}33Z"},
    {"event": "loss_spike", "step": 14, "loss": 98.5, "median": 1.25, "time": f"{DAY}34Z"},
    {"event": "rollback", "step": 14, "to_step": 10, "time": f"{DAY}35Z"},
    {"event": "complete", "step": 20, "time": f"{DAY}40Z"},
]


def evaluation(classes, confusion):
    """Returns an evaluation of ten images per class. `confusion`: true, predicted class, count."""
    figures = {"images": 10, "precision": 0.8, "recall": 0.8, "f1": 0.8}
    return {
        "format": 1, "images": 10 * len(classes), "top1": 80, "top5": 100, "loss": 0.9, "epoch": 2,
        "step": 20, "ema": False, "classes": classes, "confusion": confusion,
        "per_class": [figures] * len(classes),
    }  # fmt: skip


FEW = evaluation(CLASSES, [[0, 0, 8], [0, 1, 2], [1, 0, 1], [1, 1, 5], [1, 2, 4], [2, 2, 10]])
# Of each class, eight images are right and two are mistaken for the next class.
MANY = evaluation(
    [f"class {i}" for i in range(40)],
    [row for i in range(40) for row in ([i, i, 8], [i, (i + 1) % 40, 2])],
)


class WrittenRuns(PageTest):
    @classmethod
    def make_runs(cls):
        cls.write_run(cls.root / "few", FEW, EVENTS[-1:])
        cls.write_run(cls.root / "many", MANY, EVENTS)

    @classmethod
    def write_run(cls, folder, evaluation, events):
        folder.mkdir()
        for name, rows in [("history", HISTORY), ("events", events)]:
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        summary = {
            "outcome": "complete", "version": "1.2.3", "commit": "0123456789ab", "epoch": 2,
            "step": 20, "world_size": 4, "host": {"name": "three"},
            "data": {"train": "/data/train", "val": "/data/val"}, "settings": {"lr": 0.1},
        }  # fmt: skip
        (folder / "summary.json").write_text(json.dumps(summary))
        (folder / "evaluation.json").write_text(json.dumps(evaluation))
        shoal("report", folder.name, folder=cls.root)

    def drawn_matrix(self):
        """Waits until the confusion matrix is drawn. Returns its box without the border."""
        left, top, width, height = self.box(".heat")
        self.browser.until(f"document.querySelector('.heat').width === {round(width) - 2}")
        return left + 1, top + 1, width - 2, height - 2

    def test_the_time_of_each_phase_is_shown(self):
        self.open("many/report.html")
        self.assertEqual(
            self.texts("#time .key"),
            ["computing 7.0 s 35.0 %", "waiting for images 1.0 s 5.0 %",
             "evaluating 4.5 s 22.5 %", "rest: start, checkpoints 7.5 s 37.5 %"],
        )  # fmt: skip
        widths = self.browser.evaluate(
            "[...document.querySelectorAll('#time .stack i')].map((part) => part.offsetWidth)"
        )
        for width, seconds in zip(widths, [7, 1, 4.5, 7.5], strict=True):
            self.assertAlmostEqual(width / sum(widths), seconds / 20, delta=0.01)
        tiles = dict(zip(self.texts(".tile span"), self.texts(".tile strong")))
        self.assertEqual(tiles["Time"], "20 s")
        self.check_clean()

    def check_cell(self, x, y, correct, share):
        """Checks the color of a cell with this share of the images of its true class."""
        panel = self.color("--panel")
        strength = 0.08 + 0.92 * math.sqrt(share) if share else 0
        expected = panel + strength * (self.color("--c3" if correct else "--bad") - panel)
        pixel = PIXEL.replace("X", str(round(x))).replace("Y", str(round(y)))
        found = numpy.array(self.browser.evaluate(pixel))
        self.assertLess(numpy.abs(found - expected).max(), 3, (x, y, correct, share))

    def test_the_confusion_matrix_has_the_color_of_each_count(self):
        counts = {(truth, predicted): n for truth, predicted, n in FEW["confusion"]}
        for dark in (False, True):
            self.browser.window(1280, dark=dark)
            self.open("few/report.html")
            left, top, width, _ = self.drawn_matrix()
            edge = 92  # names of the classes
            cell = (width - edge) / len(CLASSES)
            for truth in range(len(CLASSES)):
                for predicted in range(len(CLASSES)):
                    count = counts.get((truth, predicted), 0)
                    x, y = edge + predicted * cell + 5, edge + truth * cell + 5
                    self.check_cell(x, y, truth == predicted, count / 10)
                    self.mouse("mouseMoved", left + x, top + y)
                    text = (
                        f"{CLASSES[truth]} → {CLASSES[predicted]}: {count} of 10 images, "
                        + percent(10 * count, 1)
                    )
                    self.browser.until(f"document.querySelector('.tip').textContent === {text!r}")
            self.check_clean()

    def test_the_confusion_matrix_of_many_classes_can_be_zoomed(self):
        self.open("many/report.html")
        left, top, width, _ = self.drawn_matrix()

        def check(first, cells, edge):
            cell = (width - edge) / cells
            for truth in range(0, cells - 1, 5):
                y = edge + (truth + 0.2) * cell
                for shift, share in [(0, 0.8), (1, 0.2), (-1, 0)]:
                    if truth + shift >= 0:
                        x = edge + (truth + shift + 0.2) * cell
                        self.check_cell(x, y, shift == 0, share)
            self.mouse("mouseMoved", left + edge + 1.5 * cell, top + edge + 0.5 * cell)
            text = f"class {first} → class {first + 1}: 2 of 10 images, 20.0 %"
            self.browser.until(f"document.querySelector('.tip').textContent === {text!r}")

        check(0, 40, 0)
        self.click("#evaluation .buttons button", "+")
        check(12, 16, 92)  # the middle
        self.click("#evaluation .buttons button", "all")
        check(0, 40, 0)
        self.check_clean()

    def test_every_kind_of_event_is_listed(self):
        self.open("many/report.html")
        rows = [(row["Step"], row["Event"], row["Details"]) for row in self.table("#events")]
        expected = [
            ("0", "start", "hosts one, two"),
            ("10", "resume", "hosts two, three"),
            ("12", "unreadable", "images 3"),
            ("13", "nonfinite", "steps 1"),
            ("14", "loss spike", "loss 98.5 · median 1.25"),
            ("14", "rollback", "to step 10"),
            ("20", "unreadable validation", "images 2"),
            ("20", "complete", ""),
        ]
        self.assertEqual(sorted(rows), sorted(expected))
        bad = ["unreadable", "nonfinite", "loss spike", "rollback", "unreadable validation"]
        self.assertEqual(sorted(self.texts("#events .bad")), sorted(bad))
        for step in (12, 13, 14, 20):
            self.assertLess(self.distance_of_mark("loss", step), 3, step)
        self.assertGreater(self.distance_of_mark("loss", 16), 100)
        self.check_clean()

    def test_hosts_and_the_versions_of_program_and_data_are_shown(self):
        self.open("many/report.html")
        self.assertEqual(self.table("#hosts"), [{"Hosts": "one, two, three", "Processes": "4"}])
        expected = {"version": "1.2.3", "commit": "0123456789ab", "train data": "/data/train",
                    "validation data": "/data/val", "processes": "4", "lr": "0.1"}  # fmt: skip
        self.assertEqual(
            dict(zip(self.texts("#settings dt"), self.texts("#settings dd"))), expected
        )
        self.open("few/report.html")  # without events that name hosts
        self.assertEqual(self.table("#hosts"), [{"Hosts": "three", "Processes": "4"}])
        self.check_clean()


if __name__ == "__main__":
    unittest.main()
