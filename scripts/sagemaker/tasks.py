"""Reads a file with tasks: each task has a map of settings, and other settings apply to all."""

import re
from dataclasses import dataclass

from errors import UserError
from settings import merge, rows

NAME = r"[a-zA-Z0-9](-?[a-zA-Z0-9])*"
DERIVED = {"name", "job_name", "upload", "project", "region"}
SOURCE = re.compile(r"task:([^/]+)/(output|model|state)(/.*)?")


@dataclass
class Task:
    name: str
    kind: str  # Training or Processing
    settings: dict
    place: str  # for messages: file and task

    @property
    def folder(self):
        return f"{self.settings['output'].rstrip('/')}/{self.settings['project']}/{self.name}"

    @property
    def state(self):
        """S3 folder of a training task's checkpoints."""
        return self.settings.get("checkpoints", f"{self.folder}/state").rstrip("/")

    @property
    def prefix(self):
        return f"{self.settings['project']}-{self.name}-"


def merged(shared, own):
    """Returns the settings of a task. Its own override the shared ones; maps are merged."""
    found = dict(shared)
    for name, value in own.items():
        both = isinstance(value, dict) and isinstance(found.get(name), dict)
        found[name] = found[name] | value if both else value
    return found


def read_task(path, name, own, shared, options):
    place = f"{path}: tasks: {name}"
    if not re.fullmatch(NAME, name):
        raise UserError(f"{place}: the name must consist of letters, digits and single '-'")
    if not isinstance(own, dict):
        raise UserError(f"{place} must be a map of settings")
    for key in DERIVED & own.keys():
        raise UserError(f"{place}: {key} cannot be set for a task; remove it")
    special = {row.name for row in rows("process") if row.jobs == "process"}
    job = "process" if special & own.keys() else "train"
    known = {row.name for row in rows(job)}
    values = merged({key: value for key, value in shared.items() if key in known}, own)
    given = {key: value for key, value in options.items() if key in known}
    return Task(
        name,
        "Processing" if job == "process" else "Training",
        merge(job, place, values, given),
        place,
    )


def read_chain(path, found, options):
    """Returns the tasks of the file `path`, whose content is `found`."""
    shared = dict(found)
    tasks = shared.pop("tasks")
    if not isinstance(tasks, dict) or not tasks:
        raise UserError(f"{path}: tasks must be a map of names to settings")
    known = {row.name for job in ("train", "process") for row in rows(job)}
    for key in shared:
        if key not in known:
            raise UserError(f"{path}: {key} is not a setting")
    for key in sorted(DERIVED - {"project", "region"}):
        if key in shared:
            raise UserError(f"{path}: {key} has no effect with tasks; remove it")
        if key in options:
            option = key.replace("_", "-")
            raise UserError(f"--{option} has no effect with tasks; remove it")
    chain = [read_task(path, str(name), own, shared, options) for name, own in tasks.items()]
    for index, task in enumerate(chain):
        for key in ("project", "output"):
            if not task.settings.get(key):
                raise UserError(f"{path}: {key} is missing; tasks need it")
        if not re.fullmatch(NAME, task.settings["project"]):
            raise UserError(
                f"{path}: project is '{task.settings['project']}'; it must consist of letters, "
                "digits and single '-'"
            )
        check_uses(task, {earlier.name: earlier for earlier in chain[:index]})
        check_state(task, chain[:index])
    return chain


def check_state(task, earlier):
    """Raises UserError if the task would continue from the checkpoints of an earlier task."""
    for other in earlier:
        if task.kind == other.kind == "Training" and task.state == other.state:
            raise UserError(
                f"{task.place}: its checkpoints are in {task.state}, like those of the task "
                f"{other.name}; remove the setting checkpoints, or set another folder for each task"
            )


def sources(task):
    """Yields (name for messages, source) of each input of the task."""
    for name, channel in task.settings.get("channels", {}).items():
        yield f"channels: {name}", channel["source"]
    if task.settings.get("source"):
        yield "source", task.settings["source"]


def check_uses(task, earlier):
    """Raises UserError if an input is not a result of an earlier task. `earlier`: {name: Task}."""
    for key, source in sources(task):
        if not source.startswith("task:"):
            continue
        found = SOURCE.fullmatch(source)
        if not found:
            raise UserError(
                f"{task.place}: {key} is '{source}'; it must be task:NAME/output, "
                "task:NAME/model or task:NAME/state, optionally followed by /FOLDER"
            )
        if found[1] not in earlier:
            raise UserError(f"{task.place}: {key}: {found[1]} is not an earlier task")
        if found[2] != "output" and earlier[found[1]].kind == "Processing":
            raise UserError(
                f"{task.place}: {key}: {found[1]} is a processing task; its only result is output"
            )
