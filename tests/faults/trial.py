"""Runs a small job with a fault and checks how it ends.

A Trial is one command with its own folder. jobs.py defines the commands.
"""

import concurrent.futures
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

from journal import read_journal

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 300  # runs take seconds, so a run that takes longer hangs
USAGE, PEER_LOST = 2, 4  # exit codes
CRASH = re.compile(
    r"terminate called|what\(\)|filesystem error|Assertion|frame #\d|Segmentation|c10::|std::"
)
SENTENCE = re.compile(r"^shoal: error: .", re.MULTILINE)


@dataclasses.dataclass
class Outcome:
    code: int  # negative: killed by this signal
    err: str
    calls: list  # calls in the journal
    hung: bool = False
    world: int = 1  # number of worker processes


@dataclasses.dataclass(frozen=True)
class Fault:
    role: str
    kind: str
    path: str  # a pattern of fnmatch
    number: int
    action: str  # see faults.h

    @classmethod
    def at(cls, site, action):
        """Returns the fault at a call of an undisturbed run. `site`: as in journal.Call."""
        return cls(*site, action)

    def __str__(self):
        return f"{self.kind} {self.number} of {self.path} by {self.role}: {self.action}"

    @property
    def setting(self):
        return "\t".join([self.role, self.kind, self.path, str(self.number), self.action])

    def happened(self, outcome):
        """Returns whether the run met this fault."""
        if self.kills:
            return outcome.code in (-signal.SIGKILL, 128 + signal.SIGKILL, PEER_LOST)
        return any(
            call.kind == self.kind and call.error.rstrip("+") == self.action.rstrip("+")
            for call in outcome.calls
        )

    @property
    def kills(self):
        return self.action.startswith("kill")


class Trial:
    """A command that writes below `folder`/out."""

    world = 1  # number of worker processes
    resume = ()  # arguments to add when the command is repeated
    variables = {}  # environment variables to add
    flushes_late = False  # whether a power loss may damage files in place, until the command ends

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.out = folder / "out"
        self.journal = folder / "journal"
        folder.mkdir()

    def clear(self):
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()

    def run(self, fault=None, content=False, more=(), watch=None):
        """Runs the command once. `watch` is called with the process and may send it signals."""
        self.journal.unlink(missing_ok=True)
        variables = self.variables | {
            "LD_PRELOAD": str(self.tools.preload),
            "SHOAL_FAULTS_UNDER": str(self.out),
            "SHOAL_FAULTS_JOURNAL": str(self.journal),
        }
        if content:
            variables["SHOAL_FAULTS_CONTENT"] = "1"
        if fault:
            variables["SHOAL_FAULTS_AT"] = fault.setting
        hung = False
        with open(self.folder / "err", "w+") as err:
            process = subprocess.Popen(
                [self.tools.program, *self.words(), *more],
                env=os.environ | variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=err,
                start_new_session=True,
            )
            try:
                if watch:
                    watch(process)
                process.wait(LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                hung = True
                process.kill()  # its workers end with it
                process.wait()
            err.seek(0)
            text = err.read()
        calls = read_journal(self.journal) if self.journal.exists() else []
        return Outcome(process.returncode, text, calls, hung, self.world)

    def undisturbed(self, content=False, more=()):
        """Runs the command once without a fault. Exits this script if the command fails."""
        outcome = self.run(content=content, more=more)
        if outcome.code != 0:
            sys.exit(f"an undisturbed run fails:\n{outcome.err}")
        return outcome

    def again(self):
        return self.run(more=self.resume)

    def learn(self, before, after):
        """Learns what damage() may find, from the folders before and after an undisturbed run."""

    def damage(self):
        """Describes damaged files, as a list of texts. No call may leave a damaged file."""
        return []

    def newest(self):
        """Returns the step of the newest checkpoint with a marker; 0 without one."""
        return 0


def problems_of_end(outcome, killed):
    """Returns what was wrong with the end of a disturbed run."""
    if outcome.hung:
        return [f"not over after {LIMIT_SECONDS} s"]
    found = []
    if killed and outcome.code not in (0, -signal.SIGKILL, 128 + signal.SIGKILL, PEER_LOST):
        found.append(f"exit code {outcome.code} of a killed run")
    documented = {0, 1, USAGE} if outcome.world == 1 else {0, 1, USAGE, PEER_LOST}
    if not killed and outcome.code not in documented:
        found.append(f"exit code {outcome.code}")
    if crash := next(filter(CRASH.search, outcome.err.splitlines()), None):
        found.append(f"a crash instead of a sentence: {crash}")
    lines = len(SENTENCE.findall(outcome.err))
    if not killed and outcome.code != 0 and lines == 0:
        found.append(f"exit code {outcome.code} without a sentence")
    if lines > most_sentences(outcome):
        found.append(f"{lines} error messages")
    return found


def most_sentences(outcome):
    """Returns how many error messages a run may print.

    Of several worker processes, each may print one, and the launcher says which one failed first.
    Only one of them prints a user error.
    """
    return 1 if outcome.world == 1 or outcome.code == USAGE else outcome.world + 1


def in_lanes(lanes, act, items):
    """Calls act(lane, item) for all items. Returns the results.

    Each lane is used by one thread. It is usually a Trial, which repeats runs in its own folder.
    """
    items, lock, results = iter(items), threading.Lock(), []

    def work(lane):
        while True:
            with lock:
                item = next(items, None)
            if item is None:
                return
            results.append(act(lane, item))

    with concurrent.futures.ThreadPoolExecutor(len(lanes)) as pool:
        for thread in [pool.submit(work, lane) for lane in lanes]:
            thread.result()
    return results


@dataclasses.dataclass(frozen=True)
class Tools:
    program: Path
    preload: Path
    images: Path


def add_options(parser):
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time [default: 2]")
    parser.add_argument("--program", type=Path, default=ROOT / "build/release/shoal")
    parser.add_argument("--preload", type=Path, help="libshoal_faults.so of the same build")

