"""Existing training and processing jobs: their status, their results, stopping."""

import sys
import time

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

from errors import UserError, printable

KINDS = ("Training", "Processing")
ENDED = ("Completed", "Failed", "Stopped")
# While waiting for a job: minimum pause after a failed request, and maximum failures in a row.
RETRY_SECONDS, MOST_FAILURES = 30, 60


def kind_of(found):
    """Returns the kind of a job, Training or Processing, from its description or request."""
    return "Training" if "TrainingJobName" in found else "Processing"


def name_of(found):
    return found[f"{kind_of(found)}JobName"]


def status_of(found):
    return found[f"{kind_of(found)}JobStatus"]


def describe(sagemaker, job, kind=None):
    """Returns the description of a job. `kind`: Training or Processing; None tries both."""
    errors = []
    for one in [kind] if kind else KINDS:
        try:
            call = getattr(sagemaker, f"describe_{one.lower()}_job")
            return call(**{f"{one}JobName": job})
        except ClientError as error:
            if error.response["Error"]["Code"] not in ("ValidationException", "ResourceNotFound"):
                raise
            errors.append(error.response["Error"])
    raise UserError(f"{job}: {errors[0]['Message']}")


def is_temporary(error):
    """Returns whether the same request may succeed later."""
    if not isinstance(error, ClientError):
        return True
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= 500 or "Throttl" in error.response["Error"]["Code"]


def wait(sagemaker, job, poll_seconds, sleep=time.sleep, kind=None):
    """Prints each status change until the job has ended. Returns the last description.

    Repeats requests that fail because of the network, throttling or AWS itself.
    """
    printed, failures = None, 0
    while True:
        try:
            found = describe(sagemaker, job, kind)
        except (ClientError, ConnectionError, HTTPClientError) as error:
            failures += 1
            if failures > MOST_FAILURES or not is_temporary(error):
                raise
            print(f"{job}: {' '.join(str(error).split())}; trying again", file=sys.stderr)
            sleep(max(poll_seconds, RETRY_SECONDS))
            continue
        failures = 0
        kind = kind_of(found)
        state = (status_of(found), found.get("SecondaryStatus", ""))
        if state != printed:
            print(f"{job}: {' '.join(filter(None, state))}", file=sys.stderr, flush=True)
            printed = state
        if status_of(found) in ENDED:
            return found
        sleep(poll_seconds)


def outcome(found):
    """Returns (exit code, sentence) for a job that has ended: 0 completed, 1 failed, 3 stopped."""
    job, status = name_of(found), status_of(found)
    reason = found.get("FailureReason") or found.get("ExitMessage", "")
    text = f"{job}: {status}" + (f": {printable(reason)}" if reason else "")
    if found.get("TrainingTimeInSeconds"):
        trained, billed = found["TrainingTimeInSeconds"], found.get("BillableTimeInSeconds")
        text += f"; {trained} s of training"
        if billed is not None and found.get("EnableManagedSpotTraining"):
            text += f", {100 * (1 - billed / trained):.0f} % saved on spot"
    return {"Completed": 0, "Failed": 1}.get(status, 3), text


def stop(sagemaker, job):
    kind = kind_of(describe(sagemaker, job))
    getattr(sagemaker, f"stop_{kind.lower()}_job")(**{f"{kind}JobName": job})
    hint = "; the job has 120 s to save a checkpoint" if kind == "Training" else ""
    print(f"{job}: stopping{hint}", file=sys.stderr)


def result_address(found, what):
    """Returns the S3 address of a job's model, output or checkpoints, from its description."""
    job = name_of(found)
    if kind_of(found) == "Processing":
        if what != "output":
            raise UserError(f"{job} is a processing job; its only result is output")
        return found["ProcessingOutputConfig"]["Outputs"][0]["S3Output"]["S3Uri"]
    base = f"{found['OutputDataConfig']['S3OutputPath'].rstrip('/')}/{job}/output/"
    if what == "model":
        archive = found["OutputDataConfig"].get("CompressionType") != "NONE"
        expected = base + ("model.tar.gz" if archive else "model/")
        return found.get("ModelArtifacts", {}).get("S3ModelArtifacts") or expected
    if what == "output":
        return base
    if what == "checkpoints":
        if "CheckpointConfig" not in found:
            raise UserError(
                f"{job} has no checkpoints in S3: it was started without the setting checkpoints"
            )
        return found["CheckpointConfig"]["S3Uri"]
    raise UserError(f"'{what}' is not a job result; it must be model, output or checkpoints")


def result_folder(found, what):
    """Returns the S3 address of a result as a channel's source. Raises UserError for archives."""
    address = result_address(found, what)
    if address.endswith(".tar.gz"):
        raise UserError(
            f"the result of {name_of(found)} is the archive {address}, which SageMaker does not "
            "unpack. Run that job without compress, or download the result and use the local "
            "folder as source"
        )
    return address.rstrip("/") + "/"


def resolve_sources(sagemaker, channels):
    """Returns the channels with sources such as job:JOB/model replaced by S3 addresses."""
    resolved = {}
    for name, channel in channels.items():
        source = channel["source"]
        if source.startswith("job:"):
            job, _, what = source.removeprefix("job:").partition("/")
            try:
                address = result_folder(describe(sagemaker, job), what or "model")
            except UserError as error:
                raise UserError(f"channels: {name}: {error}") from None
            channel = channel | {"source": address}
        resolved[name] = channel
    return resolved


def require_completed(sagemaker, job, poll_seconds, sleep=time.sleep):
    code, text = outcome(wait(sagemaker, job, poll_seconds, sleep))
    if code:
        raise UserError(f"--after: the earlier job has not completed: {text}")
