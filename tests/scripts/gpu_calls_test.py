"""Tests bench/gpu_first_light.sh with fake programs, without a GPU."""

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"
TRACE = Path(__file__).with_name("kernel_trace.json")
sys.path.insert(0, str(BENCH / "gpu"))
import gate  # noqa: E402
import native  # noqa: E402

SCRIPT = BENCH / "gpu_first_light.sh"
STEP = {"images_per_sec": 10.0, "images_per_sec_min": 9.0, "images_per_sec_max": 11.0,
        "kernels": "fake", "operations_per_sec": 1e9, "machine_operations_per_sec": 2e9}
# Records its arguments. Copies the stored trace to the file after --trace. Hangs if a file `hang`
# exists.
SHOAL = f"""#!/bin/bash
echo "shoal $*" >>FOLDER/calls
[ ! -e FOLDER/hang ] || {{ echo $$ >FOLDER/pid; exec sleep 600; }}
while [ $# -gt 0 ]; do
  [ "$1" != --trace ] || cp {TRACE} "$2"
  shift
done
echo '{json.dumps(STEP)}'
"""
# A check fails if FOLDER/fails contains its name.
CHECK = """#!/bin/bash
echo "check $*" >>FOLDER/calls
grep -qx "$1" FOLDER/fails 2>/dev/null && exit 1
echo '{"ok": true}'
"""
# Programs that need torch are only recorded.
PYTHON = f"""#!/bin/bash
case $1 in
  */rivals.py | */ceilings.py | */loaders.py | */training.py) echo "$*" >>FOLDER/calls ;;
  *) exec {sys.executable} -B "$@" ;;
esac
"""
# Stands for compute-sanitizer, ncu and timeout.
RECORDED = """#!/bin/bash
echo "NAME $*" >>FOLDER/calls
"""


class FirstLight(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.packed, self.out = self.folder / "packed", self.folder / "out"
        self.results = self.folder / "packed.kept/results"
        self.device = "cpu"
        for name in ("bin", "site/torch/lib", "packed", "programs"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "site/torch/__init__.py").touch()
        self.program("bin/python", PYTHON)
        for name, text in (("gpu_first_light", CHECK), ("shoal", SHOAL), ("shoal-worker", ""),
                           ("libshoal_cuda.so", ""), ("loader_bench", "")):
            self.program(f"programs/{name}", text)
        with tarfile.open(self.packed / "pack.tar.xz", "w:xz") as archive:
            archive.add(self.folder / "programs", "programs")

    def program(self, name, text):
        path = self.folder / name
        path.write_text(text.replace("FOLDER", str(self.folder)).replace("NAME", path.name))
        path.chmod(0o755)

    def start(self, *words):
        environment = {**os.environ, "PYTHON": str(self.folder / "bin/python"),
                       "PYTHONPATH": str(self.folder / "site"),
                       "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"}
        return subprocess.Popen([SCRIPT, *words, "--device", self.device], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def call(self, *words, out=None):
        """Runs the script with DIR and OUT. Returns its exit status and what it printed."""
        child = self.start(*words[:1 + (words[0] == "call")], self.packed, out or self.out,
                           *words[1 + (words[0] == "call"):])
        printed = child.communicate()[0]
        return child.returncode, printed

    def calls(self, program):
        lines = (self.folder / "calls").read_text().splitlines()
        return [line for line in lines if Path(line.split()[0]).name == program]

    def stored(self, out=None):
        """Returns the names of the results that came back in OUT."""
        with tarfile.open((out or self.out) / "results.tar.gz") as archive:
            return {Path(name).name for name in archive.getnames()}

    def test_plan_fits_the_calls_and_the_budget(self):
        plan = subprocess.run([SCRIPT, "plan"], capture_output=True, text=True, check=True).stdout
        seconds = [int(found) for found in re.findall(r"= (\d+) s", plan)]
        self.assertEqual(len(seconds), 4)
        self.assertLess(max(seconds), 560)
        self.assertLess(sum(seconds), 25 * 60)
        self.assertIn("call 1: checks", plan)

    def test_results_of_all_calls_come_back(self):
        status, printed = self.call("call", "1")
        self.assertEqual(status, 0, printed)
        (self.out / "results.tar.gz").unlink()
        again = self.folder / "again"
        status, printed = self.call("call", "2", out=again)
        self.assertEqual(status, 0, printed)
        self.assertLess({"checks.json", "installed.json", "step.json", "kernels.json", "seconds"},
                        self.stored(again))
        self.assertIn("shoal bench step", (again / "table.md").read_text())
        self.assertIn("ColumnSums", (again / "kernels.txt").read_text())
        status, printed = self.call("call", "4", out=again)
        self.assertIn("the pack has no images", printed)
        self.assertEqual([line.split()[0].split("/")[-1] for line in self.calls("training.py")],
                         ["training.py"])

    def test_a_new_machine_continues_from_the_results_that_came_back(self):
        self.call("checks")
        (self.out / "results.tar.gz").rename(self.packed / "results.tar.gz")
        (self.folder / "packed.kept").rename(self.folder / "lost")
        status, printed = self.call("step")
        self.assertEqual(status, 0, printed)
        self.assertLess({"checks.json", "step.json"}, self.stored())

    def test_parts_do_not_start_before_all_checks_passed(self):
        status, printed = self.call("step")
        self.assertEqual(status, 1)
        self.assertIn("step does not start, because checks has not run", printed)
        (self.folder / "fails").write_text("shared\n")
        status, printed = self.call("call", "1")
        self.assertEqual(status, 1)
        self.assertIn("did not pass: shared;", printed)
        self.assertFalse((self.results / "step.json").exists())
        self.assertEqual(self.call("step", "--force")[0], 0)
        (self.folder / "fails").unlink()
        self.assertEqual(self.call("checks", "--retry")[0], 0)
        self.assertEqual(self.call("rivals")[0], 0)
        self.assertIn("--only /eager$", self.calls("rivals.py")[0])

    def test_gate_needs_every_check_and_the_installed_one(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            rows = [{"name": name, "ok": True} for name in native.CHECKS]

            def reason(rows, installed='{"images_per_sec": 1}'):
                (folder / "installed.json").write_text(installed)
                (folder / "checks.json").write_text(
                    json.dumps({"machine": {"card": "H"}, "results": rows}))
                return gate.reason(folder)

            self.assertIsNone(reason(rows))
            self.assertIn(rows[3]["name"], reason(rows[:3] + rows[4:]))
            self.assertIn("installed", reason(rows, ""))
            self.assertIn("nccl", reason([{**row, "ok": row["name"] != "nccl"} for row in rows]))

    def test_all_calls_share_one_budget(self):
        self.call("checks")
        seconds = self.results / "seconds"
        self.assertLess(int(seconds.read_text()), 110)
        seconds.write_text("600")
        printed = self.call("step")[1]
        self.assertRegex(printed, r"step, at most 5[3-6]\d s")
        seconds.write_text("1000")
        printed = self.call("step")[1]
        self.assertRegex(printed, r"step, at most 4[0-4]\d s")
        self.assertGreaterEqual(int(seconds.read_text()), 1000)
        seconds.write_text("1440")
        printed = self.call("call", "2")[1]
        for part in ("kernels", "memcheck", "ncu"):
            self.assertIn(f"{part}: skipped, only 0 s are left", printed)
        printed = self.call("step", "--budget", "1005")[1]
        self.assertIn("step: skipped", printed)

    def test_a_small_budget_is_for_the_first_calls(self):
        printed = self.call("call", "1", "--budget", "900")[1]
        self.assertRegex(printed, "== checks, at most 1[01][0-9] s")
        self.assertIn("== step", printed)

    def test_unused_seconds_go_to_later_parts(self):
        printed = self.call("call", "1")[1]
        limits = [int(found) for found in re.findall(r"at most (\d+) s", printed)]
        self.assertIn(limits[0], range(90, 111))
        self.assertGreater(limits[1], 150)  # planned: 100, and checks took a few seconds

    def test_stopped_part_stores_results_and_ends_its_programs(self):
        self.call("checks")
        (self.out / "results.tar.gz").unlink()
        (self.folder / "hang").touch()
        child = self.start("step", self.packed, self.out)
        pid = self.folder / "pid"
        while not (pid.exists() and pid.read_text().endswith("\n")):
            self.assertIsNone(child.poll())
            time.sleep(0.05)
        # Counts the whole part in advance, in case nothing can run after the machine's limit.
        self.assertGreater(int((self.results / "seconds").read_text()), 500)
        child.send_signal(signal.SIGTERM)
        printed = child.communicate()[0]
        self.assertEqual(child.returncode, 143, printed)
        self.assertIn("checks.json", self.stored())
        self.assertLess(int((self.results / "seconds").read_text()), 500)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)

    def test_failed_part_stores_results(self):
        self.program("programs/shoal", "#!/bin/sh\nexit 7\n")
        with tarfile.open(self.packed / "pack.tar.xz", "w:xz") as archive:
            archive.add(self.folder / "programs", "programs")
        self.assertEqual(self.call("step", "--force")[0], 1)
        self.assertIn("step.json", self.stored())

    def test_missing_tools_are_skipped_with_a_line(self):
        for part, tool in (("memcheck", "compute-sanitizer"), ("ncu", "ncu")):
            status, printed = self.call(part, "--force")
            self.assertEqual(status, 0, printed)
            self.assertIn(f"{part}: skipped, because {tool} is not installed", printed)

    def test_tools_get_a_kernel_filter_and_a_time_limit(self):
        self.program("bin/compute-sanitizer", RECORDED)
        self.program("bin/ncu", RECORDED + "echo no permission\nexit 1\n")
        self.program("bin/timeout", RECORDED + 'shift 3\nexec "$@"\n')
        self.assertEqual(self.call("memcheck", "--force")[0], 0)
        self.assertIn("--kernel-name kns=shoal", self.calls("compute-sanitizer")[0])
        self.assertRegex(self.calls("compute-sanitizer")[0], "gpu_first_light operations$")
        status, printed = self.call("ncu", "--force")
        self.assertEqual(status, 1)
        self.assertIn("no permission", printed)
        self.assertRegex(self.calls("ncu")[0], "--kernel-name regex:shoal .*--metrics gpu__time")
        for line in self.calls("timeout"):
            self.assertLessEqual(int(line.split()[3]), 570)

    def test_a_plugin_that_does_not_work_is_built_from_the_sources(self):
        self.device = "cuda"
        (self.folder / "fails").write_text("plugin\n")
        status, printed = self.call("checks")
        self.assertEqual(status, 1)
        self.assertIn("because nvcc is not installed", printed)
        self.program("bin/nvcc", RECORDED)
        self.program("bin/ninja", RECORDED)
        self.program("bin/nvidia-smi", "#!/bin/sh\necho 9.0\n")
        self.program("bin/cmake", """#!/bin/bash
echo "cmake $*" >>FOLDER/calls
[ $1 != --build ] || { rm FOLDER/fails && echo built >"$2/libshoal_cuda.so"; }
[ $1 = --build ] || mkdir -p "$4"
""")
        printed = self.call("checks")[1]  # the stand-in for torch has no CUDA, so the checks fail
        self.assertIn("plugin: does not work here", printed)
        self.assertNotIn("FAILED", printed)
        self.assertRegex(self.calls("cmake")[0], "-DSHOAL_PLUGIN_ONLY=ON .*ARCHITECTURES=90$")
        plugin = self.folder / "packed.kept/pack/programs/libshoal_cuda.so"
        self.assertEqual(plugin.read_text(), "built\n")

    def test_interrupted_unpacking_is_repeated(self):
        kept = self.folder / "packed.kept/pack"
        kept.with_name("pack.new").mkdir(parents=True)
        self.call("checks")
        self.assertTrue((kept / "programs/shoal").exists())
        self.program("programs/shoal", "#!/bin/sh\n# new\n")
        with tarfile.open(self.packed / "pack.tar.xz", "w:xz") as archive:
            archive.add(self.folder / "programs", "programs")
        self.call("checks")
        self.assertIn("new", (kept / "programs/shoal").read_text())


if __name__ == "__main__":
    unittest.main()
