"""Checks requests before they are sent, so that all mistakes are reported at once.

`model_violations` checks against botocore's description of the API: required fields, types,
lengths, counts, patterns and enumerations. `training_violations` adds the limits that only the
developer guide states. Each violation is one line that begins with the field.
"""

import functools
import re
import sys

from botocore.loaders import Loader
from botocore.model import ServiceModel

DAYS_28 = 28 * 86400
PYTHON_TYPES = {
    "string": str,
    "structure": dict,
    "map": dict,
    "list": list,
    "boolean": bool,
    "integer": int,
    "long": int,
}
# Java's character classes that Python lacks, and the closest Python equivalents.
JAVA_CLASSES = {r"\p{L}": r"\w", r"\p{N}": r"\d", r"\p{Z}": r"\s", r"\p{Alnum}": "a-zA-Z0-9"}
# Prefixes of the instance types with EFA.
EFA_TYPES = (
    "ml.p3dn.",
    "ml.p4d.",
    "ml.p4de.",
    "ml.p5.48",
    "ml.p5e.",
    "ml.p5en.",
    "ml.p6",
    "ml.g4dn.8",
    "ml.g4dn.12",
    "ml.g5.48",
    "ml.trn1.32",
    "ml.trn1n.",
)


@functools.cache
def service_model():
    return ServiceModel(Loader().load_service_model("sagemaker", "service-2"), "sagemaker")


def matches(pattern, text):
    for java, python in JAVA_CLASSES.items():
        pattern = pattern.replace(java, python)
    return re.fullmatch(pattern, text) is not None


def check_size(field, size, shape, unit):
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if most is not None and size > most:
        yield f"{field}: {size}{unit}; at most {most} are allowed"
    if least is not None and size < least:
        yield f"{field}: {size}{unit}; at least {least} {'is' if least == 1 else 'are'} needed"


def check_text(field, text, shape):
    sizes = list(check_size(field, len(text), shape, " characters"))
    if sizes:
        yield from sizes
        return
    if shape.enum and text not in shape.enum:
        few = f"; it must be {', '.join(shape.enum)}" if len(shape.enum) < 12 else ""
        yield f"{field}: '{text}' is not a valid value{few}"
    pattern = shape.metadata.get("pattern")
    if pattern and not matches(pattern, text):
        yield f"{field}: '{text}' does not match {pattern}"


def check_structure(field, value, shape):
    for name in shape.required_members:
        if name not in value:
            yield f"{field + '.' if field else ''}{name}: is missing"
    for name, entry in value.items():
        path = f"{field}.{name}" if field else name
        if name in shape.members:
            yield from check(path, entry, shape.members[name])
        else:
            yield f"{path}: is not a field of the API"


def check(field, value, shape):
    """Yields a line for each way in which `value` violates `shape`. `field`: path of the value."""
    wanted = PYTHON_TYPES.get(shape.type_name)
    if wanted and (not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))):
        yield f"{field}: must be a {shape.type_name}, not {value!r}"
    elif shape.type_name == "structure":
        yield from check_structure(field, value, shape)
    elif shape.type_name == "list":
        yield from check_size(field, len(value), shape, " entries")
        for index, entry in enumerate(value):
            yield from check(f"{field}[{index}]", entry, shape.member)
    elif shape.type_name == "map":
        yield from check_size(field, len(value), shape, " entries")
        for key, entry in value.items():
            yield from check(f"{field} name", key, shape.key)
            yield from check(f"{field}.{key}", entry, shape.value)
    elif shape.type_name == "string":
        yield from check_text(field, value, shape)
    elif shape.type_name in ("integer", "long"):
        yield from check_size(field, value, shape, "")


def model_violations(operation, request):
    return list(check("", request, service_model().operation_model(operation).input_shape))


def duplicates(field, names):
    seen = set()
    for name in names:
        if name in seen:
            yield f"{field}: {name} is listed twice"
        seen.add(name)


def instance_rules(request):
    resources = request["ResourceConfig"]
    groups = resources.get("InstanceGroups", [])
    if groups and "InstanceType" in resources:
        yield "ResourceConfig: set either instances or groups, not both"
    yield from duplicates(
        "ResourceConfig.InstanceGroups", [group["InstanceGroupName"] for group in groups]
    )
    for place in groups or [resources]:
        if place.get("InstanceCount", 1) < 1:
            yield "ResourceConfig.InstanceCount: 0; at least 1 is needed"
    if resources.get("VolumeSizeInGB", 1) < 1:
        yield "ResourceConfig.VolumeSizeInGB: 0; data and outputs need at least 1"
    if "KeepAlivePeriodInSeconds" in resources:
        if groups:
            yield "ResourceConfig.KeepAlivePeriodInSeconds: instance groups have no warm pool"
        if request.get("EnableManagedSpotTraining"):
            yield "ResourceConfig.KeepAlivePeriodInSeconds: spot instances have no warm pool"


def time_rules(request):
    stop, spot = request["StoppingCondition"], request.get("EnableManagedSpotTraining")
    run, wait = stop["MaxRuntimeInSeconds"], stop.get("MaxWaitTimeInSeconds")
    if run > DAYS_28:
        yield f"StoppingCondition.MaxRuntimeInSeconds: {run}; at most {DAYS_28}, 28 days"
    if spot and wait is None:
        yield "StoppingCondition.MaxWaitTimeInSeconds: is missing; spot needs max_wait"
    if spot and wait is not None and wait < run:
        yield (
            f"StoppingCondition.MaxWaitTimeInSeconds: {wait} is less than "
            f"MaxRuntimeInSeconds, {run}; it includes the run"
        )
    if wait is not None and not spot:
        yield "StoppingCondition.MaxWaitTimeInSeconds: is for spot instances only"
    if spot and "CheckpointConfig" not in request:
        yield "CheckpointConfig: is missing; without it an interrupted spot job starts from scratch"


def s3_rules(field, channel, source, groups):
    mode, kind = channel.get("InputMode", "File"), source["S3DataType"]
    if mode == "FastFile" and kind != "S3Prefix":
        yield f"{field}.InputMode: FastFile takes a prefix, not a {kind}"
    if mode == "FastFile" and kind == "S3Prefix" and not source["S3Uri"].endswith("/"):
        yield f"{field}.S3Uri: FastFile needs a folder that ends with /: {source['S3Uri']}/"
    if kind == "AugmentedManifestFile" and mode != "Pipe":
        yield f"{field}.InputMode: an augmented manifest is read in Pipe mode only"
    if kind == "AugmentedManifestFile" and not source.get("AttributeNames"):
        yield f"{field}.AttributeNames: is missing; an augmented manifest needs them"
    if kind != "AugmentedManifestFile" and source.get("AttributeNames"):
        yield f"{field}.AttributeNames: are for an augmented manifest only"
    for name in source.get("InstanceGroupNames", []):
        if name not in groups:
            yield f"{field}.InstanceGroupNames: there is no instance group {name}"


def channel_rules(request):
    channels = request.get("InputDataConfig", [])
    groups = [g["InstanceGroupName"] for g in request["ResourceConfig"].get("InstanceGroups", [])]
    yield from duplicates("InputDataConfig", [channel["ChannelName"] for channel in channels])
    for channel in channels:
        field, mode = f"InputDataConfig {channel['ChannelName']}", channel.get("InputMode", "File")
        if mode != "Pipe":
            for key in ("CompressionType", "RecordWrapperType"):
                if channel.get(key, "None") != "None":
                    yield f"{field}.{key}: {channel[key]} is for Pipe mode only"
            if "ShuffleConfig" in channel:
                yield f"{field}.ShuffleConfig: the platform shuffles in Pipe mode only"
        if "S3DataSource" in channel["DataSource"]:
            yield from s3_rules(field, channel, channel["DataSource"]["S3DataSource"], groups)
            continue
        if mode != "File":
            yield f"{field}.InputMode: {mode}; a file system needs File mode"
        if "VpcConfig" not in request:
            yield f"{field}: a file system needs subnets and security_groups"


def metric_rules(request):
    definitions = request["AlgorithmSpecification"].get("MetricDefinitions", [])
    yield from duplicates(
        "AlgorithmSpecification.MetricDefinitions",
        [definition["Name"] for definition in definitions],
    )
    for definition in definitions:
        field = f"AlgorithmSpecification.MetricDefinitions {definition['Name']}"
        try:
            if re.compile(definition["Regex"]).groups < 1:
                yield f"{field}: the expression needs a group that captures the value"
        except re.error as error:
            yield f"{field}: {error}"


def place_rules(request):
    path = request.get("CheckpointConfig", {}).get("LocalPath", "")
    for folder in ("/opt/ml/input", "/opt/ml/model", "/opt/ml/output"):
        if path == folder or path.startswith(folder + "/"):
            yield f"CheckpointConfig.LocalPath: {path} is inside {folder}, which SageMaker reserves"


def training_violations(request):
    """Returns all violations. Checks the guide's limits only if the API's model is satisfied."""
    found = model_violations("CreateTrainingJob", request)
    if not found:
        for rule in (instance_rules, time_rules, channel_rules, metric_rules, place_rules):
            found += rule(request)
    return found


def training_notes(request):
    """Yields hints about valid requests that probably need more settings."""
    resources = request["ResourceConfig"]
    groups = resources.get("InstanceGroups", [])
    types = {place["InstanceType"] for place in groups or [resources]}
    count = sum(place["InstanceCount"] for place in groups or [resources])
    for kind in sorted(types):
        if kind.startswith(EFA_TYPES) and count > 1:
            yield (
                f"{kind} has EFA: build the image with --build-arg EFA=… and EFA_SHA256=…. In a "
                "VPC, the security group must allow all traffic between its members"
            )
    if len(groups) > 1 and "instance_group" not in {
        name.replace("-", "_") for name in request.get("HyperParameters", {})
    }:
        yield "several instance groups: set the hyperparameter instance_group to the training group"
    if not request["AlgorithmSpecification"].get("MetricDefinitions"):
        yield "no metric definitions: SageMaker will not show losses and accuracies"
    if "RemoteDebugConfig" in request:
        yield (
            "a shell in the running container: aws ssm start-session --target "
            f"sagemaker-training-job:{request['TrainingJobName']}_algo-1"
        )
    if "InputDataConfig" not in request:
        yield "no channels: the container gets no data"


def print_notes(notes):
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
