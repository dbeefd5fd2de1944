"""Emulates S3 and SageMaker in a folder DIR: s3://BUCKET/KEY is the file DIR/BUCKET/KEY.

DIR/.jobs contains the description of each ended job, in the form of DescribeTrainingJob's response.
The classes implement only the calls that launch.py makes.
"""

import datetime
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

from botocore.exceptions import ClientError

from errors import UserError
from upload import file_digest, split_uri


def copy(source, target):
    """Copies a file so that readers never see a partial copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.part")
    shutil.copyfile(source, part)
    os.replace(part, target)


def file_names(folder):
    """Returns the relative names of all files in a folder, sorted; links are followed."""
    return sorted(
        (Path(place) / name).relative_to(folder).as_posix()
        for place, _, names in os.walk(folder, followlinks=True)
        for name in names
        if not (name.startswith(".") and name.endswith(".part"))  # temporary files of copy()
    )


class S3:
    def __init__(self, root):
        self.root = Path(root)
        self.meta = SimpleNamespace(region_name="us-east-1")

    def path(self, uri):
        """Returns the path of the file or folder that emulates an S3 address."""
        bucket, key = split_uri(uri)
        place = Path(os.path.normpath(self.root.absolute() / bucket))
        path = Path(os.path.normpath(place / key))  # not resolved: links may leave it
        if not path.is_relative_to(place):
            raise UserError(f"{uri} is outside its bucket")
        return path

    def keys(self, bucket, prefix):
        """Returns the keys that begin with the prefix, sorted."""
        parent = prefix.rpartition("/")[0]
        names = file_names(self.root / bucket / parent)
        keys = [f"{parent}/{name}" if parent else name for name in names]
        return [key for key in keys if key.startswith(prefix)]

    def get_paginator(self, _):
        return SimpleNamespace(paginate=self.list_objects)

    def list_objects(self, Bucket, Prefix=""):
        contents = []
        for key in self.keys(Bucket, Prefix):
            path = self.root / Bucket / key
            tag = file_digest(path, "md5")
            contents.append({"Key": key, "Size": path.stat().st_size, "ETag": tag})
        yield {"Contents": contents}

    def head_object(self, **_):
        return {"Metadata": {}}

    def head_bucket(self, **_):
        return {}

    def upload_file(self, path, bucket, key, **_):
        copy(path, self.root / bucket / key)

    def download_file(self, bucket, key, path):
        shutil.copyfile(self.root / bucket / key, path)

    def delete_objects(self, Bucket, Delete):
        for entry in Delete["Objects"]:
            (self.root / Bucket / entry["Key"]).unlink(missing_ok=True)
        return {}


class Iam:
    def get_role(self, RoleName):
        return {"Role": {"Arn": f"arn:aws:iam::000000000000:role/{RoleName}"}}


class SageMaker:
    """Emulates SageMaker's client. `run(request)` runs a job and returns its description."""

    def __init__(self, root, run):
        self.folder, self.run = Path(root) / ".jobs", run

    def create(self, kind, request):
        found = self.run(request)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{request[f'{kind}JobName']}.json").write_text(json.dumps(found, indent=2))

    def create_training_job(self, **request):
        self.create("Training", request)

    def create_processing_job(self, **request):
        self.create("Processing", request)

    def describe(self, kind, job):
        path = self.folder / f"{job}.json"
        found = json.loads(path.read_text()) if path.exists() else {}
        if f"{kind}JobName" not in found:
            error = {"Code": "ValidationException", "Message": "Requested resource not found."}
            raise ClientError({"Error": error}, f"Describe{kind}Job")
        return found | {"CreationTime": datetime.datetime.fromisoformat(found["CreationTime"])}

    def describe_training_job(self, TrainingJobName):
        return self.describe("Training", TrainingJobName)

    def describe_processing_job(self, ProcessingJobName):
        return self.describe("Processing", ProcessingJobName)

    def get_paginator(self, operation):
        kind = "Training" if "training" in operation else "Processing"

        def paginate(NameContains):
            names = [path.stem for path in self.folder.glob("*.json") if NameContains in path.stem]
            jobs = [json.loads((self.folder / f"{name}.json").read_text()) for name in names]
            yield {f"{kind}JobSummaries": [job for job in jobs if f"{kind}JobName" in job]}

        return SimpleNamespace(paginate=paginate)
