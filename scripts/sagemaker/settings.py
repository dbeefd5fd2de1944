"""The settings of a job: one table, read from a file (YAML or JSON) and the command line.

A setting has the same name in both, with `_` in the file and `-` on the command line; the command
line wins, maps are merged. Values come out typed: text, int, seconds as int, bool, list, dict.
"""

import difflib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from errors import UserError

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
CHANNEL_KEYS = (
    "source",
    "type",
    "mode",
    "distribution",
    "shuffle",
    "wrapper",
    "compression",
    "content_type",
    "attributes",
    "groups",
    "access",
)


@dataclass(frozen=True)
class Row:
    name: str
    kind: str  # text, integer, seconds, switch, list, map, channels, groups
    help: str
    jobs: str = "both"  # train, process or both
    flag: str = ""  # where it differs from the name; maps are given one entry at a time

    @property
    def option(self):
        return "--" + (self.flag or self.name.replace("_", "-"))


TABLE = [
    Row("name", "text", "the job's name begins with it; the time is added [default: shoal]"),
    Row("job_name", "text", "the job's whole name, instead"),
    Row("image", "text", "the container image in ECR"),
    Row("role", "text", "the role of the job: arn:aws:iam::ACCOUNT:role/NAME"),
    Row("region", "text", "AWS region [default: the one AWS's own settings name]"),
    Row("instances", "text", "N x TYPE, for example '2 x ml.p4d.24xlarge'"),
    Row(
        "groups",
        "groups",
        "NAME=N x TYPE: an instance group, instead of instances",
        "train",
        "group",
    ),
    Row("volume_gb", "integer", "size of the disk for data and outputs [default: 100]"),
    Row("max_run", "seconds", "longest run: seconds, or 90m, 24h, 5d [default: 24h]"),
    Row("spot", "switch", "on spot instances; needs max_wait and checkpoints", "train"),
    Row("max_wait", "seconds", "spot: longest run and wait together", "train"),
    Row("keep_alive", "seconds", "warm pool: how long the instances stay afterwards", "train"),
    Row("retries", "integer", "attempts after an error of the platform, 1..30", "train"),
    Row("output", "text", "S3 folder: the job's results go to OUTPUT/JOB/output"),
    Row("compress", "switch", "leave model.tar.gz and output.tar.gz instead of folders", "train"),
    Row(
        "checkpoints",
        "text",
        "S3 folder that mirrors the checkpoints; the next job resumes",
        "train",
    ),
    Row(
        "checkpoint_path",
        "text",
        "where they lie in the container [default: /opt/ml/checkpoints]",
        "train",
    ),
    Row(
        "tensorboard",
        "text",
        "S3 folder for what the job leaves in /opt/ml/output/tensorboard",
        "train",
    ),
    Row(
        "channels",
        "channels",
        "NAME=SOURCE[,KEY=VALUE…]: input data; docs/sagemaker.md",
        "train",
        "channel",
    ),
    Row("upload", "text", "S3 folder for local sources [default: OUTPUT/upload]"),
    Row(
        "hyperparameters",
        "map",
        "NAME=VALUE: an option of `shoal train`",
        "train",
        "hyperparameter",
    ),
    Row("environment", "map", "NAME=VALUE: a variable of the container", flag="env"),
    Row("entrypoint", "list", "words that replace the image's entry point", "train"),
    Row("arguments", "list", "words that replace the argument `train`", "train"),
    Row("subnets", "list", "VPC: subnets, with commas"),
    Row("security_groups", "list", "VPC: security groups, with commas"),
    Row("isolate", "switch", "no network but the job's other instances"),
    Row("encrypt_traffic", "switch", "encrypt what the instances send one another"),
    Row(
        "metrics",
        "text",
        "metric definitions: a JSON file, the program shoal, or none "
        "[default: build/release/shoal, or shoal on PATH]",
        "train",
    ),
    Row("tags", "map", "NAME=VALUE: to find the job by", flag="tag"),
    Row("experiment", "text", "name of the experiment the job belongs to"),
    Row("trial", "text", "name of the trial in it"),
    Row(
        "source",
        "text",
        "an S3 or local folder: what to pack, with one folder per class, or ImageNet's archives",
        "process",
    ),
    Row(
        "prepare",
        "text",
        "folders, tars or packs: `shoal prepare imagenet` makes them of ImageNet's archives "
        "[default: `shoal pack` makes one file]",
        "process",
    ),
    Row("pack", "text", "name of the packed file [default: train.pack]", "process"),
    Row("pack_options", "list", "options of `shoal pack` or of packs, with commas", "process"),
]


def rows(job):
    return [row for row in TABLE if row.jobs in ("both", job)]


def parse_seconds(row, text):
    found = re.fullmatch(r"(\d+)\s*([smhd]?)", str(text).strip())
    if not found:
        raise UserError(f"{row.name} is '{text}'; it must be a time such as 3600, 90m, 24h or 5d")
    return int(found[1]) * UNITS[found[2]]


def parse_pair(row, text):
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UserError(f"{row.option} is '{text}'; it must be NAME=VALUE")
    return name, value


def parse_channel(row, text):
    """NAME=SOURCE[,KEY=VALUE…] as {NAME: {source: …, KEY: …}}."""
    name, value = parse_pair(row, text)
    source, *rest = value.split(",")
    channel = {"source": source}
    for part in rest:
        key, entry = parse_pair(row, part)
        channel[key] = entry.split("+") if key in ("attributes", "groups") else entry
    return {name: channel}


def whole(row, value):
    if isinstance(value, bool) or not re.fullmatch(r"-?\d+", str(value).strip()):
        raise UserError(f"{row.name} is '{value}'; it must be a whole number")
    return int(value)


def from_file(row, value):
    """A value as YAML or JSON has it, in the type of its row."""
    if row.kind == "integer":
        return whole(row, value)
    if row.kind == "seconds":
        return parse_seconds(row, value)
    if row.kind == "switch":
        if not isinstance(value, bool):
            raise UserError(f"{row.name} is '{value}'; it must be true or false")
        return value
    if row.kind == "list":
        items = value if isinstance(value, list) else str(value).split(",")
        return [str(item) for item in items]
    if row.kind in ("map", "channels", "groups"):
        if not isinstance(value, dict):
            raise UserError(f"{row.name} must be a map of names to values")
        return {str(name): entry for name, entry in value.items()}
    return str(value)


def from_words(row, words):
    """The values of an option that may be repeated, in the type of its row."""
    merged = {}
    for word in words:
        if row.kind == "channels":
            merged.update(parse_channel(row, word))
        else:
            name, value = parse_pair(row, word)
            merged[name] = value
    return merged


def read_file(path):
    """The map a settings file holds. JSON needs nothing more; YAML needs PyYAML."""
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    if Path(path).suffix == ".json":
        try:
            found = json.loads(text)
        except ValueError as error:
            raise UserError(f"{path} is no JSON: {error}") from None
    else:
        try:
            import yaml
        except ImportError:
            raise UserError(
                f"{path} is YAML, which needs PyYAML (pip install PyYAML); "
                "a .json file needs nothing"
            ) from None
        try:
            found = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise UserError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} must hold a map of settings")
    return found


def channel_map(name, channel):
    """A channel is its source, or a map with `source` and other keys."""
    if not isinstance(channel, dict):
        channel = {"source": str(channel)}
    unknown = [key for key in channel if key not in CHANNEL_KEYS]
    if unknown:
        raise UserError(
            f"channels: {name}: {unknown[0]} is no key of a channel; there are "
            + ", ".join(CHANNEL_KEYS)
        )
    if not channel.get("source"):
        raise UserError(f"channels: {name}: source is missing")
    return channel


def other_job(job, name):
    other = "process" if job == "train" else "train"
    known = any(row.name == name for row in rows(other))
    command = "launch.py process FILE" if other == "process" else "launch.py FILE"
    return f"; it is one of a {other} job: {command}" if known else ""


def gather(job, path, words):
    """The settings that the file `path` (or None) and the options {row name: value} give."""
    table = {row.name: row for row in rows(job)}
    settings = {}
    for name, value in (read_file(path) if path else {}).items():
        if name not in table:
            near = difflib.get_close_matches(name, table, 1)
            raise UserError(
                f"{path}: {name} is no setting of a {job} job"
                + (f"; did you mean {near[0]}?" if near else other_job(job, name))
            )
        if value is not None:
            settings[name] = from_file(table[name], value)
    for name, value in words.items():
        row = table[name]
        if row.kind in ("map", "channels", "groups"):
            settings[name] = settings.get(name, {}) | from_words(row, value)
        else:
            settings[name] = value if row.kind == "switch" else from_file(row, value)
    if "channels" in settings:
        settings["channels"] = {
            name: channel_map(name, channel) for name, channel in settings["channels"].items()
        }
    return settings
