"""Checks the line lengths, links, paths and example commands of the documentation."""

import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("*/*/README.md")])
COLUMNS = 100
# What may come before `shoal` on a line of an example.
LAUNCHER = r" {4}\s*(?:\$ )?(?:.*--no-python |mpirun .* |srun .* )?"


def lines(page):
    return page.read_text().splitlines()


def anchors(page):
    """Returns the link fragments of the headings of `page`, spelled as on GitHub."""
    headings = [line.lstrip("# ") for line in lines(page) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def links(page):
    text = page.read_text()
    found = re.findall(r"\]\(([^)]+)\)", text) + re.findall(r"^\[\w+\]: (\S+)", text, re.M)
    return [link for link in found if not link.startswith("http")]


def shoal_calls(page):
    """Yields (command, options) for each call of shoal in the page's examples."""
    for line in lines(page):
        call = re.match(LAUNCHER + "shoal ([a-z]+) (.*)", line)
        if call:
            words = call[2].split("#")[0]
            command = "train" if call[1] == "config" else call[1]  # its options are those of train
            yield command, re.findall(r"(?:^|\s)--(?:no-)?([a-z][a-z-]*)", words)


class Documents(unittest.TestCase):
    def test_readme_is_short(self):
        self.assertLessEqual(len(lines(ROOT / "README.md")), 120)
        for line in lines(ROOT / "README.md"):
            self.assertLessEqual(len(line), COLUMNS, line)

    def test_readme_links_every_page(self):
        linked = {link.partition("#")[0] for link in links(ROOT / "README.md")}
        for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
            if page.name != "README.md":
                self.assertIn(page.relative_to(ROOT).as_posix(), linked)

    def test_lines_outside_tables_fit_100_columns(self):
        for page in PAGES:
            for line in lines(page):
                if not line.startswith("|"):
                    self.assertLessEqual(len(line), COLUMNS, f"{page}: {line}")

    def test_links_point_to_existing_files_and_headings(self):
        for page in PAGES:
            for link in links(page):
                name, _, fragment = link.partition("#")
                target = (page.parent / name).resolve() if name else page
                self.assertTrue(target.exists(), f"{page}: {link}")
                if fragment:
                    self.assertIn(fragment, anchors(target), f"{page}: {link}")

    def test_paths_in_pages_about_the_code_exist(self):
        for page in (ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"):
            for name in re.findall(r"`([a-z_.]+/[\w./*-]+)`", page.read_text()):
                if not re.search(r"[A-Z]|^build/|^runs/", name):  # NAME is a placeholder
                    self.assertTrue(list(ROOT.glob(name)), f"{page}: {name}")

    def test_options_in_examples_exist(self):
        program = os.environ["SHOAL_PROGRAM"]
        known, checked = {}, 0
        for page in PAGES:
            for command, options in shoal_calls(page):
                if command not in known:
                    help_text = subprocess.run(
                        [program, command, "--help", "all"], capture_output=True, text=True
                    )
                    self.assertEqual(help_text.returncode, 0, f"{page}: shoal {command}")
                    row = r"^  (?:-\w, )?--(?:\[no-\])?([a-z0-9-]+)"
                    names = re.findall(row, help_text.stdout, re.M)
                    known[command] = set(names)
                if page.name == "reference_flags.md":
                    continue  # other programs' options; checked by foreign_options_test
                for option in options:
                    self.assertIn(option, known[command], f"{page}: shoal {command}")
                    checked += 1
        self.assertGreater(checked, 30)


if __name__ == "__main__":
    unittest.main()
