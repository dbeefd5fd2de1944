"""Shared by the tests of scripts/sagemaker: the module path, valid settings, running launch.py."""

import contextlib
import datetime
import io
import os
import sys
from pathlib import Path

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


def launch(*arguments):
    """Runs launch.py in this process. Returns (exit code, stdout, stderr)."""
    import launch as program

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = program.main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
    return code, out.getvalue(), err.getvalue()
