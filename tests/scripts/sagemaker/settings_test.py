import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import support  # noqa: F401
from errors import UserError
from settings import TABLE, merge, read_file


def gather(job, path, options):
    return merge(job, path, read_file(path) if path else {}, options)


class Settings(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def test_options_override_the_file_and_values_are_typed(self):
        path = self.file(
            "job.yaml",
            "max_run: 2h\nspot: true\nvolume_gb: 30\nsubnets: [a, b]\n"
            "hyperparameters: {lr: 0.1, epochs: 3}\nchannels: {train: s3://b/t/}\n",
        )
        found = gather(
            "train",
            path,
            {
                "max_run": "90m",
                "volume_gb": "50",
                "security_groups": "x,y",
                "spot": False,
                "hyperparameters": ["epochs=5", "arch=resnet50"],
                "channels": ["train=s3://b/u,mode=Pipe,shuffle=3,attributes=a+b"],
            },
        )
        self.assertEqual(
            found,
            {
                "max_run": 5400,
                "spot": False,
                "volume_gb": 50,
                "subnets": ["a", "b"],
                "security_groups": ["x", "y"],
                "hyperparameters": {"lr": 0.1, "epochs": "5", "arch": "resnet50"},
                "channels": {
                    "train": {
                        "source": "s3://b/u",
                        "mode": "Pipe",
                        "shuffle": "3",
                        "attributes": ["a", "b"],
                    }
                },
            },
        )

    def test_json_needs_no_pyyaml_and_yaml_without_it_is_an_error(self):
        path = self.file("job.json", json.dumps({"max_run": "1d"}))
        with mock.patch.dict(sys.modules, {"yaml": None}):
            self.assertEqual(gather("train", path, {}), {"max_run": 86400})
            with self.assertRaisesRegex(UserError, "PyYAML"):
                gather("train", self.file("job.yaml", "max_run: 1d"), {})

    def test_errors_are_one_line_that_names_the_setting(self):
        cases = [
            ("instance: 2 x ml.c5.xlarge", "instance is not a setting .* did you mean instances"),
            ("source: s3://b/t", "source is not a setting of a train job"),
            ("volume_gb: 1.5", "volume_gb is '1.5'"),
            ("volume_gb: true", "volume_gb is 'True'"),
            ("max_run: 3w", "max_run is '3w'; it must be a time"),
            ("spot: 1", "spot is '1'; it must be true or false"),
            ("hyperparameters: [a]", "hyperparameters must be a map"),
            ("channels: {t: {mode: Pipe}}", "channels: t: source is missing"),
            ("channels: {t: {source: s3://b, mod: Pipe}}", "unknown key mod"),
            ("channels: {t: {source: 5}}", "channels: t: source is 5; it must be text"),
            ("max_run: 1h\nmax_run: 2h", "the key max_run occurs twice"),
            ("environment: {A: 1, A: 2}", "the key A occurs twice"),
            ("tasks: {a: {}}", "tasks is not a setting of a train job; start a file with tasks"),
            ("- a", "must contain a map"),
            ("a: [", "not valid YAML"),
        ]
        for text, expected in cases:
            with self.subTest(text), self.assertRaisesRegex(UserError, expected) as caught:
                gather("train", self.file("job.yaml", text), {})
            self.assertEqual(len(str(caught.exception).splitlines()), 1)
        with self.assertRaisesRegex(UserError, "--hyperparameter is 'lr'; it must be NAME=VALUE"):
            gather("train", None, {"hyperparameters": ["lr"]})
        with self.assertRaisesRegex(UserError, "the key spot occurs twice"):
            gather("train", self.file("job.json", '{"spot": true, "spot": false}'), {})
        (self.folder / "latin.yaml").write_bytes(b"name: \xff")
        with self.assertRaisesRegex(UserError, "latin.yaml is not UTF-8"):
            gather("train", str(self.folder / "latin.yaml"), {})
        with self.assertRaisesRegex(UserError, "cannot read .*absent.yaml"):
            gather("train", str(self.folder / "absent.yaml"), {})

    def test_names_and_options_are_unique(self):
        for names in ([row.name for row in TABLE], [row.option for row in TABLE]):
            self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
