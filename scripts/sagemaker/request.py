"""Builds the request for CreateTrainingJob from the settings. Pure functions, no network access."""

import json
import re
import time

from errors import UserError

DEFAULT_VOLUME_GB = 100
DEFAULT_MAX_RUN = 24 * 3600  # seconds
UNKNOWN_ACCOUNT = "arn:aws:iam::000000000000:role/"
FILE_SYSTEMS = {"fsx": "FSxLustre", "efs": "EFS"}
S3_TYPES = {"prefix": "S3Prefix", "manifest": "ManifestFile", "augmented": "AugmentedManifestFile"}


def job_name(settings, kind="shoal"):
    if settings.get("job_name"):
        return settings["job_name"]
    return f"{settings.get('name', kind)}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"


def role_arn(settings):
    """Returns the role's ARN. For a role given by name, account.py later replaces the account."""
    role = settings["role"]
    return role if role.startswith("arn:") else f"{UNKNOWN_ACCOUNT}{role}"


def parse_instances(setting, text):
    """Parses '2 x ml.p4d.24xlarge' as ("ml.p4d.24xlarge", 2)."""
    found = re.fullmatch(r"\s*(?:(\d+)\s*x\s*)?(ml\.\S+)\s*", str(text))
    if not found:
        raise UserError(
            f"{setting} is '{text}'; it must be N x TYPE, such as '2 x ml.p4d.24xlarge'"
        )
    return found[2], int(found[1] or 1)


def as_text(value):
    """Converts a hyperparameter or variable to a string, the only type that the API accepts."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, (list, dict)) else str(value)


def as_texts(values):
    return {name: as_text(value) for name, value in values.items()}


def resources(settings):
    config = {"VolumeSizeInGB": settings.get("volume_gb", DEFAULT_VOLUME_GB)}
    if settings.get("groups"):
        config["InstanceGroups"] = []
        for name, text in settings["groups"].items():
            kind, count = parse_instances(f"groups: {name}", text)
            config["InstanceGroups"].append(
                {"InstanceGroupName": name, "InstanceType": kind, "InstanceCount": count}
            )
    if settings.get("instances"):
        config["InstanceType"], config["InstanceCount"] = parse_instances(
            "instances", settings["instances"]
        )
    if "keep_alive" in settings:
        config["KeepAlivePeriodInSeconds"] = settings["keep_alive"]
    return config


def file_system(name, channel):
    scheme, _, place = channel["source"].partition("://")
    identity, _, path = place.partition("/")
    if any(key in channel for key in ("type", "distribution", "shuffle", "attributes", "groups")):
        raise UserError(
            f"channels: {name}: a file system takes only source, access, mode and "
            "content_type"
        )
    return {
        "FileSystemDataSource": {
            "FileSystemId": identity,
            "FileSystemType": FILE_SYSTEMS[scheme],
            "FileSystemAccessMode": channel.get("access", "ro"),
            "DirectoryPath": "/" + path,
        }
    }


def s3_source(name, channel):
    kind = channel.get("type", "prefix")
    if kind not in S3_TYPES:
        raise UserError(f"channels: {name}: type is '{kind}'; it must be {', '.join(S3_TYPES)}")
    if "access" in channel:
        raise UserError(f"channels: {name}: access is for a file system (fsx://, efs://)")
    source = {
        "S3DataType": S3_TYPES[kind],
        "S3Uri": channel["source"],
        "S3DataDistributionType": channel.get("distribution", "FullyReplicated"),
    }
    if "attributes" in channel:
        source["AttributeNames"] = channel["attributes"]
    if "groups" in channel:
        source["InstanceGroupNames"] = channel["groups"]
    return {"S3DataSource": source}


def channel_request(name, channel):
    """Returns one entry of InputDataConfig.

    Local folders and results of other jobs must already be replaced by S3 addresses.
    """
    scheme = channel["source"].partition("://")[0]
    if scheme not in ("s3", "https", *FILE_SYSTEMS):
        raise UserError(
            f"channels: {name}: source is '{channel['source']}'; it must be s3://…, "
            "fsx://FILE-SYSTEM/PATH, efs://FILE-SYSTEM/PATH, job:JOB/model or a local folder"
        )
    make = file_system if scheme in FILE_SYSTEMS else s3_source
    entry = {
        "ChannelName": name,
        "DataSource": make(name, channel),
        "InputMode": channel.get("mode", "File"),
    }
    for key, field in (
        ("content_type", "ContentType"),
        ("compression", "CompressionType"),
        ("wrapper", "RecordWrapperType"),
    ):
        if key in channel:
            entry[field] = str(channel[key])
    if "shuffle" in channel:
        if not re.fullmatch(r"\d+", str(channel["shuffle"])):
            raise UserError(
                f"channels: {name}: shuffle is '{channel['shuffle']}'; it must be a seed, "
                "a whole number"
            )
        entry["ShuffleConfig"] = {"Seed": int(channel["shuffle"])}
    return entry


def vpc(settings):
    return {
        "SecurityGroupIds": settings.get("security_groups", []),
        "Subnets": settings.get("subnets", []),
    }


def add_labels(request, settings):
    """Adds tags and experiment to the request. `launch.py search` can find jobs by them."""
    if settings.get("tags"):
        request["Tags"] = [
            {"Key": key, "Value": value} for key, value in as_texts(settings["tags"]).items()
        ]
    experiment = {
        field: settings[key]
        for key, field in (("experiment", "ExperimentName"), ("trial", "TrialName"))
        if settings.get(key)
    }
    if experiment:
        request["ExperimentConfig"] = experiment | {"TrialComponentDisplayName": "shoal"}


def need(settings, *names):
    missing = [
        f"{name} is missing: set it in the file or as --{name.replace('_', '-')}"
        for name in names
        if not settings.get(name)
    ]
    if missing:
        raise UserError(*missing)


def algorithm(settings, definitions):
    spec = {"TrainingImage": settings["image"], "TrainingInputMode": "File"}
    for key, field in (("entrypoint", "ContainerEntrypoint"), ("arguments", "ContainerArguments")):
        if settings.get(key):
            spec[field] = settings[key]
    if definitions:
        spec["MetricDefinitions"] = definitions
    if "metrics_time_series" in settings:
        spec["EnableSageMakerMetricsTimeSeries"] = settings["metrics_time_series"]
    return spec


def stopping(settings):
    condition = {"MaxRuntimeInSeconds": settings.get("max_run", DEFAULT_MAX_RUN)}
    if "max_wait" in settings:
        condition["MaxWaitTimeInSeconds"] = settings["max_wait"]
    return condition


def training_request(settings, definitions=()):
    """Returns the request, not yet checked by limits.py. Raises UserError if it cannot be built."""
    need(settings, "image", "role", "output")
    if not settings.get("instances") and not settings.get("groups"):
        raise UserError("instances is missing: set it in the file or as --instances 'N x TYPE'")
    request = {
        "TrainingJobName": job_name(settings),
        "AlgorithmSpecification": algorithm(settings, list(definitions)),
        "RoleArn": role_arn(settings),
        "OutputDataConfig": {
            "S3OutputPath": settings["output"],
            "CompressionType": "GZIP" if settings.get("compress") else "NONE",
        },
        "ResourceConfig": resources(settings),
        "StoppingCondition": stopping(settings),
        "EnableManagedSpotTraining": settings.get("spot", False),
        "EnableNetworkIsolation": settings.get("isolate", False),
        "EnableInterContainerTrafficEncryption": settings.get("encrypt_traffic", False),
    }
    if settings.get("channels"):
        request["InputDataConfig"] = [
            channel_request(name, channel) for name, channel in settings["channels"].items()
        ]
    if settings.get("hyperparameters"):
        # shoal ignores the text null. An empty text turns a flag on.
        request["HyperParameters"] = {
            name: "null" if value is None else as_text(value)
            for name, value in settings["hyperparameters"].items()
        }
    if settings.get("environment"):
        request["Environment"] = as_texts(settings["environment"])
    if settings.get("subnets") or settings.get("security_groups"):
        request["VpcConfig"] = vpc(settings)
    if settings.get("checkpoints"):
        request["CheckpointConfig"] = {
            "S3Uri": settings["checkpoints"],
            "LocalPath": settings.get("checkpoint_path", "/opt/ml/checkpoints"),
        }
    elif settings.get("checkpoint_path"):
        raise UserError("checkpoint_path has no effect without checkpoints; set an S3 folder")
    if settings.get("tensorboard"):
        request["TensorBoardOutputConfig"] = {
            "S3OutputPath": settings["tensorboard"],
            "LocalPath": "/opt/ml/output/tensorboard",
        }
    if "retries" in settings:
        request["RetryStrategy"] = {"MaximumRetryAttempts": settings["retries"]}
    if settings.get("remote_debug"):
        request["RemoteDebugConfig"] = {"EnableRemoteDebug": True}
    add_labels(request, settings)
    return request
