"""The small jobs to disturb (training, packing, preparing), and their expected results."""

import csv
import hashlib
import json
import re
import shutil
import subprocess
import tomllib
import zipfile
from collections import Counter
from pathlib import Path

from trial import ROOT, Tools, Trial

IMAGES = ROOT / "tests/golden/images"
JPEGS = ("baseline_420", "baseline_444", "grey", "progressive", "restart")

# Files of other programs, which no run may touch.
STRANGERS = ("notes.txt", "checkpoints/notes.txt", "checkpoints/epoch-best.pt", "model/notes.part")

KEEP = 2  # number of newest checkpoints that stay, in addition to the best one

SHARDS = "shards.txt"  # the list in the folder of a pack in shards; its last line is "whole"

# After a fault, these empty files may be missing or in another folder.
LOCKS = (".lock", "lock")

# Folders for unfinished checkpoints. The second one is used where renaming from the first one fails.
UNFINISHED = (".checkpoints-tmp", ".tmp")

# A run that stops before its first checkpoint leaves a history and a TensorBoard event file. The
# next run renames them, each time to a new name.
SUPERSEDED = re.compile(r"superseded-(\d+-)?history\.jsonl|superseded-\d+")


def make_images(folder):
    """Makes class folders with 40 training and 10 validation images. For `shoal prepare imagenet`,
    also makes one folder with all validation images, and a file with their classes.
    """
    for half, copies in (("train", 4), ("val", 1)):
        for name in "ab":
            (folder / half / name).mkdir(parents=True)
            for copy in range(copies):
                for jpeg in JPEGS:
                    shutil.copy(
                        IMAGES / f"{jpeg}.jpg", folder / half / name / f"{name}{copy}_{jpeg}.jpg"
                    )
    (folder / "flat").mkdir()
    rows = ["ImageId,PredictionString"]
    for index, path in enumerate(sorted((folder / "val").rglob("*.jpg"))):
        name = f"ILSVRC2012_val_{index:08}"
        shutil.copy(path, folder / f"flat/{name}.JPEG")
        rows.append(f"{name},{path.parent.name} 0 0 1 1")
    (folder / "solution.csv").write_text("\n".join(rows) + "\n")


class Training(Trial):
    """`shoal train` and its export, into `out`/run."""

    resume = ("--resume",)

    def __init__(self, tools, folder, world=1, strangers=False):
        super().__init__(tools, folder)
        self.world, self.strangers = world, strangers
        self.output = self.out / "run"
        self.checkpoints = self.output / "checkpoints"

    def words(self):
        # fmt: off
        return [
            "train", "--data", self.tools.images, "--output", self.output,
            "--export-dir", self.output / "model", "--model", "mobilenet_v3_small", "--size", "32",
            "--nproc", str(self.world), "--global-batch-size", "12", "--epochs", "2",
            "--lr", "0.02", "--checkpoint-steps", "2", "--keep", str(KEEP), "--print-freq", "1",
            "--threads", "1", "--workers", "1", "--seed", "7",
        ]
        # fmt: on

    def clear(self):
        super().clear()
        for name in STRANGERS if self.strangers else ():
            (self.output / name).parent.mkdir(parents=True, exist_ok=True)
            (self.output / name).write_text(f"{name} belongs to somebody else\n")

    def damage(self):
        found = []
        for name in STRANGERS if self.strangers else ():
            path = self.output / name
            if not path.exists() or "somebody else" not in path.read_text(errors="replace"):
                found.append(f"{name}, a stranger's file, was changed or removed")
        for marker in self.checkpoints.glob("epoch-*.json"):
            if problem := damage_of_checkpoint(marker):
                found.append(f"{marker.with_suffix('.pt').name} {problem}")
        for name in ("summary.json", "evaluation.json", "classes.json", "checkpoints/manifest.json",
                     "model/classes.json", "model/settings.json"):  # fmt: skip
            path = self.output / name
            if path.exists() and not is_json(path):
                found.append(f"{name} is not whole")
        table = self.output / "summary.csv"
        if table.exists() and not is_csv(table):
            found.append("summary.csv is not whole")
        config = self.output / "config.toml"
        if config.exists() and not is_toml(config):
            found.append("config.toml is not whole")
        model = self.output / "model/model.safetensors"
        if model.exists() and not is_safetensors(model):
            found.append("model.safetensors is not whole")
        return found

    def names(self):
        """Returns the names of the checkpoints with a marker."""
        return {marker.stem for marker in self.checkpoints.glob("epoch-*.json")}

    def newest(self):
        return max(map(step_of, self.names()), default=0)

    def manifest(self):
        return json.loads((self.checkpoints / "manifest.json").read_text())

    def unmarked(self):
        """Returns the names of checkpoints that are in place without their markers."""
        return {
            path.stem
            for path in self.checkpoints.glob("epoch-*-step-*.pt")
            if not path.with_suffix(".json").exists()
        }

    def durable(self):
        """Returns what a power loss after the end must not change. The history is not flushed."""
        last = self.manifest()["last"]
        return {
            "outcome": json.loads((self.output / "summary.json").read_text())["outcome"],
            "summary.csv": epochs_of(self.output),
            "the last checkpoint's name": last,
            "the last checkpoint": digest(self.checkpoints / last),
            "the exported model": digest(self.output / "model/model.safetensors"),
        }

    def result(self):
        """Returns what must be equal in every completed run."""
        return self.durable() | {
            "history": history_of(self.output),
            # The name of TensorBoard's file contains the time.
            "files": sorted(
                re.sub(r"tfevents\.\d+", "tfevents.TIME", path.relative_to(self.output).as_posix())
                for path in self.output.rglob("*")
                if path.relative_to(self.output).parts[0] != "cache"
                if path.name not in (*LOCKS, *UNFINISHED) and not SUPERSEDED.fullmatch(path.name)
            ),
        }


class Writing(Trial):
    """`shoal pack`, `prepare`, `export` and `eval` with files below `out`."""

    def __init__(self, tools, folder, *command):
        super().__init__(tools, folder)
        self.command = command
        # Class folders contain many small files, which are flushed together.
        self.flushes_late = "folders" in command
        self.old, self.new = {}, {}  # {name: SHA-256} before and after an undisturbed run
        self.old_list = self.new_list = ""  # contents of SHARDS

    def words(self):
        images = self.tools.images
        place = {
            "IMAGES": images / "train",
            "VALIDATION": images / "flat",
            "LABELS": images / "solution.csv",
            "WEIGHTS": images / "weights.safetensors",
            "OUT": self.out / "set",
            "MODEL": self.out / "model.onnx",
            "ROWS": self.out / "rows.csv",
        }
        return [place.get(word, word) for word in self.command]

    def result(self):
        folders = sorted(path.name for path in self.out.rglob("*") if path.is_dir())
        return digests(self.out) | {"the folders": folders}

    def learn(self, before, after):
        self.old, self.new = digests(before), digests(after)
        for names, lists in ((before, "old_list"), (after, "new_list")):
            if (path := names / "set" / SHARDS).exists():
                setattr(self, lists, path.read_text())

    def damage(self):
        """Every file must be the previous one or the new one. It may be missing only where one of
        them is missing.
        """
        found = []
        for name in sorted(self.old.keys() | self.new.keys()):
            if name == f"set/{SHARDS}":
                continue
            path = self.out / name
            have = digest(path) if path.exists() else None
            if have not in (self.old.get(name), self.new.get(name)):
                found.append(f"{name} {'is damaged' if have else 'has disappeared'}")
        return found + self.damage_of_shards()

    def damage_of_shards(self):
        """The files of a pack in shards must be those that its list names."""
        path = self.out / "set" / SHARDS
        if not path.exists():
            return [f"{SHARDS} has disappeared"] if self.old_list else []
        text = path.read_text(errors="replace")
        if self.old_list and text == self.old_list:
            return [f"{name} differs from the old list" for name in self.changed(self.old)]
        if self.old_list and text == self.while_replaced():
            if not self.replacement_is_whole():
                return ["the old pack is being replaced, but the new one is not whole"]
            return []
        lines, new = text.splitlines(), self.new_list.splitlines()
        if not text.endswith("\n") or lines != new[: len(lines)] or self.old_list and lines != new:
            return [f"{SHARDS} is damaged"]
        finished = len(lines) - 1 - (lines[-1] == "whole")
        names = {f"set/{shard:05}.pack" for shard in range(finished)}
        new = {name: sha for name, sha in self.new.items() if name in names}
        return [f"{name} differs from the list" for name in self.changed(new)]

    def changed(self, files):
        """Returns the names of `files` (see old) whose content is another one now, or missing."""
        now = digests(self.out)
        lists = f"set/{SHARDS}"
        return [name for name in files if name != lists and files[name] != now.get(name)]

    def while_replaced(self):
        """Returns the list while new files replace the old ones."""
        head, _, rest = self.old_list.partition("\n")
        return f"{head}, being replaced\n" + rest.removesuffix("whole\n")

    def replacement_is_whole(self):
        """Whether all new files are in place or in the hidden folder of the new pack."""
        now = digests(self.out)
        for name, sha in self.new.items():
            hidden = now.get(f"set/.replacement/{Path(name).name}")
            if sha != hidden and (name == f"set/{SHARDS}" or sha != now.get(name)):
                return False
        return True

    def durable(self):
        """Returns what a power loss after the end must not change.

        Leaves out folders, because a removed folder may reappear.
        """
        return digests(self.out)


def history_of(output):
    """Returns the rows of a run's history, without times."""
    rows = map(json.loads, (output / "history.jsonl").read_text().splitlines())
    return [
        {key: value for key, value in row.items() if key not in ("time", "timing")}
        for row in rows
        if row["event"] in ("train", "valid")
    ]


def epochs_of(output):
    """Returns the rows of a run's summary.csv, without speeds."""
    rows = csv.DictReader((output / "summary.csv").read_text().splitlines())
    return [{key: value for key, value in row.items() if key != "images_per_sec"} for row in rows]


def with_checkpoints(result, best, more):
    """Returns the expected result of a run that also saved the checkpoints `more`.

    Rank 0 saves one when it loses another process. The KEEP newest checkpoints and `best` stay.
    """
    files = set(result["files"])
    names = {Path(file).stem for file in files if re.fullmatch(r"checkpoints/epoch-.*\d\.pt", file)}
    newest = sorted(names | more, key=step_of)[-KEEP:]
    for name in names | more:
        both = {f"checkpoints/{name}.pt", f"checkpoints/{name}.json"}
        files = files | both if name in newest or f"{name}.pt" == best else files - both
    return result | {"files": sorted(files)}


def step_of(name):
    """Returns the step in the name of a checkpoint, epoch-0001-step-00000002."""
    return int(name.rsplit("-", 1)[1])


def damage_of_checkpoint(marker):
    """Returns what is wrong with a checkpoint that has a marker; "" if it is whole."""
    if not is_json(marker):
        return "has a marker that is not whole"
    try:
        expected = json.loads(marker.read_text())["bytes"]
        if (size := marker.with_suffix(".pt").stat().st_size) != expected:
            return f"has {size} of {expected} bytes"
        with zipfile.ZipFile(marker.with_suffix(".pt")) as archive:
            if archive.testzip():
                return "has wrong bytes"
    except (OSError, zipfile.BadZipFile) as error:
        return f"cannot be read: {error}"
    return ""


def is_json(path):
    try:
        json.loads(path.read_text())
        return True
    except ValueError:
        return False


def is_csv(path):
    text = path.read_text(errors="replace")
    rows = list(csv.reader(text.splitlines()))
    return text.endswith("\n") and all(len(row) == len(rows[0]) for row in rows)


def is_toml(path):
    try:
        tomllib.loads(path.read_text(errors="replace"))
    except tomllib.TOMLDecodeError:
        return False
    return True


def is_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    try:
        entries = json.loads(data[8 : 8 + size])
    except ValueError:
        return False
    ends = [entry["data_offsets"][1] for name, entry in entries.items() if name != "__metadata__"]
    return len(data) == 8 + size + max(ends)


def digests(folder):
    """Returns {name relative to the folder: SHA-256} of all files below it."""
    return {
        path.relative_to(folder).as_posix(): digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def differences(expected, result_of):
    """Returns how a result, which `result_of` reads, differs from the expected one."""
    try:
        result = result_of()
    except (OSError, ValueError, LookupError) as error:
        return [f"the result cannot be read: {error}"]
    found = []
    for name in sorted(expected.keys() | result.keys()):
        want, have = expected.get(name), result.get(name)
        if want == have:
            continue
        if name == "files":
            want, have = Counter(want), Counter(have)
            more, less = sorted((have - want).elements()), sorted((want - have).elements())
            found += [f"{path} is left" for path in more] + [f"{path} is missing" for path in less]
        elif have is None:
            found.append(f"{name} is missing")
        elif want is None:
            found.append(f"{name} is left")
        else:
            found.append(f"{name} differs")
    return found


def lost_checkpoints(lane, saved):
    """Returns the problem if step `saved` was saved, but there is no such or newer checkpoint."""
    newest = lane.newest()
    return [f"step {saved} was saved, but the newest is {newest}"] if newest < saved else []


def repeat(lane, expected):
    """Repeats a disturbed command. Returns what is wrong afterwards, and what it printed."""
    again = lane.again()
    if again.code != 0:
        return [f"exit code {again.code} of the repeated command"], again.err
    return differences(expected, lane.result) + lane.damage(), again.err


def make_tools(options, folder):
    """Makes the images in `folder`. Returns the Tools for trials."""
    make_images(folder / "images")
    program = options.program.resolve()
    preload = options.preload or program.parent / "tests/libshoal_faults.so"
    run, made = folder / "run", folder / "images/weights.safetensors"
    training = ["train", "--data", folder / "images", "--output", run, "--size", "32"]
    length = ["--model", "mobilenet_v3_small", "--batch-size", "4", "--max-steps", "1"]
    for words in (training + length, ["export", run / "checkpoints", "-o", made]):
        subprocess.run([program, *words], check=True, capture_output=True)
    return Tools(program, preload.resolve(), folder / "images")
