"""Runs the tasks of a file in order. A task can use the results of earlier tasks.

Names of jobs and S3 folders are derived from the project and the task. No state is stored on this
machine: SageMaker's list of jobs shows which tasks are complete. The S3 folders are:

    OUTPUT/PROJECT/TASK/state         checkpoints of a training task, for its next job
    OUTPUT/PROJECT/TASK/input         uploaded local folders
    OUTPUT/PROJECT/TASK/JOB/output    results of one job
"""

import re
import sys
import time

import aws
import jobs
import submission
from errors import UserError
from tasks import SOURCE
from upload import listing, split_uri


def newest_job(sagemaker, task):
    """Returns the description of the task's newest job, or None."""
    pages = sagemaker.get_paginator(f"list_{task.kind.lower()}_jobs").paginate(
        NameContains=task.prefix
    )
    names = [
        entry[f"{task.kind}JobName"] for page in pages for entry in page[f"{task.kind}JobSummaries"]
    ]
    for name in sorted(names, reverse=True):  # newest first: names end with the time
        if re.fullmatch(re.escape(task.prefix) + r"\d{8}-\d{6}", name):
            found = jobs.describe(sagemaker, name, task.kind)
            # Jobs of project a-b, task c and of project a, task b-c have the same name prefix.
            if jobs.result_address(found, "output").startswith(f"{task.folder}/{name}/"):
                return found
    return None


def inputs(found):
    """Returns {name: address} of the inputs in a job's description or request."""
    if jobs.kind_of(found) == "Processing":
        entries = found.get("ProcessingInputs", [])
        return {entry["InputName"]: entry["S3Input"]["S3Uri"] for entry in entries}
    return {
        entry["ChannelName"]: (
            entry["DataSource"].get("S3DataSource", {}).get("S3Uri")
            or entry["DataSource"].get("FileSystemDataSource", {}).get("DirectoryPath")
        )
        for entry in found.get("InputDataConfig", [])
    }


def say(task, text):
    print(f"{task.name}: {text}", flush=True)


class Chain:
    def __init__(self, tasks, arguments):
        self.tasks = {task.name: task for task in tasks}
        self.arguments = arguments
        self.found = {}  # {task: description of the job whose results later tasks use}
        wanted = arguments.task or list(self.tasks)
        for name in wanted:
            if name not in self.tasks:
                raise UserError(f"--task: there is no task {name}; tasks: {', '.join(self.tasks)}")
        self.selected = [task for task in tasks if task.name in wanted]
        training = [task for task in self.selected if task.kind == "Training"]
        if arguments.clean_state and not training:
            raise UserError("--clean-state: none of the tasks has checkpoints")

    def sagemaker(self, task):
        return aws.client("sagemaker", task.settings.get("region"))

    def has_state(self, task):
        s3 = aws.client("s3", task.settings.get("region"))
        return bool(listing(s3, *split_uri(task.state + "/")))

    def address(self, task, key, source):
        """Returns the S3 address of a source such as task:prepare/output/train."""
        if not source.startswith("task:"):
            return source
        name, what, part = SOURCE.fullmatch(source).groups()
        used = self.tasks[name]
        if what == "state":
            return used.state + (part or "/")
        if name not in self.found:
            found = newest_job(self.sagemaker(used), used)
            if not found or jobs.status_of(found) != "Completed":
                raise UserError(f"{task.place}: {key}: task {name} is not complete; run it first")
            self.found[name] = found
        try:
            folder = jobs.result_folder(self.found[name], what)
        except UserError as error:
            raise UserError(f"{task.place}: {key}: {error}") from None
        return folder + (part or "").removeprefix("/")

    def build(self, task, when=None):
        """Returns the Submission of a new job. `when`: end of the job name [default: the time]."""
        settings = dict(task.settings)
        job = task.prefix + (when or time.strftime("%Y%m%d-%H%M%S", time.gmtime()))
        settings |= {"job_name": job, "upload": f"{task.folder}/input", "output": task.folder}
        if task.kind == "Processing":
            settings["output"] = f"{task.folder}/{job}/output"
        else:
            settings.setdefault("checkpoints", task.state)
        if "channels" in settings:
            settings["channels"] = {
                name: channel
                | {"source": self.address(task, f"channels: {name}", channel["source"])}
                for name, channel in settings["channels"].items()
            }
        if settings.get("source"):
            settings["source"] = self.address(task, "source", settings["source"])
        try:
            return submission.build(task.kind, settings)
        except UserError as error:
            raise UserError(*(f"{task.place}: {one}" for one in error.sentences)) from None

    def earlier(self, task, made, found, wait):
        """Returns None if the task needs a new job, else the exit code of its newest job.

        If that job is still running, waits for it if `wait`, else returns 0. `made`: Submission of
        a new job. `found`: description of the newest job, or None.
        """
        if not found:
            return None
        job = jobs.name_of(found)
        if jobs.status_of(found) not in jobs.ENDED:
            if self.arguments.force:
                raise UserError(
                    f"{task.place}: {job} is still running; stop it first, or omit --force"
                )
            say(task, f"{job} is running")
            self.found[task.name] = found
            if not wait:
                return 0
            found = jobs.wait(self.sagemaker(task), job, self.arguments.poll, kind=task.kind)
            if jobs.status_of(found) != "Completed":
                return self.ended(task, found)
        was, now = inputs(found), inputs(made.request)
        changed = [name for name in was | now if was.get(name) != now.get(name)]
        decided = self.arguments.clean_state or self.arguments.keep_state
        if changed and task.kind == "Training" and not decided and self.has_state(task):
            raise UserError(
                f"{task.place}: the input {changed[0]} of {job} was {was.get(changed[0])}, now it "
                f"is {now.get(changed[0])}; add --clean-state to delete the checkpoints of that "
                f"job in {task.state}, or --keep-state to continue from them"
            )
        if self.arguments.force or jobs.status_of(found) != "Completed":
            return None
        if changed:
            say(task, f"{job} is complete, but its input {changed[0]} has changed")
            return None
        anew = " (with --clean-state: from the beginning)" if task.kind == "Training" else ""
        say(task, f"{job} is complete; --force runs the task again{anew}")
        self.found[task.name] = found
        return 0

    def ended(self, task, found):
        """Prints the result of a job that has ended. Returns its exit code."""
        code, text = jobs.outcome(found)
        print(text, flush=True)
        later = [t.name for t in self.selected[self.selected.index(task) + 1 :]]
        if code and later:
            print(f"not started: {', '.join(later)}", file=sys.stderr)
        self.found[task.name] = found
        return code

    def check(self):
        """Raises UserError for mistakes in any selected task, before the first job starts."""
        for task in self.selected:
            self.found[task.name] = self.build(task, when="00000000-000000").request
        for task in self.selected:
            del self.found[task.name]

    def run(self):
        """Runs the selected tasks. Returns the exit code of the first job that fails, else 0."""
        self.check()
        for task in self.selected:
            last = task is self.selected[-1]
            wait = not last or self.arguments.wait
            made = self.build(task)
            clean = self.arguments.clean_state and task.kind == "Training"
            if self.arguments.dry_run:
                submission.show(made, clean)
                self.found[task.name] = made.request
                continue
            code = self.earlier(task, made, newest_job(self.sagemaker(task), task), wait)
            if code:
                return code
            if code == 0:
                continue
            submission.notes(made)
            say(task, f"starting {made.job}")
            submission.start(made, task.settings, self.arguments.create, clean)
            if not wait:
                continue
            found = jobs.wait(self.sagemaker(task), made.job, self.arguments.poll, kind=task.kind)
            if code := self.ended(task, found):
                return code
        return 0
