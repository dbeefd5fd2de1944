"""The folders and files that a job finds in /opt/ml, in a temporary folder for each host."""

import json
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

from emulation.channels import Feeder, fill_folder, objects, share, source_uri
from emulation.store import copy, file_names

ML = "/opt/ml"
SYNC_SECONDS = 0.3


class Mirror(threading.Thread):
    """Keeps a folder in S3 equal to a local folder, including deletions, until end()."""

    def __init__(self, local, remote):
        super().__init__(daemon=True)
        self.local, self.remote, self.over = local, remote, threading.Event()
        local.mkdir(parents=True, exist_ok=True)
        for name in file_names(remote):
            copy(remote / name, local / name)
        self.known = self.state()

    def state(self):
        found = {}
        for name in file_names(self.local):
            try:
                status = (self.local / name).stat()
                found[name] = (status.st_size, status.st_mtime_ns)
            except FileNotFoundError:  # removed since it was listed
                continue
        return found

    def once(self):
        found = self.state()
        for name, state in found.items():
            if self.known.get(name) != state:
                try:
                    copy(self.local / name, self.remote / name)
                except FileNotFoundError:
                    continue
        for name in self.known.keys() - found.keys():
            (self.remote / name).unlink(missing_ok=True)
        self.known = found

    def run(self):
        while not self.over.wait(SYNC_SECONDS):
            self.once()

    def end(self):
        self.over.set()
        self.join()
        self.once()


@dataclass
class Container:
    """One host's container. `mounts`: [(folder, mount point)], mounted read-only at the start."""

    host: str
    base: Path
    environment: dict
    words: list  # command and arguments
    mounts: list = field(default_factory=list)
    threads: list = field(default_factory=list)  # objects with start() and end()


def place(base, path):
    """Returns the real path of a path in the container. /opt/ml is `base`; others are below it."""
    return base / (path.removeprefix(ML).lstrip("/") if path.startswith(ML) else path.lstrip("/"))


def translated(base, text):
    """Replaces /opt/ml by `base` if the text begins with this path."""
    return str(place(base, text)) if text == ML or text.startswith(ML + "/") else text


def instance_groups(request, hosts):
    """Returns the job's groups as resourceconfig.json lists them."""
    resources = request["ResourceConfig"]
    groups = resources.get("InstanceGroups") or [
        {
            "InstanceGroupName": "homogeneousCluster",
            "InstanceType": resources["InstanceType"],
            "InstanceCount": len(hosts),
        }
    ]
    found, first = [], 0
    for group in groups:
        last = first + group["InstanceCount"]
        found.append(
            {
                "instance_group_name": group["InstanceGroupName"],
                "instance_type": group["InstanceType"],
                "hosts": hosts[first:last],
            }
        )
        first = last
    return found


def resource_config(request, hosts, host, interface):
    groups = instance_groups(request, hosts)
    own = next(group for group in groups if host in group["hosts"])
    return {
        "current_host": host,
        "current_instance_type": own["instance_type"],
        "current_group_name": own["instance_group_name"],
        "hosts": sorted(hosts),
        "instance_groups": groups,
        "network_interface_name": interface,
    }


def input_config(request):
    found = {}
    for channel in request.get("InputDataConfig", []):
        source = channel["DataSource"].get("S3DataSource", {})
        found[channel["ChannelName"]] = {
            "TrainingInputMode": channel["InputMode"],
            "S3DistributionType": source.get("S3DataDistributionType", "FullyReplicated"),
            "RecordWrapperType": channel.get("RecordWrapperType", "None"),
        } | ({"ContentType": channel["ContentType"]} if "ContentType" in channel else {})
    return found


def readers(request, hosts, channel):
    """Returns the hosts that have the channel: all, or those of the channel's instance groups."""
    names = channel["DataSource"].get("S3DataSource", {}).get("InstanceGroupNames")
    groups = instance_groups(request, hosts)
    return [
        host
        for group in groups
        for host in group["hosts"]
        if not names or group["instance_group_name"] in names
    ]


def add_channels(container, s3, request, hosts):
    folder = container.base / "input/data"
    for channel in request.get("InputDataConfig", []):
        sharing = readers(request, hosts, channel)
        if container.host not in sharing:
            continue
        number = sharing.index(container.host)
        if channel["InputMode"] == "Pipe":
            container.threads.append(Feeder(s3, channel, folder, number, len(sharing)))
            continue
        found = objects(s3, channel)
        own = share(channel, found, number, len(sharing))
        target, whole = folder / channel["ChannelName"], s3.path(source_uri(channel))
        target.mkdir()
        if channel["InputMode"] == "FastFile" and own == found and whole.is_dir():
            container.mounts.append((whole, target))
        else:
            fill_folder(target, own)


def training_container(s3, request, base, hosts, number, interface, program):
    """Makes the folders, channels and checkpoint mirror of hosts[number]. Returns a Container."""
    host = hosts[number]
    config = base / "input/config"
    for part in ("input/config", "input/data", "model", "output/data", "output/metrics/sagemaker"):
        (base / part).mkdir(parents=True)
    (base / "output/tensorboard").mkdir()
    spec = request["AlgorithmSpecification"]
    words = spec.get("ContainerEntrypoint", []) + spec.get("ContainerArguments", [])
    words = [translated(base, word) for word in words or ["train"]]
    container = Container(host, base, environment(request, base, program, "Training"), words)
    parameters = request.get("HyperParameters", {})
    files = {
        "hyperparameters": {name: translated(base, text) for name, text in parameters.items()},
        "inputdataconfig": input_config(request),
        "resourceconfig": resource_config(request, hosts, host, interface),
    }
    if "CheckpointConfig" in request:
        checkpoints = request["CheckpointConfig"]
        local = place(base, checkpoints["LocalPath"])
        files["checkpointconfig"] = {"LocalPath": str(local)}
        container.threads.append(Mirror(local, s3.path(checkpoints["S3Uri"])))
    for name, value in files.items():
        (config / f"{name}.json").write_text(json.dumps(value))
    add_channels(container, s3, request, hosts)
    return container


def processing_container(s3, request, base, program):
    """Makes a processing job's folders; inputs are links to files in S3. Returns a Container."""
    for entry in request["ProcessingInputs"]:
        target = place(base, entry["S3Input"]["LocalPath"])
        target.mkdir(parents=True)
        channel = {
            "ChannelName": entry["InputName"],
            "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", **entry["S3Input"]}},
        }
        for name, path in objects(s3, channel):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).symlink_to(path.resolve())
    for entry in request["ProcessingOutputConfig"]["Outputs"]:
        place(base, entry["S3Output"]["LocalPath"]).mkdir(parents=True)
    spec = request["AppSpecification"]
    words = spec["ContainerEntrypoint"] + spec.get("ContainerArguments", [])
    words = [word.replace(ML + "/processing", str(base / "processing")) for word in words]
    return Container("algo-1", base, environment(request, base, program, "Processing"), words)


def environment(request, base, program, kind):
    """Makes the links `train` and `shoal` to `program`. Returns the environment variables."""
    (base / "bin").mkdir()
    (base / "tmp").mkdir()
    for name in ("train", "shoal"):
        (base / "bin" / name).symlink_to(program)
    job = request[f"{kind}JobName"]
    arn = f"arn:aws:sagemaker:us-east-1:000000000000:{kind.lower()}-job/{job}"
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TZ") if name in os.environ}
    return kept | {
        "PATH": f"{base}/bin:{os.environ['PATH']}",
        "TMPDIR": str(base / "tmp"),
        "AWS_REGION": "us-east-1",
        f"{kind.upper()}_JOB_NAME": job,
        f"{kind.upper()}_JOB_ARN": arn,
        "SAGEMAKER_BASE_DIR": str(base),
        **{name: translated(base, text) for name, text in request.get("Environment", {}).items()},
    }
