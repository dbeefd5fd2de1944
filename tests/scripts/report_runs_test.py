"""Checks the pages of real runs in headless Chromium: charts, events, settings and images.

Environment: SHOAL_PROGRAM is the built program, SHOAL_CHROMIUM the browser.
"""

import io
import math
import tarfile
import unittest
from base64 import b64decode

import numpy
from PIL import Image
from report_page import CLASSES, VAL, PageTest, make_data, percent, shoal, train

SMOOTHING = 0.6  # initial value of the page

# Returns the series of a chart: a label, whether it is the faint one below a smoothed line, and the
# points as the chart's library draws them.
SERIES = """((id) => {
  const { graph, series } = charts.get(id);
  return series.map((one, k) => {
    const points = [];
    for (let i = 0; i < graph.numRows(); ++i) {
      const value = graph.getValue(i, k + 1);
      if (value !== null) points.push([graph.getValue(i, 0), value]);
    }
    return { label: one.label, faint: !!one.faint, points };
  });
})"""


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


class RealRuns(PageTest):
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

    def series(self, chart):
        return self.browser.evaluate(f"{SERIES}({chart!r})")

    def ranges(self):
        """Returns the parts of the x axis that the charts show, without repetitions."""
        ranges = self.browser.evaluate(
            "[...charts.values()].map(({ graph }) => graph.xAxisRange())"
        )
        return {tuple(round(end, 3) for end in one) for one in ranges}

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
        charts = {
            key: [row[key] for row in rows["train"]] for key in ("loss", "acc1", "grad_norm", "lr")
        }
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
        x = self.browser.evaluate("charts.get('loss').graph.toDomXCoord(4)")
        self.mouse("mouseMoved", left + x, top + height / 2)
        title = "document.querySelector('[data-chart=loss] .at').textContent"
        self.browser.until(title + " === 'step 4'")
        self.assertEqual(self.legend("loss"), lines(3, 0))

    def test_all_charts_are_zoomed_together(self):
        self.open("packed-run/report.html")
        margin = 0.29  # of 1 % of 29 steps
        self.assertEqual(self.ranges(), {(1 - margin, 30 + margin)})
        left, top, _, height = self.box("[data-chart=loss] .plot")
        first, last = self.browser.evaluate(
            "[10, 20].map((step) => charts.get('loss').graph.toDomXCoord(step))"
        )
        y = top + height / 2
        self.mouse("mousePressed", left + first, y, button="left", clickCount=1)
        self.mouse("mouseMoved", left + last, y, button="left", buttons=1)
        self.mouse("mouseReleased", left + last, y, button="left", clickCount=1)
        ((low, high),) = self.ranges()
        self.assertAlmostEqual(low, 10, delta=0.2)
        self.assertAlmostEqual(high, 20, delta=0.2)
        for count in (1, 2):
            self.mouse("mousePressed", left + first, y, button="left", clickCount=count)
            self.mouse("mouseReleased", left + first, y, button="left", clickCount=count)
        self.assertEqual(self.ranges(), {(1 - margin, 30 + margin)})
        self.check_clean()

    def test_events_of_real_runs_are_listed(self):
        self.open("packed-run/report.html")
        rows = self.table("#events")
        self.assertEqual(
            [row["Event"] for row in rows], ["start", "complete", "resume", "complete"]
        )
        self.assertEqual([row["Step"] for row in rows], ["0", "15", "15", "30"])
        self.open("tars-run/report.html")
        (row,) = (row for row in self.table("#events") if row["Event"] == "unreadable")
        self.assertEqual(row["Details"], "images 1")
        self.open("failed/report.html")
        self.assertEqual(self.texts("header .chip"), ["failed"])
        self.assertIn("not finite", self.texts("header .reason")[0])
        events = [(row["Step"], row["Event"]) for row in self.table("#events")]
        self.assertEqual(
            events, [("0", "start"), ("2", "nonfinite"), ("3", "nonfinite"), ("3", "failed")]
        )
        # Only the first step has a loss, but all charts show all steps.
        self.assertLess(self.distance_of_mark("loss", 2), 3)
        self.assertEqual(self.ranges(), {(0.98, 3.02)})
        self.assertEqual([row["Step"] for row in self.table("#epochs")], ["3"])
        self.check_clean()

    def test_program_data_and_host_of_a_run_are_shown(self):
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
            mistakes = sum(one["label"] != one["predicted"] for one in worst)
            self.assertEqual(len(self.texts(".worst .bad")), mistakes)
            self.browser.until(
                "[...document.querySelectorAll('.worst img')].every((i) => i.naturalWidth === 32)"
            )
            shown = self.browser.evaluate(
                "[...document.querySelectorAll('.worst img')].map((i) => i.src)"
            )
            for one, url in zip(worst, shown, strict=True):
                image = Image.open(io.BytesIO(b64decode(url.split(",")[1]))).convert("RGB")
                self.check_source(numpy.asarray(image, float), one["path"], sources)
            self.check_clean()

    def check_source(self, pixels, path, sources):
        """Checks that pixels are those of the named image rather than of another one."""
        likeness = {
            key: numpy.corrcoef(pixels.ravel(), source.ravel())[0, 1]
            for key, source in sources.items()
        }
        best = max(likeness, key=likeness.get)
        self.assertEqual(best[1], path.split("/")[-1].split(":")[-1])


if __name__ == "__main__":
    unittest.main()
