"""Shared by the tests of scripts/sagemaker: the module path, valid settings, running launch.py."""

import contextlib
import datetime
import importlib.util
import io
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "scripts/sagemaker"
sys.path.insert(0, str(SCRIPTS))
# The tests must never use a real AWS account.
os.environ |= {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/nonexistent",
    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
}

ROLE = "arn:aws:iam::123456789012:role/shoal"
IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/shoal:1"
TIME = datetime.datetime(2026, 1, 2, 3, 4)


def description(status, **more):
    """Returns the description of the training job job-1."""
    return {
        "TrainingJobName": "job-1",
        "TrainingJobArn": "arn:aws:sagemaker:us-east-1:123456789012:training-job/job-1",
        "ModelArtifacts": {"S3ModelArtifacts": ""},
        "TrainingJobStatus": status,
        "SecondaryStatus": more.pop("second", status),
        "CreationTime": TIME,
        "AlgorithmSpecification": {"TrainingInputMode": "File"},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/jobs/"},
        "ResourceConfig": {"InstanceType": "ml.c5.xlarge", "InstanceCount": 2, "VolumeSizeInGB": 1},
    } | more


def botocore_errors(operation, request):
    """Returns what botocore would refuse to send, as text."""
    from botocore.validate import ParamValidator
    from limits import service_model

    shape = service_model().operation_model(operation).input_shape
    return ParamValidator().validate(request, shape).generate_report()


def job(**more):
    """Returns valid settings of a training job, with `more` replaced. None removes a setting."""
    settings = {
        "image": IMAGE,
        "role": ROLE,
        "instances": "ml.c5.xlarge",
        "output": "s3://bucket/jobs",
        "job_name": "job-1",
        "channels": {"train": {"source": "s3://bucket/train/"}},
    }
    return {name: value for name, value in (settings | more).items() if value is not None}


def words(**more):
    """Returns valid settings as options of launch.py, with `more` replaced."""
    found = {
        "image": IMAGE,
        "role": ROLE,
        "instances": "ml.c5.xlarge",
        "output": "s3://bucket/jobs",
        "job-name": "job-1",
        "metrics": "none",
    } | more
    return [word for name, value in found.items() for word in (f"--{name}", value)]


def called(main, arguments):
    """Calls a program's main() in this process. Returns (exit code, stdout, stderr)."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), err.getvalue()


def launch(*arguments):
    """Runs launch.py in this process. Returns (exit code, stdout, stderr)."""
    import launch as program

    return called(program.main, arguments)


def emulate(*arguments):
    """Runs emulate in this process. Returns (exit code, stdout, stderr)."""
    loader = SourceFileLoader("emulate", str(SCRIPTS / "emulate"))
    program = importlib.util.module_from_spec(importlib.util.spec_from_loader("emulate", loader))
    loader.exec_module(program)
    with mock.patch("aws.client"):  # emulate replaces it
        return called(program.main, arguments)
