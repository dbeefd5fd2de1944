"""Builds a job's request from its settings, checks it, and starts the job."""

import json
import sys
import time
from dataclasses import dataclass

from botocore.exceptions import ClientError

import account
import aws
import jobs
from definitions import metric_definitions
from errors import UserError
from job_secret import add_secret, without_secret
from limits import print_notes, training_notes, training_violations
from process import processing_request, processing_violations
from request import need, training_request
from upload import plan_uploads, upload_folder

ROLE_WAITS = 12  # waits of 5 s each, because a new role becomes usable only after some seconds


@dataclass
class Submission:
    request: dict
    uploads: list  # [(local folder, S3 address)]

    @property
    def kind(self):
        return jobs.kind_of(self.request)

    @property
    def job(self):
        return jobs.name_of(self.request)


def replace_local_folders(settings):
    """Replaces local folders in `settings` with S3 addresses. Returns [(folder, S3 address)]."""
    need(settings, "output")
    where = settings.get("upload"), settings["output"]
    if settings.get("source"):  # only processing jobs have it, instead of channels
        given = {"source": {"source": settings["source"]}}
        planned, resolved = plan_uploads(given, *where, setting="source")
        settings["source"] = resolved["source"]["source"]
        # The results are stored directly in output, so images there would be mistaken for results.
        for _, address in planned:
            if address.startswith(settings["output"].rstrip("/") + "/"):
                raise UserError(
                    f"source would be uploaded to {address}, which is in output; set upload to an "
                    "S3 folder outside output"
                )
        return planned
    planned, resolved = plan_uploads(settings.get("channels", {}), *where)
    if resolved:
        settings["channels"] = resolved
    return planned


def uses_jobs(settings):
    return any(c["source"].startswith("job:") for c in settings.get("channels", {}).values())


def check_request(request):
    """Checks a valid request before anything is uploaded. `emulate` replaces this function."""


def build(kind, settings):
    """Returns the Submission for a job of the kind Training or Processing.

    Raises UserError with one sentence per violation.
    """
    found = dict(settings)
    if uses_jobs(found):
        sagemaker = aws.client("sagemaker", found.get("region"))
        found["channels"] = jobs.resolve_sources(sagemaker, found["channels"])
    uploads = replace_local_folders(found)
    if kind == "Training":
        request = training_request(found, metric_definitions(found.get("metrics")))
        add_secret(request)
        violations = training_violations(request)
    else:
        request = processing_request(found)
        violations = processing_violations(request)
    if violations:
        raise UserError(*violations)
    check_request(request)
    return Submission(request, uploads)


def notes(submission):
    """Prints hints about a valid request."""
    if submission.kind == "Training":
        print_notes(training_notes(submission.request))


def show(submission, clean):
    """Prints what would be done."""
    for folder, address in submission.uploads:
        print(f"would upload {folder} → {address}", file=sys.stderr)
    if clean:
        address = submission.request["CheckpointConfig"]["S3Uri"]
        print(f"would delete the files in {address}", file=sys.stderr)
    print(json.dumps(without_secret(submission.request), indent=2))


def create(sagemaker, submission, patient, sleep=time.sleep):
    """Creates the job. `patient`: retry for up to a minute, until SageMaker can use a new role."""
    call = getattr(sagemaker, f"create_{submission.kind.lower()}_job")
    for attempt in range(ROLE_WAITS + 1):
        try:
            return call(**submission.request)
        except ClientError as error:
            if not patient or attempt == ROLE_WAITS or "assume" not in str(error):
                raise
            sleep(5)


def start(submission, settings, make, clean):
    """Starts the job. First creates bucket and role (`make`), uploads local folders, and deletes
    checkpoints (`clean`)."""

    def client(service):
        return aws.client(service, settings.get("region"))

    submission.request = account.prepare(client, submission.request, submission.uploads, make)
    for folder, address in submission.uploads:
        hidden = settings.get("upload_hidden", False)
        upload_folder(client("s3"), folder, address, hidden)
    if clean:  # after the uploads, because they may fail
        account.clean_state(client("s3"), submission.request)
    create(client("sagemaker"), submission, make)


def check_clean(submission):
    if "CheckpointConfig" not in submission.request:
        raise UserError("--clean-state: the job has no checkpoints in S3; set checkpoints")
