"""Compares registers, spills and stack memory of the GPU kernels in ops/cuda with their budgets.

Compiles the kernels as the build does and reads what ptxas reports. Needs no GPU.

Environment: SHOAL_NVCC is the build's nvcc, SHOAL_BINARY_DIR the build folder.
"""

import json
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Registers per thread that a kernel may use. The GPUs allocate registers in multiples of 8. With
# 32, all 2,048 threads of a multiprocessor fit into its 65,536 registers; with 64, half of them.
# The numbers are what nvcc 13.0 needs, rounded up to a multiple of 8.
DEFAULT = 32
# Kernels that may use more: (pattern of readable() names, registers). The first match counts.
EXCEPTIONS = (
    # Batch norm: a thread keeps the parameters of its 16 bytes of channels in registers. The
    # backward sums need two sums for each channel, and load two rows at a time. With 128 registers,
    # two blocks of 256 threads fit into a multiprocessor.
    ("ColumnSums<2, 8, NormSlopes<*", 128),
    ("ColumnSums<2, [24], NormSlopes<*", 104),
    ("ColumnSums<2, 1, NormSlopes<double, *", 72),
    ("ColumnSums<2, 1, NormSlopes<*", 56),
    ("typed_batch_norm_backward_apply<Bf16, 8, Activation>*", 96),
    ("typed_batch_norm_backward_apply<Bf16, 8, *", 80),
    ("typed_batch_norm_backward_apply<double, 2, *", 72),
    ("typed_batch_norm_backward_apply<float, 4, *", 56),
    ("typed_batch_norm_backward_apply<double, 1, *", 48),
    ("typed_batch_norm_backward_apply<*, 1, *", 40),
    ("typed_batch_norm_apply<Bf16, 8, *", 64),
    ("typed_batch_norm_apply<double, *", 48),
    ("typed_batch_norm_apply<float, 4, *", 40),
    # A thread keeps one or two sums for each of its channels, and loads four rows at a time.
    ("ColumnSums<2, 8, Squares<*", 104),
    ("ColumnSums<2, 4, Squares<*", 88),
    ("ColumnSums<2, *, Squares<*", 64),
    ("ColumnSums<1, 8, Products<*", 112),
    ("ColumnSums<1, 4, Products<*", 72),
    ("ColumnSums<1, *", 64),
    # A thread keeps the factors and shifts of two channels in double.
    ("scale_images<double, 2>*", 40),
    # exp(), log(), pow() and divisions in double.
    ("BinaryCrossEntropyRows<*", 56),
    ("CrossEntropyRows<*", 72),
    ("make_rules<*", 40),
    # Random normal values in double fill erased rectangles.
    ("typed_prepare_batch<double>*", 48),
    ("typed_prepare_batch<*", 40),
    # A rule's numbers and states in double. LAMB's first pass also adds up two sums in double.
    ("update_in_two_passes<*, double>::lambda#1", 64),
    ("update_in_two_passes<*, float>::lambda#1", 56),
    ("update_in_two_passes<*, double>::lambda#4", 40),
    ("update_in_one_pass<*, double>*", 40),
)


def readable(symbols):
    """Returns the names of kernels, without namespaces, parameter lists and call_for_...<>.

    "scale_images<float, 4>::lambda#1" is the first lambda function in scale_images<float, 4>().
    """
    text = subprocess.run(
        ["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True
    ).stdout.replace("(anonymous namespace)::", "")
    text = re.sub(r"\{(lambda)(\([^()]*\))(#\d+)\}", r"\1\3", text)
    text = re.sub(r"\b([a-z]\w*::)+(?=\w)", "", text)
    before = None
    while before != text:  # parameter lists contain others
        before, text = text, re.sub(r"\([^()]*\)( const)?", "", text)
    text = re.sub(r"(?m)^void call_for_block<.*::Shared, (.*?) ?>$", r"\1", text)
    return [re.sub(r"^void (?:call_for_index<(.*)>$)?", r"\1", line) for line in text.splitlines()]


def kernels_in(report):
    """Returns what ptxas reports of each kernel: {name: {what: number}}."""
    parts = re.split(r"Compiling entry function '(\S+)' for '\w+'", report)
    uses = {}
    for name, text in zip(readable(parts[1::2]), parts[2::2]):
        # `text` also describes the functions that the kernel calls.
        registers = re.findall(r"Used (\d+) registers", text)
        frames = re.findall(
            r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", text
        )
        if len(registers) != 1 or not frames:
            raise ValueError(f"unknown format of ptxas's report of {name}: {text}")
        if name in uses:
            raise ValueError(f"two kernels have the readable name {name}")
        stack, stores, loads = (sum(map(int, numbers)) for numbers in zip(*frames))
        uses[name] = {
            "registers": int(registers[0]),
            "bytes of stack": stack,
            "bytes of spills": stores + loads,
        }
    return uses


def budget_of(kernel):
    for pattern, registers in EXCEPTIONS:
        if fnmatchcase(kernel, pattern):
            return registers
    return DEFAULT


def over_budget(kernels, architecture):
    """Returns one line for each number that exceeds its budget."""
    lines = []
    for kernel, uses in kernels.items():
        budgets = {"registers": budget_of(kernel), "bytes of stack": 0, "bytes of spills": 0}
        for what, used in uses.items():
            if used > budgets[what]:
                lines.append(f"{kernel} for {architecture}: {used} {what}, budget {budgets[what]}")
    return lines


def compiler_flags():
    """Returns the build's flags for CUDA, without sources, outputs and architectures."""
    commands = json.loads(Path(os.environ["SHOAL_BINARY_DIR"], "compile_commands.json").read_text())
    command = next(
        entry["command"]
        for entry in commands
        if entry["file"].endswith(".cu") and "/shoal_cuda.dir/" in entry["command"]
    )
    words = shlex.split(command)
    words = iter(words[words.index(os.environ["SHOAL_NVCC"]) + 1 :])
    flags = []
    for word in words:
        if word in ("-c", "-o", "-MF", "-MT"):
            next(words)
        elif word != "-MD" and not word.startswith(("--generate-code", "-arch")):
            flags.append(word)
    return flags


def compile_for(architecture):
    """Compiles the kernels. Returns ptxas's report."""
    command = [os.environ["SHOAL_NVCC"], *compiler_flags(), "-cubin", "-Xptxas=-v"]
    command += [f"-arch={architecture}", *map(str, sorted(ROOT.glob("ops/cuda/*.cu")))]
    with tempfile.TemporaryDirectory() as folder:  # nvcc writes the results there
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stderr


class Kernels(unittest.TestCase):
    def check(self, architecture):
        kernels = kernels_in(compile_for(architecture))
        most = sorted(kernels, key=lambda kernel: -kernels[kernel]["registers"])[:3]
        print(f"{architecture}: {len(kernels)} kernels; most registers:")
        print("".join(f"  {kernels[kernel]['registers']} {kernel}\n" for kernel in most), end="")
        lines = over_budget(kernels, architecture)
        if lines:
            self.fail("over the budgets of kernel_budgets_test.py:\n" + "\n".join(lines))
        self.assertIn("fill_ramp_kernel", kernels)
        for pattern, _ in EXCEPTIONS:
            self.assertTrue(any(fnmatchcase(kernel, pattern) for kernel in kernels), pattern)

    def test_ampere(self):
        self.check("sm_80")

    def test_hopper(self):
        self.check("sm_90")


def report(registers=10, stack=0, stores=0, loads=0, of_callee=0):
    """Returns a report in ptxas's format of one kernel that calls a function."""
    return f"""ptxas info    : 272 bytes gmem
ptxas info    : Compiling entry function '_Z9some_nameIfEvT_' for 'sm_90'
ptxas info    : Function properties for _Z9some_nameIfEvT_
    {stack} bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads
ptxas info    : Used {registers} registers, used 0 barriers
ptxas info    : Compile time = 85.119 ms
ptxas info    : Function properties for __internal_accurate_pow
    {of_callee} bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""


class Reports(unittest.TestCase):
    def lines(self, **numbers):
        return over_budget(kernels_in(report(**numbers)), "sm_90")

    def test_within_the_budget(self):
        self.assertEqual(self.lines(registers=DEFAULT), [])

    def test_over_the_budget(self):
        name = "some_name<float> for sm_90: "
        self.assertEqual(self.lines(registers=33), [name + "33 registers, budget 32"])
        self.assertEqual(self.lines(stack=8), [name + "8 bytes of stack, budget 0"])
        self.assertEqual(self.lines(of_callee=8), [name + "8 bytes of stack, budget 0"])
        self.assertEqual(self.lines(stores=4), [name + "4 bytes of spills, budget 0"])
        self.assertEqual(self.lines(loads=4), [name + "4 bytes of spills, budget 0"])

    def test_unknown_format(self):
        with self.assertRaisesRegex(ValueError, "unknown format.* some_name"):
            kernels_in(report().replace("Used 10 registers", "10 registers used"))

    def test_exceptions_depend_on_the_kernel(self):
        name = "ColumnSums<2, %d, Squares<float, %d>, sums<float, %d>::lambda#1>"
        self.assertEqual(budget_of(name.replace("%d", "4")), 88)
        self.assertEqual(budget_of(name.replace("%d", "1")), 64)
        self.assertEqual(budget_of("typed_ema<float>::lambda#1"), DEFAULT)


if __name__ == "__main__":
    unittest.main()
