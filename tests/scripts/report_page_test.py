"""Opens the pages of `shoal report` in headless Chromium and compares them with the runs' files.

Environment: SHOAL_PROGRAM is the built program, SHOAL_CHROMIUM the browser.
"""

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from browser import Browser
from report_page import CLASSES, VAL, PageTest, loss, make_data, percent, shoal, train


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class ReportPage(PageTest):
    @classmethod
    def make_runs(cls):
        make_data(cls.root / "data")
        train(cls.root, "first", "--epochs", "2", "--ema", "0.5", "--lr", "0.001")
        train(cls.root, "second", "--epochs", "1", "--lr", "0.0123")
        with open(cls.root / "first/events.jsonl", "r+") as events:
            end = json.loads(events.readlines()[-1])["time"]
            event = {"event": "loss_spike", "step": 3, "loss": 98.5, "time": end}
            events.write(json.dumps(event) + "\n")
        shoal("report", "first", folder=cls.root)
        shoal("report", "first", "second", "-o", "both.html", folder=cls.root)

    def test_a_page_shows_the_numbers_of_its_run(self):
        self.open("first/report.html")
        summary, evaluation = self.json("first/summary.json"), self.json("first/evaluation.json")
        tiles = dict(zip(self.texts(".tile span"), self.texts(".tile strong")))
        self.assertEqual(tiles["Best top-1"], percent(summary["best"]["acc1"]))
        self.assertEqual(tiles["Last top-1"], percent(summary["valid"]["acc1"]))
        self.assertEqual(tiles["EMA top-1"], percent(summary["valid_ema"]["acc1"]))
        self.assertEqual(tiles["Validation loss"], loss(summary["valid"]["loss"]))
        self.assertEqual(tiles["Epochs"], "2")
        self.assertEqual(self.texts("header .chip"), ["complete"])
        self.assertIn("Limited by " + summary["bottleneck"], self.texts("#time .note"))

        valid, ema = self.history("first", "valid"), self.history("first", "valid_ema")
        last_steps = [row for row in self.history("first", "train") if row["step_in_epoch"] == 6]
        rows = self.table("#epochs")
        self.assertEqual(len(rows), 2)
        for i, row in enumerate(rows):
            self.assertEqual(row["Epoch"], str(i + 1))
            self.assertEqual(row["Step"], str(valid[i]["step"]))
            self.assertEqual(row["Train loss"], loss(last_steps[i]["loss_average"]))
            self.assertEqual(row["Val top-1"], percent(valid[i]["acc1"]))
            self.assertEqual(row["Val loss"], loss(valid[i]["loss"]))
            self.assertEqual(row["EMA top-1"], percent(ema[i]["acc1"]))

        facts = self.texts("#evaluation .facts")[0].split(" · ")
        self.assertEqual(facts[0], "top-1 " + percent(evaluation["top1"]))
        self.assertIn(f"epoch {summary['best']['epoch']}", facts)
        self.check_classes(evaluation)
        events = self.table("#events")
        self.assertEqual([row["Event"] for row in events], ["start", "complete", "loss spike"])
        self.assertEqual((events[2]["Step"], events[2]["Details"]), ("3", "loss 98.5"))
        settings = dict(zip(self.texts("#settings dt"), self.texts("#settings dd")))
        self.assertEqual((settings["model"], settings["ema"]), ("efficientnet_b0", "0.5"))
        self.check_clean()
        self.assertEqual(self.browser.requests, [(self.root / "first/report.html").as_uri()])

    def check_classes(self, evaluation):
        names = evaluation["classes"]
        rows = self.table("[data-keep=classes]")
        self.assertEqual([row["Class"] for row in rows], CLASSES)
        for row, figures in zip(rows, evaluation["per_class"]):
            self.assertEqual(row["Images"], str(VAL))
            self.assertEqual(row["Accuracy"], percent(100 * figures["recall"], 1))
            known = figures["precision"] is not None
            self.assertEqual(
                row["Precision"], percent(100 * figures["precision"], 1) if known else "–"
            )
        shown = {
            (row["Class"], row["Predicted"], row["Images"])
            for row in self.table("[data-keep=pairs]")
        }
        mistakes = {(names[a], names[b], str(n)) for a, b, n in evaluation["confusion"] if a != b}
        self.assertEqual(shown, mistakes)
        ece = evaluation["calibration"]["ece"]
        self.assertEqual(self.texts(".calibration b"), [percent(100 * ece)])
        self.assertEqual(
            self.texts(".worst figure b"), [names[image["label"]] for image in evaluation["worst"]]
        )
        self.browser.until(
            "[...document.querySelectorAll('.worst img')].every((i) => i.naturalWidth > 0)"
        )
        images = "document.querySelectorAll('.worst img').length"
        self.assertEqual(self.browser.evaluate(images), len(evaluation["worst"]))

    def test_pages_fit_every_width_in_both_color_schemes(self):
        grounds = set()
        for width, dark in [(1280, False), (1280, True), (390, False), (390, True)]:
            with self.subTest(width=width, dark=dark):
                self.browser.window(width, dark=dark)
                for page in ["first/report.html", "both.html"]:
                    self.open(page)
                    shown = self.browser.evaluate("document.documentElement.scrollWidth")
                    self.assertLessEqual(shown, width)
                    self.assertGreaterEqual(len(self.drawn_charts()), 6)
                    self.check_clean()
                ground = "getComputedStyle(document.body).backgroundColor"
                grounds.add((dark, self.browser.evaluate(ground)))
        self.assertEqual(len(grounds), 2)

    def test_the_controls_redraw_the_charts(self):
        self.open("first/report.html")
        charts = self.drawn_charts()
        for title in ["Loss", "Top-1 accuracy", "Learning rate", "Training speed", "Gradient norm"]:
            self.assertIn(title, charts)
        for group, text in [
            ("x axis", "epoch"),
            ("x axis", "hours"),
            ("loss axis", "log"),
            ("theme", "dark"),
        ]:
            self.click(f"[aria-label='{group}'] button", text)
            self.assertEqual(self.drawn_charts(), charts, text)
            pressed = self.texts(f"[aria-label='{group}'] [aria-pressed=true]")
            self.assertEqual(pressed, [text])
        self.browser.evaluate(
            "(() => { const s = document.querySelector('[aria-label=smoothing]');"
            " s.value = 0.9; s.dispatchEvent(new Event('input')); })()"
        )
        self.assertEqual(self.drawn_charts(), charts)
        self.assertEqual(self.texts(".controls output"), ["0.90"])
        self.click("[data-keep=classes] th button", "Accuracy")
        column = [float(row["Accuracy ↓"].split()[0]) for row in self.table("[data-keep=classes]")]
        self.assertEqual(column, sorted(column, reverse=True))
        self.check_clean()

    def test_a_page_of_two_runs_compares_them(self):
        self.open("both.html")
        rows = self.table("#results")
        self.assertEqual([row["Run"] for row in rows], ["first", "second"])
        for name, row in zip(["first", "second"], rows):
            best = self.json(name + "/summary.json")["best"]["acc1"]
            self.assertEqual(row["Best top-1"], percent(best))
        settings = {row["Setting"]: row for row in self.table("#settings")}
        self.assertEqual(settings["lr"]["second"], "0.0123")
        self.assertNotIn("model", settings)
        self.click("[aria-label=run] button", "second")
        facts = self.texts("#evaluation .facts")[0]
        top1 = self.json("second/evaluation.json")["top1"]
        self.assertTrue(facts.startswith("top-1 " + percent(top1)), facts)
        self.check_clean()

    def test_a_served_page_follows_its_run(self):
        server = subprocess.Popen(
            [os.environ["SHOAL_PROGRAM"], "report", "second", "--serve", str(free_port())],
            cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        try:
            self.open(server.stdout.readline().strip())
            self.browser.until("document.getElementById('live').textContent === 'live'")
            row = self.history("second", "valid")[-1]
            row |= {"epoch": row["epoch"] + 1, "step": row["step"] + 6, "acc1": 87.5}
            with open(self.root / "second/history.jsonl", "a") as history:
                history.write(json.dumps(row) + "\n")
            self.browser.until("document.getElementById('epochs').textContent.includes('87.50 %')")
            self.assertGreaterEqual(len(self.drawn_charts()), 6)
            self.check_clean()
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()


class Problems(unittest.TestCase):
    def test_the_browser_reports_what_goes_wrong_in_a_page(self):
        page = (
            "<meta http-equiv=Content-Security-Policy content=\"img-src 'none'\">"
            "<img src=http://127.0.0.1:1/><script>console.log('said'); missing()</script>"
        )
        with tempfile.TemporaryDirectory() as folder, contextlib.closing(Browser()) as browser:
            file = Path(folder) / "page.html"
            file.write_text(page)
            browser.open(file)
            problems = "\n".join(browser.problems)
            for part in ["Content Security Policy", "said", "ReferenceError"]:
                self.assertIn(part, problems)
            self.assertIn("http://127.0.0.1:1/", browser.requests)


if __name__ == "__main__":
    unittest.main()
