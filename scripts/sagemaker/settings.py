"""The table of job settings. Values come from a file (YAML or JSON) and the command line.

A setting has the same name in both, with `_` in the file and `-` on the command line. The command
line wins; maps are merged. Values become str, int (also for seconds), bool, list or dict.
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
    jobs: str = "both"  # jobs that have the setting: train, process or both
    flag: str = ""  # option name if it differs from `name`, for example for one entry of a map

    @property
    def option(self):
        return "--" + (self.flag or self.name.replace("_", "-"))

    @property
    def is_map(self):
        return self.kind in ("map", "channels", "groups")


TABLE = [
    Row("project", "text", "with tasks: first part of job names and of S3 folders"),
    Row(
        "name",
        "text",
        "prefix of the job's name; the time is appended "
        "[default: shoal; processing jobs: shoal-pack, shoal-prepare or shoal-download]",
    ),
    Row("job_name", "text", "full name of the job, instead of name"),
    Row("image", "text", "container image in ECR"),
    Row("role", "text", "IAM role of the job: its name, or arn:aws:iam::ACCOUNT:role/NAME"),
    Row("region", "text", "AWS region [default: from the AWS configuration]"),
    Row("instances", "text", "number and type of instances, for example '2 x ml.p4d.24xlarge'"),
    Row(
        "groups",
        "groups",
        "instance group, instead of instances: NAME='N x TYPE'",
        "train",
        "group",
    ),
    Row("volume_gb", "integer", "size of the disk for data and outputs in GB [default: 100]"),
    Row("max_run", "seconds", "time limit of the run: seconds, or 90m, 24h, 5d [default: 24h]"),
    Row("spot", "switch", "use spot instances; needs max_wait and checkpoints", "train"),
    Row("max_wait", "seconds", "spot: time limit of waiting and running together", "train"),
    Row("keep_alive", "seconds", "warm pool: time that instances are kept after the job", "train"),
    Row("retries", "integer", "retries after a platform error, 1 to 30", "train"),
    Row(
        "output",
        "text",
        "S3 folder for results; a training job stores them in OUTPUT/JOB/output",
    ),
    Row("compress", "switch", "store model.tar.gz and output.tar.gz instead of folders", "train"),
    Row(
        "checkpoints",
        "text",
        "S3 copy of the checkpoints; a later job with the same folder resumes from it",
        "train",
    ),
    Row(
        "checkpoint_path",
        "text",
        "checkpoint folder in the container [default: /opt/ml/checkpoints]",
        "train",
    ),
    Row(
        "tensorboard",
        "text",
        "S3 copy of the files in /opt/ml/output/tensorboard",
        "train",
    ),
    Row(
        "channels",
        "channels",
        "input channel: NAME=SOURCE[,KEY=VALUE…]; see docs/sagemaker.md",
        "train",
        "channel",
    ),
    Row(
        "upload",
        "text",
        "S3 folder to which local folders are uploaded [default: OUTPUT/upload; a processing job "
        "needs one outside output]",
    ),
    Row("upload_hidden", "switch", "also upload files and folders whose names begin with a dot"),
    Row(
        "hyperparameters",
        "map",
        "option of `shoal train`: NAME=VALUE",
        "train",
        "hyperparameter",
    ),
    Row("environment", "map", "environment variable of the container: NAME=VALUE", flag="env"),
    Row("entrypoint", "list", "replaces the image's entry point; comma-separated", "train"),
    Row("arguments", "list", "replaces the container argument `train`; comma-separated", "train"),
    Row("subnets", "list", "VPC subnets, comma-separated"),
    Row("security_groups", "list", "VPC security groups, comma-separated"),
    Row("isolate", "switch", "no network access except to the job's other instances"),
    Row("encrypt_traffic", "switch", "encrypt traffic between the instances"),
    Row(
        "metrics",
        "text",
        "metric definitions: a JSON file, the program shoal or none "
        "[default: build/release/shoal, or shoal on PATH]",
        "train",
    ),
    Row(
        "metrics_time_series",
        "switch",
        "store each value of the metrics [default: on if there are metric definitions]",
        "train",
    ),
    Row("remote_debug", "switch", "allow shells in the running containers, through SSM", "train"),
    Row("tags", "map", "tag for `launch.py search`: NAME=VALUE", flag="tag"),
    Row("experiment", "text", "experiment that the job belongs to"),
    Row("trial", "text", "trial of the experiment"),
    Row(
        "download",
        "list",
        "URLs of files to copy to output, instead of source; comma-separated",
        "process",
    ),
    Row(
        "source",
        "text",
        "S3 or local folder with one folder of images per class, or with ImageNet's archives",
        "process",
    ),
    Row(
        "prepare",
        "text",
        "prepare ImageNet's archives as folders, tars or packs, with `shoal prepare imagenet` "
        "[default: pack one file with `shoal pack`]",
        "process",
    ),
    Row("pack", "text", "name of the packed file [default: train.pack]", "process"),
    Row(
        "pack_options",
        "list",
        "options of `shoal pack`, also for prepare=packs, comma-separated: --max-side,500",
        "process",
    ),
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
    """Parses NAME=SOURCE[,KEY=VALUE...] as {NAME: {"source": SOURCE, KEY: VALUE, ...}}."""
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


def converted(row, value):
    """Converts a value from YAML, JSON or the command line to the type of its setting."""
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
    if row.is_map:
        if not isinstance(value, dict):
            raise UserError(f"{row.name} must be a map of names to values")
        found = {str(name): entry for name, entry in value.items()}
        if row.kind == "channels":
            return {name: channel_map(name, channel) for name, channel in found.items()}
        return found
    return str(value)


def from_words(row, words):
    """Merges the values of a repeatable option into one map."""
    merged = {}
    for word in words:
        if row.kind == "channels":
            merged.update(parse_channel(row, word))
        else:
            name, value = parse_pair(row, word)
            merged[name] = value
    return merged


def unique(pairs):
    """Returns the map of these pairs. Raises ValueError if a key occurs twice."""
    found = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key} occurs twice in one map")
        found[key] = value
    return found


def load_yaml(yaml, text):
    """Like yaml.safe_load(), but refuses a key that occurs twice in one map."""

    class Loader(yaml.SafeLoader):
        def compose_mapping_node(self, anchor):
            node = super().compose_mapping_node(anchor)
            keys = [key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
            try:
                unique((str(key.value), None) for key in keys)
            except ValueError as error:
                raise yaml.composer.ComposerError(None, None, str(error), node.start_mark) from None
            return node

    return yaml.load(text, Loader)


def read_file(path):
    """Returns the map in a settings file, JSON or YAML. YAML needs PyYAML."""
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text: {error}") from None
    if Path(path).suffix == ".json":
        try:
            found = json.loads(text, object_pairs_hook=unique)
        except ValueError as error:
            raise UserError(f"{path} is not valid JSON: {error}") from None
    else:
        try:
            import yaml
        except ImportError:
            raise UserError(
                f"reading {path} needs PyYAML: run `python3 -m pip install PyYAML`, "
                "or write the settings as a .json file"
            ) from None
        try:
            found = load_yaml(yaml, text)
        except yaml.YAMLError as error:
            raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} must contain a map of settings")
    return found


def channel_map(name, channel):
    """Returns the channel as a map. `channel` is a map or a source."""
    if not isinstance(channel, dict):
        channel = {"source": str(channel)}
    unknown = [key for key in channel if key not in CHANNEL_KEYS]
    if unknown:
        raise UserError(
            f"channels: {name}: unknown key {unknown[0]}; the keys are " + ", ".join(CHANNEL_KEYS)
        )
    if not channel.get("source"):
        raise UserError(f"channels: {name}: source is missing")
    if not isinstance(channel["source"], str):
        raise UserError(f"channels: {name}: source is {channel['source']}; it must be text")
    return channel


def other_job(job, name):
    if name == "tasks":
        return "; start a file with tasks with `launch.py FILE`"
    other = "process" if job == "train" else "train"
    known = any(row.name == name for row in rows(other))
    command = "launch.py process FILE" if other == "process" else "launch.py FILE"
    return f"; it belongs to a {other} job: {command}" if known else ""


def merge(job, origin, values, options):
    """Merges the `values` of a file with the `options` of the command line.

    Both are {setting name: value}. Options win; maps are merged. Errors name `origin`, which is the
    file or a part of it.
    """
    table = {row.name: row for row in rows(job)}
    settings = {}
    for name, value in values.items():
        if name not in table:
            near = difflib.get_close_matches(name, table, 1)
            raise UserError(
                f"{origin}: {name} is not a setting of a {job} job"
                + (other_job(job, name) or (f"; did you mean {near[0]}?" if near else ""))
            )
        if value is not None:
            try:
                settings[name] = converted(table[name], value)
            except UserError as error:
                raise UserError(f"{origin}: {error}") from None
    for name, value in options.items():
        row = table[name]
        if row.is_map:
            given = converted(row, from_words(row, value))
            settings[name] = settings.get(name, {}) | given
        else:
            settings[name] = converted(row, value)
    return settings
