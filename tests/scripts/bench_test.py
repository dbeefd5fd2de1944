"""Tests scripts of bench/ with fake programs: the files they reuse and store, and how they fail."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import multiprocessing
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
IMAGES = {"name": "small", "train": 6, "val": 2, "digest": "0123456789ab"}


def script(name):
    """Returns a script of bench/, which has no extension, as a module."""
    loader = importlib.machinery.SourceFileLoader("bench_" + name, str(BENCH / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


accuracy, exchange, loader = script("accuracy"), script("exchange"), script("loader")
import accuracy_results  # noqa: E402
import environment  # noqa: E402


def failure(call, *arguments):
    """Returns the exit status of a call that ends its process, and what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
        try:
            call(*arguments)
        except SystemExit as end:
            return end.code, printed.getvalue()
    raise AssertionError("it did not end")


def one_run(task, program, seed, top1=50.0):
    return {"task": task, "program": program, "seed": seed, "top1": [top1]}


def results_in(file, images=IMAGES, recipes=accuracy.TASKS):
    return accuracy_results.Results(file, images, recipes)


def add_runs(file, program):
    for seed in range(8):
        results_in(file).add(one_run("b0", program, seed))


class Files(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.build = self.folder / "build"
        building = mock.patch.object(accuracy, "BUILD", self.build)
        building.start()
        self.addCleanup(building.stop)

    def images(self, name, count):
        """Makes a folder of two classes with `count` training images each."""
        for split, number in (("train", count), ("val", 1)):
            for of_class in "ab":
                target = self.folder / name / split / of_class
                target.mkdir(parents=True)
                for index in range(number):
                    (target / f"{name.replace('/', '-')}-{index}.jpg").write_text(name)
        return self.folder / name

    def subset(self, images, count):
        return accuracy.subset(images, count, environment.derived(images, self.build))


class DerivedFiles(Files):
    def test_equal_base_names_have_different_folders(self):
        first, second = self.images("x/photos", 2), self.images("y/photos", 2)
        for path in [first, second, *first.rglob("*"), *second.rglob("*")]:
            os.utime(path, (0, 0))
        self.assertNotEqual(
            environment.derived(first, self.build), environment.derived(second, self.build)
        )

    def test_changed_images_have_another_folder(self):
        images = self.images("photos", 2)
        before = environment.derived(images, self.build)
        self.assertEqual(environment.derived(images, self.build), before)
        (images / "train/a/new.jpg").write_text("new")
        self.assertNotEqual(environment.derived(images, self.build), before)

    def test_interrupted_work_is_not_reused(self):
        def interrupted(partial):
            partial.mkdir()
            (partial / "half").touch()
            raise KeyboardInterrupt

        path = self.build / "made"
        with self.assertRaises(KeyboardInterrupt):
            environment.made(path, interrupted)
        self.assertFalse(path.exists())
        environment.made(path, lambda partial: partial.mkdir())
        self.assertEqual(list(path.iterdir()), [])

    def test_archives_are_unpacked_once_for_each_content(self):
        archive = self.folder / "photos.tar"
        for name in ("x", "y"):
            with tarfile.open(archive, "w") as out:
                out.add(self.images(name, 3), ".")
            os.utime(archive, (0, ord(name)))
            found = environment.unpacked(archive, self.build)
            self.assertEqual(len(list(found.glob(f"train/a/{name}-*.jpg"))), 3)
            self.assertEqual(len(list(found.glob("train/a/*.jpg"))), 3)


class Accuracy(Files):
    def names(self, folder):
        return sorted(path.name for path in folder.glob("train/*/*.jpg"))

    def test_subsets_do_not_mix_images(self):
        first, second = self.images("x", 5), self.images("y", 5)
        self.assertEqual(len(self.names(self.subset(first, 3))), 6)
        subset = self.subset(second, 3)
        self.assertEqual({name[0] for name in self.names(subset)}, {"y"})
        self.assertEqual((subset / "val").resolve(), (second / "val").resolve())

    def test_moved_images_have_a_new_subset(self):
        first = self.images("x", 5)
        self.subset(first, 3)
        moved = first.rename(self.folder / "z")
        subset = self.subset(moved, 3)
        self.assertTrue(all(path.exists() for path in subset.glob("train/*/*.jpg")))

    def test_processes_add_runs_at_the_same_time(self):
        file = self.folder / "results.json"
        workers = [
            multiprocessing.Process(target=add_runs, args=(file, program))
            for program in accuracy_results.PROGRAMS
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        results = results_in(file).read()
        found = [(run["program"], run["seed"]) for run in results["runs"]]
        self.assertEqual(found, [(p, seed) for p in ("shoal", "pytorch") for seed in range(8)])
        lines = file.read_text().splitlines()
        self.assertEqual(len([line for line in lines if "top1" in line]), 16)

    def test_results_are_bound_to_images_and_recipes(self):
        file = self.folder / "results.json"
        results_in(file).add(one_run("b0", "shoal", 0))
        self.assertTrue(results_in(file, {**IMAGES, "name": "x"}).find("b0", "shoal", 0))
        status, printed = failure(results_in(file, {**IMAGES, "digest": "0"}).read)
        self.assertEqual(status, 3)
        self.assertIn("other images", printed)
        changed = {**accuracy.TASKS, "b0": {**accuracy.TASKS["b0"], "epochs": 9}}
        status, printed = failure(results_in(file, recipes=changed).read)
        self.assertEqual(status, 3)
        self.assertIn("another recipe of task b0", printed)

    def test_only_seeds_of_both_programs_are_compared(self):
        results = results_in(self.folder / "results.json")
        for task, program, seed in (
            ("b0", "shoal", 0), ("b0", "shoal", 1), ("b0", "pytorch", 1), ("lite0", "shoal", 0)
        ):
            results.add(one_run(task, program, seed))
        found = results.complete()
        self.assertEqual(list(found), ["b0"])
        self.assertEqual([run["seed"] for run in found["b0"]["shoal"]], [1])

    def test_two_calls_complete_the_results_of_both_programs(self):
        images, file, calls = self.images("small", 5), self.folder / "results.json", []

        def fake(program):
            def run(task, seed, data, options):
                calls.append((program, task["model"], seed, data.name))
                return {"top1": [10.00049, 20.0], "seconds": 3.21, "version": "1 (c)", "torch": "2"}

            return run

        def call(*words):
            printed = io.StringIO()
            words = ["accuracy", str(images), "--seeds", "2", "--results", str(file), *words]
            with mock.patch.object(sys, "argv", words), contextlib.redirect_stdout(printed):
                with contextlib.redirect_stderr(io.StringIO()):
                    accuracy.main()
            return printed.getvalue()

        fakes = {program: fake(program) for program in accuracy_results.PROGRAMS}
        with mock.patch.object(accuracy, "PROGRAMS", fakes):
            self.assertIn("no seed", call("--programs", "shoal", "--tasks", "b0"))
            self.assertEqual({program for program, *_ in calls}, {"shoal"})
            self.assertIn("| b0 | 2 | 20.00", call("--programs", "pytorch", "--tasks", "b0"))
            before = len(calls)
            call("--tasks", "b0")
        self.assertEqual(len(calls), before)
        self.assertEqual(calls[0], ("shoal", "efficientnet_b0", 0, "2000-per-class"))
        results = json.loads(file.read_text())
        self.assertEqual(
            {key: results["images"][key] for key in ("name", "train", "val")},
            {"name": "small", "train": 10, "val": 2},
        )
        self.assertEqual(
            results["runs"][0],
            {"task": "b0", "program": "shoal", "seed": 0, "model": "efficientnet_b0", "threads": 2,
             "top1": [10.0, 20.0], "seconds": 3.2, "version": "1 (c)", "torch": "2"},
        )
        self.assertNotIn(str(self.folder), file.read_text())


class Loaders(unittest.TestCase):
    def test_peers_without_packages_are_not_installed(self):
        for peer in ("loader_peer.py opencv x 1 bilinear x", "loader_peer_batches.py dali x 1 1"):
            file, *words = peer.split()
            # -S hides all installed packages.
            command = [sys.executable, "-B", "-S", BENCH / file, *words]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(f"{words[0]} is not installed", done.stderr)

    def test_augmentation_without_timm_prints_shoal(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            loader.print_augmentation({"shoal": [100.0], "shoal, p": [150.0]}, "p")
        self.assertIn("shoal: an image takes 1.50", printed.getvalue())
        self.assertNotIn("timm", printed.getvalue())


class Exchange(unittest.TestCase):
    def test_rates_are_checked_before_anything_runs(self):
        self.assertEqual(exchange.rates("200mbit,2.5gbit"), ["200mbit", "2.5gbit"])
        for wrong in ("500kbit", "1gbps", "gbit", "1gbit,", "1gbit5"):
            with mock.patch.object(sys, "argv", ["exchange", "--rates", wrong]):
                status, printed = failure(exchange.main)
            self.assertEqual(status, 2)
            self.assertIn("mbit or gbit", printed)


if __name__ == "__main__":
    unittest.main()
