"""Existing training jobs: their status, their results, stopping and searching."""

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
    """Prints each status change until the job has ended. Returns the last description."""
    printed = None
    while True:
        found = describe(sagemaker, job)
        state = (found["TrainingJobStatus"], found.get("SecondaryStatus", ""))
        if state != printed:
            print(f"{job}: {' '.join(filter(None, state))}", file=sys.stderr, flush=True)
            printed = state
        if found["TrainingJobStatus"] in ENDED:
            return found
        sleep(poll_seconds)


def outcome(found):
    """Returns (exit code, sentence) for a job that has ended: 0 completed, 1 failed, 3 stopped."""
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
    print(f"{job}: stopping; the job has 120 s to save a checkpoint", file=sys.stderr)


def result_address(found, what):
    """Returns the S3 address of a job's model, output or checkpoints, from its description."""
    job = found["TrainingJobName"]
    base = f"{found['OutputDataConfig']['S3OutputPath'].rstrip('/')}/{job}/output/"
    if what == "model":
        return found.get("ModelArtifacts", {}).get("S3ModelArtifacts") or base + "model/"
    if what == "output":
        return base
    if what == "checkpoints":
        if "CheckpointConfig" not in found:
            raise UserError(
                f"{job} has no checkpoints in S3: it was started without the setting checkpoints"
            )
        return found["CheckpointConfig"]["S3Uri"]
    raise UserError(f"'{what}' is not a job result; it must be model, output or checkpoints")


def resolve_sources(sagemaker, channels):
    """Returns the channels with sources such as job:JOB/model replaced by S3 addresses."""
    resolved = {}
    for name, channel in channels.items():
        source = channel["source"]
        if source.startswith("job:"):
            job, _, what = source.removeprefix("job:").partition("/")
            address = result_address(describe(sagemaker, job), what or "model")
            if address.endswith(".tar.gz"):
                raise UserError(
                    f"channels: {name}: the result of {job} is the archive {address}, which "
                    "SageMaker does not unpack. Run that job without compress, or download the "
                    "result and use the local folder as source"
                )
            channel = channel | {"source": address.rstrip("/") + "/"}
        resolved[name] = channel
    return resolved


def require_completed(sagemaker, job, poll_seconds, sleep=time.sleep):
    code, text = outcome(wait(sagemaker, job, poll_seconds, sleep))
    if code:
        raise UserError(f"--after: the earlier job has not completed: {text}")


def search(sagemaker, filters, limit):
    """Returns descriptions of the jobs that match all filters, newest first.

    `filters`: [(name, operator, value)].
    """
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


def summary_line(found):
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
