"""Jobs that exist: how they go, where they left what, which there are."""

import sys
import time

from botocore.exceptions import ClientError

from errors import UserError

ENDED = ("Completed", "Failed", "Stopped")


def describe(sagemaker, job):
    try:
        return sagemaker.describe_training_job(TrainingJobName=job)
    except ClientError as error:
        raise UserError(f"{job}: {error.response['Error']['Message']}") from None


def wait(sagemaker, job, poll_seconds, sleep=time.sleep):
    """Says each change of status until the job has ended; returns its last description."""
    said = None
    while True:
        found = describe(sagemaker, job)
        state = (found["TrainingJobStatus"], found.get("SecondaryStatus", ""))
        if state != said:
            print(f"{job}: {' '.join(filter(None, state))}", file=sys.stderr, flush=True)
            said = state
        if found["TrainingJobStatus"] in ENDED:
            return found
        sleep(poll_seconds)


def outcome(found):
    """(exit code, sentence) of a job that has ended: 0 completed, 1 failed, 3 stopped."""
    job, status = found["TrainingJobName"], found["TrainingJobStatus"]
    reason = found.get("FailureReason", "")
    text = f"{job}: {status}" + (f": {reason}" if reason else "")
    if found.get("TrainingTimeInSeconds"):
        trained, billed = found["TrainingTimeInSeconds"], found.get("BillableTimeInSeconds")
        text += f"; {trained} s of training"
        if billed is not None and found.get("EnableManagedSpotTraining"):
            text += f", {100 * (1 - billed / trained):.0f} % saved on spot"
    return {"Completed": 0, "Failed": 1}.get(status, 3), text


def stop(sagemaker, job):
    describe(sagemaker, job)
    sagemaker.stop_training_job(TrainingJobName=job)
    print(f"{job}: asked to stop; it saves, and has 120 s for that", file=sys.stderr)


def place_of(found, what):
    """S3 address of a described job's model, output or checkpoints."""
    job = found["TrainingJobName"]
    base = f"{found['OutputDataConfig']['S3OutputPath'].rstrip('/')}/{job}/output/"
    if what == "model":
        return found.get("ModelArtifacts", {}).get("S3ModelArtifacts") or base + "model/"
    if what == "output":
        return base
    if what == "checkpoints":
        if "CheckpointConfig" not in found:
            raise UserError(
                f"{job} has no checkpoints: it was started without an S3 folder for them"
            )
        return found["CheckpointConfig"]["S3Uri"]
    raise UserError(f"'{what}' is nothing a job leaves; it must be model, output or checkpoints")


def resolve_sources(sagemaker, channels):
    """The channels with S3 addresses where they name another job's result (job:JOB/model)."""
    resolved = {}
    for name, channel in channels.items():
        source = channel["source"]
        if source.startswith("job:"):
            job, _, what = source.removeprefix("job:").partition("/")
            address = place_of(describe(sagemaker, job), what or "model")
            if address.endswith(".tar.gz"):
                raise UserError(
                    f"channels: {name}: {job} left the archive {address}, which the "
                    "platform does not unpack; run it without compress, or download it "
                    "and name the folder"
                )
            channel = channel | {"source": address.rstrip("/") + "/"}
        resolved[name] = channel
    return resolved


def require_completed(sagemaker, job, poll_seconds, sleep=time.sleep):
    code, text = outcome(wait(sagemaker, job, poll_seconds, sleep))
    if code:
        raise UserError(f"the job to follow has not completed: {text}")


def search(sagemaker, filters, limit):
    """Newest first: descriptions of the jobs that all `filters` [(name, operator, value)] fit."""
    request = {
        "Resource": "TrainingJob",
        "SortBy": "CreationTime",
        "SortOrder": "Descending",
        "MaxResults": min(limit, 100),
    }
    if filters:
        request["SearchExpression"] = {
            "Filters": [
                {"Name": name, "Operator": operator, "Value": value}
                for name, operator, value in filters
            ]
        }
    found = []
    while len(found) < limit:
        answer = sagemaker.search(**request)
        found += [result["TrainingJob"] for result in answer["Results"]]
        if not answer.get("NextToken"):
            break
        request["NextToken"] = answer["NextToken"]
    return found[:limit]


def search_filters(arguments):
    filters = []
    for tag in arguments.tag or []:
        name, equals, value = tag.partition("=")
        if not equals:
            raise UserError(f"--tag is '{tag}'; it must be NAME=VALUE")
        filters.append((f"Tags.{name}", "Equals", value))
    if arguments.experiment:
        filters.append(("ExperimentConfig.ExperimentName", "Equals", arguments.experiment))
    if arguments.name:
        filters.append(("TrainingJobName", "Contains", arguments.name))
    if arguments.status:
        filters.append(("TrainingJobStatus", "Equals", arguments.status))
    return filters


def line_of(found):
    resources = found.get("ResourceConfig", {})
    instances = " + ".join(
        f"{place.get('InstanceCount')} x {place.get('InstanceType')}"
        for place in resources.get("InstanceGroups") or [resources]
    )
    metrics = " ".join(
        f"{metric['MetricName']}={metric['Value']:g}"
        for metric in found.get("FinalMetricDataList", [])
        if metric["MetricName"].startswith("valid:acc")
    )
    created = found["CreationTime"].strftime("%Y-%m-%d %H:%M")
    return "  ".join(
        filter(
            None,
            (created, found["TrainingJobStatus"], found["TrainingJobName"], instances, metrics),
        )
    )
