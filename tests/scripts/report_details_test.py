"""Checks details of the pages of `shoal report` in headless Chromium: charts, time, confusion matrix,
events, hosts, settings and thumbnails.

Environment: SHOAL_PROGRAM is the built program, SHOAL_CHROMIUM the browser.
"""

import io
import json
import math
import tarfile
import unittest
from base64 import b64decode

import numpy
from PIL import Image
from report_page import CLASSES, VAL, PageTest, make_data, percent, shoal, train

SMOOTHING = 0.6  # initial value of the page
DAY = "2026-01-02T03:04:"

# Returns the series of a chart: a label, whether it is the faint one below a smoothed line, and the
# points as the chart's library draws them.
SERIES = """((id) => {
  const { graph, series } = charts.get(id);
  return series.map((one, k) => {
    const points = [];
    for (let i = 0; i < graph.numRows(); ++i)
      if (graph.getValue(i, k + 1) !== null) points.push([graph.getValue(i, 0), graph.getValue(i, k + 1)]);
    return { label: one.label, faint: !!one.faint, points };
  });
})"""

# Returns the color of a pixel of the confusion matrix, and the color that a style has.
DRAWN = """((draw) => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  draw(pen);
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
})"""
PIXEL = DRAWN + """((pen) => pen.drawImage(document.querySelector(".heat"), -X, -Y))"""
COLOR = DRAWN + """((pen) => { pen.fillStyle = color("NAME"); pen.fillRect(0, 0, 1, 1); })"""


def number(value, digits=4):
    """Returns a number as pages show it."""
    value = float(f"{value:.6g}")
    if value == 0:
        return "0"
    if abs(value) < 1e-3:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    if value == int(value) or abs(value) >= 1e4:
        return f"{value:,.0f}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def smoothed(values):
    mean = norm = 0
    result = []
    for value in values:
        mean = SMOOTHING * mean + (1 - SMOOTHING) * value
        norm = SMOOTHING * norm + (1 - SMOOTHING)
        result.append(mean / norm)
    return result


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
    train_row(0, 5, 15), train_row(0, 10, 17), valid_row("valid", 0, 18), valid_row("valid_ema", 0, 20),
    train_row(1, 10, 38), valid_row("valid", 1, 40, unreadable=2),
]  # fmt: skip
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


class ReportDetails(PageTest):
    @classmethod
    def make_runs(cls):
        make_data(cls.root / "data", train=40)
        # Two processes of 15 steps each; the second one resumes.
        for split in ("train", "val"):
            shoal("pack", f"data/{split}", f"packed/{split}.pack", folder=cls.root)
        packed = ["--ema", "0.5", "--lr", "0.001"]
        train(cls.root, "packed-run", *packed, "--epochs", "1", data="packed")
        train(cls.root, "packed-run", *packed, "--epochs", "2", "--resume", data="packed")
        # One of 120 training images is damaged.
        cls.make_tars(cls.root / "tars")
        train(cls.root, "tars-run", "--epochs", "1", data="tars")
        # The first step makes all weights infinite.
        train(cls.root, "failed", "--epochs", "1", "--lr", "1e38", "--max-steps", "3", fails=True)
        cls.write_run(cls.root / "few", FEW)
        cls.write_run(cls.root / "many", MANY)

    @classmethod
    def make_tars(cls, folder):
        for split in ("train", "val"):
            (folder / split).mkdir(parents=True)
            for name in CLASSES:
                with tarfile.open(folder / split / f"{name}.tar", "w") as tar:
                    for i, file in enumerate(sorted((cls.root / "data" / split / name).iterdir())):
                        data = file.read_bytes()
                        if (split, name, i) == ("train", "dog", 7):
                            data = data[:100]
                        entry = tarfile.TarInfo(file.name)
                        entry.size = len(data)
                        tar.addfile(entry, io.BytesIO(data))

    @classmethod
    def write_run(cls, folder, evaluation):
        folder.mkdir()
        for name, rows in [("history", HISTORY), ("events", EVENTS)]:
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        summary = {
            "outcome": "complete", "version": "1.2.3", "commit": "0123456789ab", "epoch": 2,
            "step": 20, "world_size": 4,
            "data": {"train": "/data/train", "val": "/data/val"}, "settings": {"lr": 0.1},
        }  # fmt: skip
        (folder / "summary.json").write_text(json.dumps(summary))
        (folder / "evaluation.json").write_text(json.dumps(evaluation))
        shoal("report", folder.name, folder=cls.root)

    def series(self, chart):
        return self.browser.evaluate(f"{SERIES}({chart!r})")

    def color(self, name):
        return numpy.array(self.browser.evaluate(COLOR.replace("NAME", name)), float)

    def move_mouse(self, x, y):
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def box(self, selector):
        """Scrolls to an element and returns [left, top, width, height] in the window."""
        return self.browser.evaluate(
            f"(() => {{ const part = document.querySelector({selector!r}); part.scrollIntoView();"
            " const box = part.getBoundingClientRect();"
            " return [box.left, box.top, box.width, box.height]; })()"
        )

    def drawn_matrix(self):
        """Waits until the confusion matrix is drawn. Returns its box without the border."""
        left, top, width, height = self.box(".heat")
        self.browser.until(f"document.querySelector('.heat').width === {round(width) - 2}")
        return left + 1, top + 1, width - 2, height - 2

    def legend(self, chart):
        return self.texts(f"[data-chart={chart}] .legend .key")

    def check_points(self, points, x, y):
        self.assertEqual([point[0] for point in points], x)
        for (_, found), expected in zip(points, y):
            self.assertAlmostEqual(found, expected, delta=1e-5 * abs(expected))

    def test_the_charts_contain_the_history(self):
        self.open("packed-run/report.html")
        rows = {name: self.history("packed-run", name) for name in ("train", "valid", "valid_ema")}
        self.assertEqual(len(rows["train"]), 30)
        timing = [row["timing"] for row in rows["train"]]
        charts = {key: [row[key] for row in rows["train"]] for key in ("loss", "acc1", "grad_norm", "lr")}
        charts["speed"] = [row["images_per_sec"] for row in timing]
        charts["wait"] = [100 * row["data"] / row["step"] for row in timing]
        steps = [row["step"] for row in rows["train"]]
        for chart, values in charts.items():
            with self.subTest(chart):
                raw, *rest = self.series(chart)
                self.check_points(raw["points"], steps, values)
                if chart != "lr":  # a schedule is not smoothed
                    self.assertTrue(raw["faint"])
                    smooth, *rest = rest
                    self.check_points(smooth["points"], steps, smoothed(values))
                evaluated = ("valid", "valid_ema") if chart in ("loss", "acc1") else ()
                for name, one in zip(evaluated, rest, strict=True):
                    at = [row["step"] for row in rows[name]]
                    self.check_points(one["points"], at, [row[chart] for row in rows[name]])
        self.check_legends(rows)
        # The epochs of the axis begin at 0.
        self.click("[aria-label='x axis'] button", "epoch")
        self.check_points(self.series("lr")[0]["points"], [s / 15 for s in steps], charts["lr"])
        self.check_clean()

    def check_legends(self, rows):
        losses = [row["loss"] for row in rows["train"]]

        def lines(i, valid):
            smooth = smoothed(losses)[i]
            return [f"train {number(losses[i])} smoothed {number(smooth)}"] + [
                f"{label} {number(rows[name][valid]['loss'])}"
                for label, name in (("validation", "valid"), ("EMA", "valid_ema"))
            ]

        self.assertEqual(self.legend("loss"), lines(-1, -1))
        (_, valid, ema) = self.legend("acc1")
        self.assertEqual(valid, "validation " + percent(rows["valid"][-1]["acc1"]))
        self.assertEqual(ema, "EMA " + percent(rows["valid_ema"][-1]["acc1"]))
        # With the mouse over a point, the values are those of this step.
        left, top, _, height = self.box("[data-chart=loss] .plot")
        self.move_mouse(left + self.browser.evaluate("charts.get('loss').graph.toDomXCoord(4)"), top + height / 2)
        self.browser.until("document.querySelector('[data-chart=loss] .at').textContent === 'step 4'")
        self.assertEqual(self.legend("loss"), lines(3, 0))

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

    def check_cell(self, x, y, kind, share, least=0.08):
        """Checks the color of a cell. `kind`: a hit or a miss; `share`: of the true class."""
        panel = self.color("--panel")
        strength = least + (1 - least) * math.sqrt(share) if share else 0
        expected = panel + strength * (self.color("--c3" if kind else "--bad") - panel)
        pixel = PIXEL.replace("X", str(round(x))).replace("Y", str(round(y)))
        found = numpy.array(self.browser.evaluate(pixel))
        self.assertLess(numpy.abs(found - expected).max(), 3, (x, y, kind, share))

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
                    self.move_mouse(left + x, top + y)
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
            self.move_mouse(left + edge + 1.5 * cell, top + edge + 0.5 * cell)
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
            ("13", "nonfinite", "updates 1"),
            ("14", "loss spike", "loss 98.5 · median 1.25"),
            ("14", "rollback", "to step 10"),
            ("20", "unreadable validation", "images 2"),
            ("20", "complete", ""),
        ]
        self.assertEqual(sorted(rows), sorted(expected))
        bad = ["unreadable", "nonfinite", "loss spike", "rollback", "unreadable validation"]
        self.assertEqual(sorted(self.texts("#events .bad")), sorted(bad))
        self.check_clean()

    def test_events_of_real_runs_are_listed(self):
        self.open("packed-run/report.html")
        rows = self.table("#events")
        self.assertEqual([row["Event"] for row in rows], ["start", "complete", "resume", "complete"])
        self.assertEqual([row["Step"] for row in rows], ["0", "15", "15", "30"])
        self.open("tars-run/report.html")
        (row,) = (row for row in self.table("#events") if row["Event"] == "unreadable")
        self.assertEqual(row["Details"], "images 1")
        self.open("failed/report.html")
        self.assertEqual(self.texts("header .chip"), ["failed"])
        self.assertIn("not finite", self.texts("header .reason")[0])
        events = [row["Event"] for row in self.table("#events")]
        self.assertEqual(events[-1], "failed")
        self.assertIn("nonfinite", events)
        self.check_clean()

    def test_hosts_and_the_versions_of_program_and_data_are_shown(self):
        self.open("many/report.html")
        self.assertEqual(self.table("#hosts"), [{"Hosts": "one, two, three", "Processes": "4"}])
        expected = {"version": "1.2.3", "commit": "0123456789ab", "train data": "/data/train",
                    "validation data": "/data/val", "processes": "4", "lr": "0.1"}  # fmt: skip
        self.assertEqual(dict(zip(self.texts("#settings dt"), self.texts("#settings dd"))), expected)
        self.open("packed-run/report.html")
        summary = self.json("packed-run/summary.json")
        host = {"Hosts": summary["host"]["name"], "Processes": "1"}
        self.assertEqual(self.table("#hosts"), [host])
        shown = dict(zip(self.texts("#settings dt"), self.texts("#settings dd")))
        self.assertEqual(shown["version"], summary["version"])
        self.assertEqual(shown["commit"], summary["commit"])
        self.assertEqual(shown["train data"], summary["data"]["train"])
        self.assertEqual(shown["validation data"], summary["data"]["val"])
        self.assertEqual(shown["processes"], "1")
        self.check_clean()

    def test_the_most_wrong_images_of_packed_sets_and_tars_are_shown(self):
        sources = {}
        for file in (self.root / "data/val").rglob("*.jpg"):
            image = Image.open(file).convert("RGB")
            sources[file.parent.name, file.name] = numpy.asarray(image, float)
        for run in ("packed-run", "tars-run"):
            self.open(run + "/report.html")
            worst = self.json(run + "/evaluation.json")["worst"]
            self.assertEqual(len(worst), VAL * len(CLASSES))
            self.assertEqual(self.texts(".gone"), [])
            self.browser.until(
                "[...document.querySelectorAll('.worst img')].every((i) => i.naturalWidth === 32)"
            )
            shown = self.browser.evaluate("[...document.querySelectorAll('.worst img')].map((i) => i.src)")
            for one, url in zip(worst, shown, strict=True):
                image = Image.open(io.BytesIO(b64decode(url.split(",")[1]))).convert("RGB")
                self.check_source(numpy.asarray(image, float), one["path"], sources)
            self.check_clean()

    def check_source(self, pixels, path, sources):
        """Checks that pixels are those of the named image rather than of another one."""
        likeness = {
            key: numpy.corrcoef(pixels.ravel(), source.ravel())[0, 1] for key, source in sources.items()
        }
        best = max(likeness, key=likeness.get)
        self.assertEqual(best[1], path.split("/")[-1].split(":")[-1])


if __name__ == "__main__":
    unittest.main()
