"""Tests scripts/setup, scripts/test and the CMake files, with fake programs: nvcc, ctest."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
LIBTORCH = f". {SCRIPTS}/setup/common.sh && . {SCRIPTS}/setup/libtorch.sh && "


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()

    def program(self, name, text):
        """Makes a shell script. Returns its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def nvcc(self, version, folder="bin"):
        """Makes an nvcc that prints this version. Returns its path."""
        return self.program(f"{folder}/nvcc", f"echo 'compilation tools, release {version}, V1'\n")

    def run_with(self, *words, **variables):
        """Runs a command in self.folder, with bin on PATH. Returns (exit code, output)."""
        names = ("CUDACXX", "CUDA_HOME", "NCCL_INCLUDE_DIR", "TORCH_ROOT", "SHOAL_TESTS")
        env = {name: text for name, text in os.environ.items() if name not in names}
        env["PATH"] = f"{self.folder}/bin:{env['PATH']}"
        done = subprocess.run(
            [str(word) for word in words],
            env=env | {name: str(value) for name, value in variables.items()},
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return done.returncode, " ".join(done.stdout.split())

    def configure(self, cuda, **variables):
        """Includes Cuda.cmake in a project with an empty torch. Returns (exit code, output)."""
        torch = self.folder / "site/torch"
        (torch / "lib").mkdir(parents=True, exist_ok=True)
        (torch / "lib/libc10_cuda.so").write_text("\0libcudart.so.13\0")
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(p NONE)\n"
            "add_library(lt::c10_cuda SHARED IMPORTED)\n"
            "add_library(lt::torch_cuda SHARED IMPORTED)\n"
            f"include({ROOT}/cmake/Cuda.cmake)\nmessage(STATUS ${{SHOAL_CUDA_SUMMARY}})\n"
        )
        options = (f"-DSHOAL_CUDA={cuda}", f"-DSHOAL_TORCH_ROOT={torch}")
        return self.run_with("cmake", "-S", ".", "-B", "build", *options, **variables)

    def test_an_unsuitable_cuda_or_nccl_leaves_out_the_plug_in_unless_it_is_asked_for(self):
        self.nvcc("12.4")
        numbers = (("MAJOR", 2), ("MINOR", 19), ("PATCH", 3))
        header = "".join(f"#define NCCL_{name} {number}\n" for name, number in numbers)
        (self.folder / "nccl.h").write_text(header)
        nccl = {"NCCL_INCLUDE_DIR": self.folder}
        for version, found, remedy in (
            ("12.4", "bin/nvcc is from CUDA 12.4, but torch needs CUDA 13", "with CUDACXX"),
            ("13.0", "has NCCL 2.19.3, but torch needs 2.28.9", "with NCCL_INCLUDE_DIR"),
        ):
            self.nvcc(version)
            code, out = self.configure("AUTO", **nccl)
            self.assertEqual(code, 0, out)
            self.assertRegex(out, rf"off \(.*{found}\)")
            code, out = self.configure("ON", **nccl)
            self.assertEqual(code, 1, out)
            self.assertRegex(out, f"SHOAL_CUDA=ON, but .*{found}: .*{remedy}")
        # An nvcc beside torch suits. It takes precedence over others, also in a used build folder.
        self.nvcc("12.4")
        self.nvcc("13.0", "site/nvidia/cu13/bin")
        code, out = self.configure("AUTO", CUDA_HOME=self.folder, **nccl)
        self.assertEqual((code, "has NCCL" in out), (0, True), out)

    def test_only_an_nvcc_of_torchs_version_makes_the_pinned_one_unnecessary(self):
        has_nvcc = ("bash", "-c", f"set -euo pipefail; {LIBTORCH} has_nvcc")
        for version, code in (("12.4", 1), ("13.1", 0)):
            self.nvcc(version)
            self.assertEqual(self.run_with(*has_nvcc)[0], code, version)
        for version, code in (("12.4", 1), ("13.1", 0)):
            other = self.nvcc(version, "other/bin")
            self.assertEqual(self.run_with(*has_nvcc, CUDACXX=other)[0], code, version)
            self.assertEqual(self.run_with(*has_nvcc, CUDA_HOME=other.parent.parent)[0], code)

    def test_a_relative_torch_root_refers_to_the_callers_folder(self):
        words = ("bash", "-c", f"{LIBTORCH} cd / && plan_libtorch no && printenv TORCH_ROOT")
        for given in ("venv", self.folder / "venv"):
            self.assertEqual(self.run_with(*words, TORCH_ROOT=given), (0, f"{self.folder}/venv"))

    def test_scripts_test_builds_the_tests_even_if_they_were_turned_off(self):
        for name in ("scripts/test", "scripts/setup/common.sh"):
            self.program(name, "")
            shutil.copy(ROOT / name, self.folder / name)
        self.program(
            "scripts/build",
            "[ $SHOAL_TESTS = ON ] || exit 0\n"
            "mkdir -p build/release/tests && echo no browser >build/release/tests/absent_browser\n",
        )
        self.program("bin/ctest", 'echo "ctest $*"\n')
        code, out = self.run_with("scripts/test", "-R", "x", SHOAL_TESTS="OFF")
        self.assertEqual(code, 0, out)
        self.assertRegex(out, "^== no browser ctest --test-dir build/release .* -R x$")

    def test_a_build_with_tests_installs_zsh_and_fish_and_continues_if_that_fails(self):
        self.program("bin/apt-get", f'echo "$*" >>{self.folder}/log; exit 1\n')
        self.program("bin/sudo", '[ "$1" != -n ] || shift; exec "$@"\n')
        ensure = (
            f"set -euo pipefail; . {SCRIPTS}/setup/common.sh; . {SCRIPTS}/setup/packages.sh; "
            "tools=() comforts=() libraries=() test_tools=(absent-1:zsh absent-2:fish); "
        )
        log = self.folder / "log"
        for tests, more, expected in (
            ("OFF", "", (0, False)),
            ("ON", "", (0, True)),
            ("ON", "tools=(absent-3:g++); ", (1, True)),
        ):
            log.write_text("")
            words = ("bash", "-c", f"{ensure}{more}ensure_packages no; echo continued")
            code, out = self.run_with(*words, SHOAL_TESTS=tests)
            self.assertEqual((code, " zsh fish" in log.read_text()), expected, out)
            self.assertEqual("continued" in out, code == 0, out)

    def test_without_catch2_2_the_program_is_configured_and_the_tests_are_not(self):
        words = ("cmake", "-S", ROOT, "-B", "build", "-G", "Ninja", "-DSHOAL_CUDA=OFF")
        # Any other version has the same effect: CMake does not find version 2.
        words += ("-DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON",)
        torch = os.environ.get("TORCH_ROOT", "")
        code, out = self.run_with(*words, TORCH_ROOT=torch)
        self.assertEqual(code, 0, out)
        self.assertIn("the tests are not built, because Catch2 2 is not found", out)
        code, out = self.run_with(*words, "-DSHOAL_TESTS=ON", TORCH_ROOT=torch)
        self.assertEqual(code, 1, out)
        self.assertIn("SHOAL_TESTS=ON, but Catch2 2 is not found: install it", out)

    def test_pip_builds_with_the_torch_of_its_environment(self):
        torch = self.folder / "site/torch"
        torch.mkdir(parents=True)
        (torch / "__init__.py").touch()
        for name in ("lib", "include"):
            (torch / name).symlink_to(Path(os.environ["TORCH_ROOT"], name))
        python = f"export PYTHONPATH={torch.parent}; exec {sys.executable} \"$@\"\n"
        self.program("bin/python", python)
        words = ("cmake", "-S", ROOT, "-B", "build", "-G", "Ninja", "-DSHOAL_CUDA=OFF", "-DSKBUILD=2")
        words += ("-DSHOAL_TESTS=OFF", "-DSHOAL_BENCH=OFF")
        words += (f"-DPython_EXECUTABLE={self.folder / 'bin/python'}",)
        code, out = self.run_with(*words, TORCH_ROOT="")
        self.assertEqual(code, 0, out)
        self.assertIn(f"torch 2.11.0 in {torch}", out)

    def test_without_network_the_demo_says_that_it_trains_from_scratch_and_does(self):
        for path in ("demo", *(f"setup/{path.name}" for path in (SCRIPTS / "setup").iterdir())):
            if (SCRIPTS / path).is_file():
                (self.folder / "scripts" / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(SCRIPTS / path, self.folder / "scripts" / path)
        self.program("scripts/build", "")
        images = self.folder / "images"
        (images / "val/cat").mkdir(parents=True)
        (images / "val/cat/1.jpg").touch()
        (self.folder / "scripts/data").mkdir()
        archive = self.folder / "scripts/data/cifar10-small.tar.xz"
        subprocess.run(["tar", "-cJf", archive, "-C", images, "val"], check=True)
        # The first training waits to be killed; the resumed one ends. The accuracy is one that only
        # suffices for a training from scratch.
        self.program(
            "build/release/shoal",
            f'echo "$*" >>{self.folder}/log\n'
            "checkpoints=runs/demo/checkpoints\n"
            'case "$*" in\n'
            "  *--resume) exit ;;\n"
            "  train*) mkdir -p $checkpoints; : >$checkpoints/epoch-2-step-1.pt\n"
            """    echo '{"best": "epoch-2-step-1.pt"}' >$checkpoints/manifest.json\n"""
            "    : >$checkpoints/epoch-2-step-1.json; exec sleep 60 ;;\n"
            "  eval*) echo ' * Acc@1 50.0 Acc@5 90.0' ;;\n"
            "esac\n",
        )
        empty = {"SHOAL_CACHE": "", "PIP_INDEX_URL": "http://127.0.0.1:9", "PIP_RETRIES": "0"}
        empty |= {"PIP_CONFIG_FILE": "/dev/null", "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": ""}
        code, out = self.run_with("scripts/demo", **empty)
        self.assertEqual(code, 0, out)
        self.assertRegex(out, "127.0.0.1:9.* cannot be downloaded: training from scratch instead")
        self.assertIn("training EfficientNet-B0 from scratch in two processes", out)
        log = (self.folder / "log").read_text().splitlines()
        trainings = [line for line in log if line.startswith("train ")]
        self.assertEqual(len(trainings), 2)
        for line in trainings:
            self.assertIn("--recipe demo", line)
            self.assertNotIn("--weights", line)

    def test_files_in_a_folder_of_any_name_are_embedded(self):
        folder = self.folder / "c++, a"
        folder.mkdir()
        texts = {"one.js": "1\n//# sourceMappingURL=one.map\n2", "two.js": "3", "style": "4"}
        for name, text in texts.items():
            (folder / name).write_text(text)
        page = (ROOT / "app/CMakeLists.txt").read_text()
        between = re.search(r'list\(JOIN page_scripts "(.*?)"', page)[1]
        ends = re.search(r'list\(JOIN page_texts "(.*?)"', page)[1]
        value = f"kA={folder}/one.js{between}{folder}/two.js{ends}kB={folder}/style"
        options = ("-DOUTPUT=out.cpp", "-DHEADER=h.h", f"-DTEXTS={value}")
        code, out = self.run_with("cmake", *options, "-P", ROOT / "cmake/Embed.cmake")
        self.assertEqual(code, 0, out)
        code = (self.folder / "out.cpp").read_text()
        found = re.findall(r'string_view (\w+) = R"~embed~\((.*?)\)~embed~"', code, re.S)
        self.assertEqual(found, [("kA", "1\n23"), ("kB", "4")])

    def test_git_reads_this_repository_wherever_a_script_is_started(self):
        checked = 0
        for path in (SCRIPTS / "image_check", SCRIPTS / "sagemaker/build_and_push.sh"):
            for call in re.findall(r"(?m)(?:\$\(|^)git .*", path.read_text()):
                self.assertIn('git -C "$top" ', call, path)
                checked += 1
        self.assertGreater(checked, 2)


if __name__ == "__main__":
    unittest.main()
