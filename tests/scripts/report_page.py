"""Runs for the tests of report pages, and a page in a browser.

Environment: SHOAL_PROGRAM is the built program, SHOAL_CHROMIUM the browser.
"""

import json
import os
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

import numpy
from browser import Browser

ROOT = Path(__file__).resolve().parents[2]
CLASSES = ["cat", "dog", "ship"]
TRAIN, VAL = 16, 8  # images per class

# Compares each canvas with an empty one of the same size.
DRAWN_CHARTS = """(() => {
  const drawn = (canvas) => {
    const empty = document.createElement("canvas");
    [empty.width, empty.height] = [canvas.width, canvas.height];
    return canvas.toDataURL() !== empty.toDataURL();
  };
  return [...document.querySelectorAll(".chart")]
    .filter((box) => [...box.querySelectorAll("canvas")].some(drawn))
    .map((box) => box.querySelector("b").textContent);
})()"""

# Returns the color that a function draws at the top left corner of a canvas.
DRAWN = """((draw) => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  draw(pen);
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
})"""

# Color of a chart at its top and at a step.
MARK = (
    DRAWN
    + """((pen) => {
  const { graph, plot } = charts.get("CHART");
  pen.fillStyle = color("--panel");
  pen.fillRect(0, 0, 1, 1);
  for (const canvas of plot.querySelectorAll("canvas"))
    pen.drawImage(canvas, -Math.round(graph.toDomXCoord(STEP)), -graph.getArea().y - 3);
})"""
)
# Color of a style.
COLOR = DRAWN + """((pen) => { pen.fillStyle = color("NAME"); pen.fillRect(0, 0, 1, 1); })"""


def shoal(*arguments, folder, fails=False):
    done = subprocess.run(
        [os.environ["SHOAL_PROGRAM"], *arguments],
        cwd=folder, capture_output=True, timeout=200, text=True,
    )  # fmt: skip
    assert (done.returncode != 0) == fails, done.stderr


def make_data(folder, train=TRAIN):
    """Writes some of the demo's images: `train` and VAL images per class."""
    left = {
        f"{split}/{name}": n for split, n in [("train", train), ("val", VAL)] for name in CLASSES
    }
    with tarfile.open(ROOT / "scripts/data/cifar10-small.tar.xz") as archive:
        for member in archive:
            place = str(Path(member.name).parent)
            if member.isfile() and left.get(place, 0) > 0:
                left[place] -= 1
                (folder / place).mkdir(parents=True, exist_ok=True)
                (folder / member.name).write_bytes(archive.extractfile(member).read())
    assert not any(left.values()), left


def train(folder, name, *options, data="data", fails=False):
    shoal(
        "train", "--data", data, "--output", name, "--model", "efficientnet_b0", "--size", "32",
        "--batch-size", "8", "--print-freq", "1", *options, folder=folder, fails=fails,
    )  # fmt: skip


def percent(value, places=2):
    return f"{value:.{places}f} %"


# Pages contain the history's numbers with six significant digits.
def loss(value):
    return f"{float(f'{value:.6g}'):.4f}"


class PageTest(unittest.TestCase):
    """A test with a folder for data and runs, and a browser."""

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.root = Path(temporary.name)
        cls.make_runs()
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.window(1280)

    def json(self, file):
        return json.loads((self.root / file).read_text())

    def history(self, run, event):
        rows = map(json.loads, (self.root / run / "history.jsonl").read_text().splitlines())
        return [row for row in rows if row["event"] == event]

    def open(self, page):
        self.browser.open(page if page.startswith("http:") else self.root / page)
        self.browser.until("document.querySelector('footer') !== null")

    def check_clean(self):
        self.assertEqual(self.browser.problems, [])

    def texts(self, selector):
        """Returns the texts of the elements that a selector finds."""
        return self.browser.evaluate(
            f"[...document.querySelectorAll({selector!r})].map((part) => part.textContent)"
        )

    def table(self, selector):
        """Returns the rows of a table, by the titles of its columns."""
        titles = self.texts(selector + " th")
        cells = self.texts(selector + " tbody td")
        rows = [cells[i : i + len(titles)] for i in range(0, len(cells), len(titles))]
        return [dict(zip(titles, row)) for row in rows]

    def click(self, selector, text):
        number = self.texts(selector).index(text)
        self.browser.evaluate(f"document.querySelectorAll({selector!r})[{number}].click()")

    def drawn_charts(self):
        """Returns the titles of the charts that show something."""
        return self.browser.evaluate(DRAWN_CHARTS)

    def box(self, selector):
        """Scrolls to an element and returns [left, top, width, height] in the window."""
        return self.browser.evaluate(
            f"(() => {{ const part = document.querySelector({selector!r}); part.scrollIntoView();"
            " const box = part.getBoundingClientRect();"
            " return [box.left, box.top, box.width, box.height]; })()"
        )

    def mouse(self, kind, x, y, **more):
        self.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def color(self, name):
        return numpy.array(self.browser.evaluate(COLOR.replace("NAME", name)), float)

    def distance_of_mark(self, chart, step):
        """Returns the difference between a chart's color at a step and that of a bad event."""
        script = MARK.replace("CHART", chart).replace("STEP", str(step))
        return numpy.abs(numpy.array(self.browser.evaluate(script)) - self.color("--bad")).max()
