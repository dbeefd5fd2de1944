"""Runs one job from its request to its description: start, interruptions, end, results."""

import datetime
import queue
import re
import shutil
import sys
import tarfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import logs
from emulation.cluster import Cluster
from emulation.container import place, processing_container, training_container
from emulation.store import S3, copy, file_names
from errors import UserError
from job_secret import without_secret
from jobs import kind_of, name_of

FAILURE_CHARACTERS = 1024


@dataclass
class Plan:
    """Options of `emulate`."""

    root: Path
    program: str
    hosts: int | None = None  # None: as in the request
    loopback: bool = False
    keep: bool = False
    kill: bool = False  # interrupt without SIGTERM
    stop_after: list = field(default_factory=list)  # seconds of training until each interruption
    stop_at: list = field(default_factory=list)  # regular expressions: a matching line interrupts

    def check(self, request):
        """Raises UserError if the options do not fit the request."""
        if kind_of(request) == "Processing":  # is never interrupted, but may be in a chain
            return
        if (self.stop_after or self.stop_at) and not request.get("EnableManagedSpotTraining"):
            raise UserError(
                "--stop-after, --stop-at: only spot jobs are restarted; set spot, max_wait and "
                "checkpoints"
            )


class Life:
    def __init__(self, plan, request):
        self.plan, self.request = plan, request
        self.kind, self.job = kind_of(request), name_of(request)
        self.s3 = S3(plan.root)
        self.folder = Path(plan.root).resolve() / ".containers" / self.job
        self.events = []  # (milliseconds, host, line)
        spot = request.get("EnableManagedSpotTraining")
        self.after = list(plan.stop_after) if spot else []
        self.at = [re.compile(text) for text in plan.stop_at] if spot else []
        self.limit = request["StoppingCondition"]["MaxRuntimeInSeconds"]
        self.trained = 0.0  # seconds

    def status(self, text):
        print(f"{self.job}: InProgress {text}", file=sys.stderr, flush=True)

    def count(self):
        if self.kind == "Processing":
            return 1
        resources = self.request["ResourceConfig"]
        groups = resources.get("InstanceGroups", [])
        if self.plan.hosts and groups:
            raise UserError("--hosts: the job has groups, which determine the number of hosts")
        return self.plan.hosts or sum(g["InstanceCount"] for g in groups or [resources])

    def make(self, cluster, attempt):
        """Makes new, empty containers, as the platform does for each start."""
        folder = self.folder / str(attempt)
        if self.kind == "Processing":
            return [
                processing_container(self.s3, self.request, folder / "algo-1", self.plan.program)
            ]
        return [
            training_container(
                self.s3,
                self.request,
                folder / host,
                cluster.hosts,
                number,
                cluster.interface,
                self.plan.program,
            )
            for number, host in enumerate(cluster.hosts)
        ]

    def show(self, cluster, host, line):
        self.events.append((int(time.time() * 1000), host, line))
        print(f"{host} | {line}" if len(cluster.hosts) > 1 else line, flush=True)

    def due(self, begun, line):
        """Returns whether an interruption is due. If so, removes it from its list."""
        if self.after and time.monotonic() - begun >= self.after[0]:
            self.after.pop(0)
            return True
        if line and self.at and self.at[0].search(line):
            self.at.pop(0)
            return True
        return False

    def check_feeders(self, containers):
        """Raises UserError if writing a Pipe channel has failed."""
        for container in containers:
            for thread in container.threads:
                if error := getattr(thread, "error", ""):  # of a Feeder
                    raise UserError(error)

    def watch(self, cluster, containers):
        """Waits until all containers have ended. Returns why they were stopped, or ""."""
        begun, deadline, reason = time.monotonic(), None, ""
        waiting = set(cluster.processes)
        while waiting:
            try:
                host, line = cluster.lines.get(timeout=0.05)
            except queue.Empty:
                host, line = None, None
            if host and line is None:
                waiting.discard(host)
                if cluster.processes[host].returncode != 0 and deadline is None and waiting:
                    deadline = cluster.terminate()  # a host that fails ends the job
            elif host:
                self.show(cluster, host, line)
            self.check_feeders(containers)
            if not reason and deadline is None and waiting:
                if self.due(begun, line):
                    reason = "Interrupted"
                    deadline = cluster.terminate() if not self.plan.kill else 0
                elif time.monotonic() - begun + self.trained >= self.limit:
                    reason, deadline = "MaxRuntimeExceeded", cluster.terminate()
            if deadline is not None and time.monotonic() >= deadline:
                cluster.kill()
                deadline = float("inf")
        self.trained += time.monotonic() - begun
        return reason

    def attempt(self, cluster, number):
        """Runs the containers once. Returns (containers, why they were stopped, exit codes)."""
        self.status("Starting")
        self.status("Downloading")
        containers = self.make(cluster, number)
        self.status("Training" if self.kind == "Training" else "Processing")
        threads = [thread for container in containers for thread in container.threads]
        try:
            for thread in threads:
                thread.start()
            for container in containers:
                cluster.start(container)
            reason = self.watch(cluster, containers)
        finally:
            cluster.kill()
            for thread in threads:
                if thread.is_alive():
                    thread.end()
        return containers, reason, cluster.exit_codes()

    def run(self):
        """Runs the job to its end and returns its description."""
        cluster, number = Cluster(self.count(), self.plan.loopback), 0
        shutil.rmtree(self.folder, ignore_errors=True)  # of an earlier job with the same name
        started = datetime.datetime.now(datetime.timezone.utc)
        try:
            while True:
                containers, reason, codes = self.attempt(cluster, number)
                if reason != "Interrupted":
                    self.warn_about_unused()
                    break
                self.status("Interrupted")
                self.store_tensorboard(containers)
                number += 1
                cluster.clear()
                self.drop(containers)
            found = self.finish(containers, reason, codes)
        finally:
            cluster.end()
            if not self.plan.keep:
                shutil.rmtree(self.folder, ignore_errors=True)
        return found | {"CreationTime": started.isoformat()}

    def warn_about_unused(self):
        """Warns about interruptions that did not happen."""
        for option, values in (("--stop-after", self.after), ("--stop-at", self.at)):
            for value in values:
                text = getattr(value, "pattern", value)
                print(
                    f"{self.job}: the job ended before {option} {text} interrupted it",
                    file=sys.stderr,
                )

    def drop(self, containers):
        for container in containers:
            if not self.plan.keep:
                shutil.rmtree(container.base, ignore_errors=True)

    def finish(self, containers, reason, codes):
        failed = [container for container in containers if codes[container.host]]
        found = without_secret(self.request) | {
            f"{self.kind}JobArn": containers[0].environment[f"{self.kind.upper()}_JOB_ARN"],
        }
        status = "Stopped" if reason else "Failed" if failed else "Completed"
        found[f"{self.kind}JobStatus"] = status
        if status == "Failed":
            found["FailureReason"] = self.failure(failed, codes)
        if self.kind == "Training":
            self.status("Uploading")
            found["SecondaryStatus"] = reason or status
            found["TrainingTimeInSeconds"] = round(self.trained)
            found["ModelArtifacts"] = {"S3ModelArtifacts": self.upload(containers)}
            found["FinalMetricDataList"] = self.metrics()
        elif not failed:
            for entry in self.request["ProcessingOutputConfig"]["Outputs"]:
                output = entry["S3Output"]
                self.store(containers, output["LocalPath"], output["S3Uri"])
        return found

    def failure(self, failed, codes):
        """Returns why the job failed: the first failure file found, else an exit code."""
        for container in failed:
            path = container.base / "output/failure"
            if path.exists():
                text = path.read_text(errors="replace")[:FAILURE_CHARACTERS].strip()
                return f"AlgorithmError: {text}, exit code: {codes[container.host]}"
        return f"AlgorithmError: Exit Code: {codes[failed[0].host]}"

    def store(self, containers, local, uri, archive=None):
        """Copies a folder of all containers to S3, as files or as one archive. Returns the address.

        If several hosts have a file of the same name, the first host's is stored.
        """
        files = {}
        for container in reversed(containers):
            folder = place(container.base, local)
            files |= {name: folder / name for name in file_names(folder)}
        target = self.s3.path(uri)
        if archive:
            target.mkdir(parents=True, exist_ok=True)
            with tarfile.open(target / archive, "w:gz") as tar:
                for name, path in sorted(files.items()):
                    tar.add(path, name)
            return f"{uri.rstrip('/')}/{archive}"
        for name, path in files.items():
            copy(path, target / name)
        return uri

    def store_tensorboard(self, containers):
        """Copies TensorBoard's folder to S3 if the job's request contains an address for it.

        The platform uploads the folder during the job, not only at the end.
        """
        if config := self.request.get("TensorBoardOutputConfig"):
            self.store(containers, config["LocalPath"], config["S3OutputPath"])

    def upload(self, containers):
        """Copies the results to S3. Returns the address of the model."""
        output = self.request["OutputDataConfig"]
        base = f"{output['S3OutputPath'].rstrip('/')}/{self.job}/output"
        self.store_tensorboard(containers)
        if output["CompressionType"] == "GZIP":
            self.store(containers, "/opt/ml/output/data", base, "output.tar.gz")
            return self.store(containers, "/opt/ml/model", base, "model.tar.gz")
        self.store(containers, "/opt/ml/output/data", f"{base}/data/")
        return self.store(containers, "/opt/ml/model", f"{base}/model/")

    def metrics(self):
        """Returns the last value of each metric that the request's definitions find in the log."""
        given = self.request["AlgorithmSpecification"].get("MetricDefinitions", [])
        last = {}
        for when, name, text in logs.series(self.events, given):
            try:
                last[name] = {"MetricName": name, "Value": float(text), "Timestamp": when // 1000}
            except ValueError:  # not a number: SageMaker drops it too
                continue
        return list(last.values())
