"""Tests the programs in bench/gpu with fake programs and a stored trace, without a GPU."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

BENCH = Path(__file__).resolve().parents[2] / "bench"
TRACE = Path(__file__).with_name("kernel_trace.json")
sys.path.insert(0, str(BENCH / "gpu"))
import configurations  # noqa: E402
import kernels  # noqa: E402
import native  # noqa: E402
import pack  # noqa: E402


class FakeChild:
    """A process that has ended with a status, or hangs (status None)."""

    def __init__(self, status):
        self.process = SimpleNamespace(poll=lambda: status)
        self.row = {"ok": status == 0, "status": status}

    def end(self):
        return self.row


class GpuChecks(unittest.TestCase):
    def row(self, *statuses):
        """Returns the result of a check whose processes end with these statuses."""
        children = iter([FakeChild(status) for status in statuses])
        with mock.patch.object(native, "Child", lambda *_: next(children)):
            options = SimpleNamespace(timeout=0)
            return native.answer_of("program", "shared", ["shared"], options)

    def test_one_hung_process_fails_the_check(self):
        self.assertEqual(self.row(0, None), {"ok": False, "status": None})
        self.assertEqual(self.row(None, 0), {"ok": False, "status": None})
        self.assertTrue(self.row(0, 0)["ok"])

    def test_the_process_that_failed_by_itself_is_reported(self):
        self.assertEqual(self.row(None, 1)["status"], 1)

    def call(self, *words):
        command = [sys.executable, "-B", BENCH / "gpu/native.py", *words, "--device", "cpu"]
        return subprocess.run(command, capture_output=True, text=True)

    def test_skipped_checks_are_a_failure_but_skipped_measurements_are_not(self):
        done = self.call("checks", "/bin/true", "--deadline", "0")
        self.assertIn("skipped", done.stdout)
        self.assertEqual(done.returncode, 1)
        done = self.call("step", "/bin/true", "--deadline", "7")
        self.assertRegex(done.stdout, r"b0 224 256 bf16  skipped: \d s left, needs 15 s")
        self.assertEqual(done.returncode, 0)

    def test_a_program_without_a_result_fails(self):
        done = self.call("checks", "/bin/true", "--only", "operations")
        self.assertIn("no result", done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_loader_takes_workers_and_needs_images(self):
        words = ("--workers", "8,3", "--images", "x", "--deadline", "0")
        done = self.call("loader", "/bin/true", *words)
        self.assertIn("2 skipped", done.stdout)
        self.assertIn("--images", self.call("loader", "/bin/true").stderr)
        done = self.call("step", "nowhere")
        self.assertIn("nowhere is not a program", done.stderr)
        self.assertEqual(done.returncode, 2)


class Comparison(unittest.TestCase):
    def test_few_configurations_the_most_important_first(self):
        names = configurations.rival_names(dry=False)
        self.assertEqual(names[0], "efficientnet_b0/224/256/bf16/eager")
        self.assertLessEqual(len(names), 12)
        for start in ("efficientnet_b0/224/32/", "resnet50/224/", "efficientnet_b4/380/",
                      "efficientnetv2_s/300/"):
            ways = {name.rsplit("/", 1)[1] for name in names if name.startswith(start)}
            self.assertIn("eager", ways)
            self.assertGreater(len(ways), 1)
        self.assertIn("efficientnet_v2_s 300 128 bf16", configurations.own_names(dry=False))

    def test_each_row_of_timm_is_paired_with_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            def store(name, rows):
                content = {"title": name, "machine": {"card": "H"}, "results": rows}
                Path(folder, name + ".json").write_text(json.dumps(content))
                return Path(folder, name + ".json")

            rivals = configurations.rival_names(dry=False)
            files = [
                store("step", [{"name": name, "images_per_second": 300.0, "reserved_mib": 50.0}
                               for name in configurations.own_names(dry=False)]),
                store("rivals", [{"name": name, "images_per_second": 150.0, "reserved_mb": 100}
                                 for name in rivals])]
            printed = subprocess.run([sys.executable, "-B", BENCH / "gpu/table.py", *files],
                                     capture_output=True, text=True, check=True).stdout
        first = printed.split("## rivals")[0].split("## step")[0].splitlines()
        rows = [line for line in first if line.startswith("| ")][2:]
        self.assertEqual([row.split(" | ")[0][2:] for row in rows], rivals)
        for row in rows:
            self.assertRegex(row, r"bf16 \| 300.0 \| 150.0 \| 2.000 \| 0.5000 \|$")


class Kernels(unittest.TestCase):
    def test_times_of_a_stored_trace_are_added_up(self):
        with tempfile.TemporaryDirectory() as folder:
            text, data = Path(folder, "kernels.txt"), Path(folder, "kernels.json")
            command = [sys.executable, "-B", BENCH / "gpu/kernels.py", TRACE, "--rows", "3",
                       "--text", text, "--json", data]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            self.assertEqual(text.read_text(), done.stdout)
            rows = json.loads(data.read_text())["kernels"]
        self.assertEqual([(row["calls"], round(row["us"]), round(row["share"], 3)) for row in rows],
                         [(2, 550, 0.55), (1, 300, 0.3), (1, 100, 0.1), (1, 50, 0.05)])
        lines = done.stdout.splitlines()
        self.assertIn("1.000 ms in 5 calls of 4 kernels, within 1.100 ms", lines[0])
        self.assertRegex(lines[2], r"0.550 +55.0 % +2  shoal: ColumnSums .*batch_norm_sums$")
        self.assertRegex(lines[5], r"0.050 +5.0 % +1  1 other kernels$")
        self.assertEqual(kernels.short(rows[3]["name"]),
                         "shoal: make_rules Sgd float OptimizerStep")

    def test_a_trace_without_kernels_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder, "trace.json")
            trace.write_text('{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "x"}]}')
            command = [sys.executable, "-B", BENCH / "gpu/kernels.py", trace]
            done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("contains no kernels", done.stderr)


class Pack(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.build = self.folder / "build"
        self.build.mkdir()
        for name in pack.PROGRAMS:
            (self.build / name).write_text(name)
        self.libraries = {"libjpeg.so.62": ["libm.so.6", "libz.so.1"], "libz.so.1": ["libc.so.6"],
                          "libcurl.so.4": ["libresolv.so.2"], "libgfortran.so.5": [],
                          "libtorch_cpu.so": ["libgfortran.so.5"]}
        for name in self.libraries:
            (self.folder / name).write_text(name)
        needed = {**self.libraries, "shoal-worker": ["libtorch_cpu.so", "libcurl.so.4"],
                  "loader_bench": ["libjpeg.so.62", "libstdc++.so.6"],
                  "libshoal_cuda.so": ["libcudart.so.13", "libc10_cuda.so", "libtorch_cuda.so"]}
        for name, value in (("needed_by", lambda file: needed.get(Path(file).name, [])),
                            ("output_of", lambda *_: ""),
                            ("library_paths", lambda _: {
                                name: str(self.folder / name) for name in self.libraries})):
            patch = mock.patch.object(pack, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def images(self):
        tar = self.folder / "images.tar"
        with tarfile.open(tar, "w") as archive:
            for of_class in range(30):
                for index in range(5):
                    member = tarfile.TarInfo(f"./n{of_class:02}/{index}.JPEG")
                    member.size = 100
                    archive.addfile(member, io.BytesIO(os.urandom(100)))
            archive.addfile(tarfile.TarInfo("./n00/notes.txt"))
        return tar

    def call(self, *words):
        """Returns the error or None, and what was printed."""
        printed, file = io.StringIO(), self.folder / "pack.tar.xz"
        with mock.patch.object(sys, "argv", ["pack.py", str(self.build), str(file), *words]):
            with contextlib.redirect_stdout(printed):
                try:
                    pack.main()
                except SystemExit as end:
                    return end.code, printed.getvalue()
        return None, printed.getvalue()

    def test_only_needed_libraries_and_100_images_are_packed(self):
        error, printed = self.call(str(self.images()))
        self.assertIsNone(error)
        self.assertRegex(printed, r"pack.tar.xz: 0\.\d MB .*3 libraries .*100 images")
        with tarfile.open(self.folder / "pack.tar.xz") as archive:
            names = archive.getnames()
            archive.extractall(self.folder / "there", filter="data")
        self.assertEqual({name[9:] for name in names if name.startswith("programs/")},
                         {*pack.PROGRAMS, "libjpeg.so.62", "libz.so.1", "libcurl.so.4"})
        images = list(self.folder.glob("there/images/*/*.JPEG"))
        self.assertEqual(len(images), 400)  # more than a batch of 128
        self.assertEqual(len({path.stat().st_ino for path in images}), 100)
        self.assertEqual(len({path.parent for path in images}), 30)

    def test_a_library_that_is_not_found_is_an_error(self):
        with mock.patch.object(pack, "library_paths", lambda _: {}):
            error, _ = self.call()
        self.assertRegex(error, "lib.* is not found")
        self.assertEqual(list(self.folder.glob("pack*")), [])

    def test_a_pack_over_the_limit_is_an_error(self):
        error, printed = self.call("--limit", "0.0001")
        self.assertIn("more than 0.0001 MB", error)
        self.assertIn("MB (programs", printed)
        self.assertEqual(list(self.folder.glob("pack*")), [])

    def test_libraries_of_a_real_program_are_followed(self):
        mock.patch.stopall()
        found = pack.libraries_of([sys.executable])
        self.assertFalse([name for name in found if name.startswith("libc.so")])
        self.assertTrue(all(Path(path).exists() for path in found.values()))


if __name__ == "__main__":
    unittest.main()
