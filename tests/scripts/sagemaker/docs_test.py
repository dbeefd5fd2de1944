"""Checks that docs/sagemaker.md lists exactly the existing settings, keys and build arguments."""

import re
import unittest

from support import ROOT
import launch
from settings import CHANNEL_KEYS, TABLE

TEXT = (ROOT / "docs/sagemaker.md").read_text()


def first_cells(heading):
    """Returns the names in backticks in the first column of the table with this heading."""
    rows = TEXT.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


class Documents(unittest.TestCase):
    def test_every_setting_has_a_row(self):
        self.assertEqual(first_cells("setting"), {row.name for row in TABLE})

    def test_every_channel_key_has_a_row(self):
        self.assertEqual(first_cells("key"), set(CHANNEL_KEYS))

    def test_every_command_is_shown(self):
        for command in launch.COMMANDS[1:]:
            self.assertIn(f"launch.py {command} ", TEXT)

    def test_every_build_argument_is_explained(self):
        arguments = set(re.findall(r"^ARG (\w+)", (ROOT / "Dockerfile").read_text(), re.M))
        self.assertEqual(first_cells("argument"), arguments - {"SHOAL_CACHE", "EFA_URL"})


if __name__ == "__main__":
    unittest.main()
