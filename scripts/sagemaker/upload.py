"""Uploads local folders to S3, and downloads a job's results."""

import shutil
import sys
import tarfile
from pathlib import Path

from errors import UserError


def split_uri(uri):
    """Splits 's3://bucket/a/b' into ("bucket", "a/b")."""
    scheme, _, rest = uri.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme != "s3" or not bucket:
        raise UserError(f"'{uri}' is not an S3 address; it must be s3://BUCKET/FOLDER")
    return bucket, key


def listing(s3, bucket, prefix):
    """Returns {key: (size in bytes, upload time)} of all objects with the prefix."""
    found = {}
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for entry in page.get("Contents", []):
            found[entry["Key"]] = (entry["Size"], entry["LastModified"].timestamp())
    return found


def local_files(folder):
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def is_current(path, uploaded):
    """Returns whether the uploaded object has the file's size and is not older than the file."""
    status = path.stat()
    return uploaded is not None and uploaded[0] == status.st_size and uploaded[1] >= status.st_mtime


def upload_folder(s3, folder, uri):
    """Uploads new and changed files.

    Raises UserError if the S3 folder contains other objects: the job would train on them too.
    """
    bucket, prefix = split_uri(uri)
    files = local_files(Path(folder))
    if not files:
        raise UserError(f"{folder} contains no files to upload")
    uploaded = listing(s3, bucket, prefix)
    unknown = sorted(set(uploaded) - {prefix + name for name in files})
    if unknown:
        raise UserError(
            f"{uri} contains {len(unknown)} objects that {folder} does not contain, such as "
            f"{unknown[0]}. Remove them, or set another folder with --upload"
        )
    changed = [n for n, path in files.items() if not is_current(path, uploaded.get(prefix + n))]
    for name in changed:
        s3.upload_file(str(files[name]), bucket, prefix + name)
    print(f"{folder} → {uri}: uploaded {len(changed)} of {len(files)} files", file=sys.stderr)


def plan_uploads(channels, upload, output):
    """Returns the uploads and the resolved channels.

    The uploads are [(folder, S3 address)]. The channels have these addresses instead of folders.
    """
    base = (upload or f"{output.rstrip('/')}/upload").rstrip("/")
    planned, resolved = [], {}
    for name, channel in channels.items():
        source = channel["source"]
        if ":" not in source:
            if not Path(source).is_dir():
                raise UserError(
                    f"channels: {name}: {source} is not a local folder; other sources begin "
                    "with s3://, fsx://, efs:// or job:"
                )
            planned.append((source, f"{base}/{name}/"))
            channel = channel | {"source": planned[-1][1]}
        resolved[name] = channel
    return planned, resolved


def unpack(archive):
    """Replaces an archive by its files. Raises UserError for links and paths outside its folder."""
    root = archive.parent.resolve()
    with tarfile.open(archive) as tar:
        for member in tar:
            target = (root / member.name).resolve()
            if not target.is_relative_to(root) or not (member.isfile() or member.isdir()):
                raise UserError(f"{archive}: {member.name} is not a file or folder inside {root}")
            if member.isfile():
                target.parent.mkdir(parents=True, exist_ok=True)
                with tar.extractfile(member) as source, open(target, "wb") as file:
                    shutil.copyfileobj(source, file)
    archive.unlink()


def download(s3, uri, folder):
    """Downloads an S3 folder or a single .tar.gz, and unpacks archives.

    Returns the number of downloaded objects.
    """
    bucket, key = split_uri(uri)
    is_object = key.endswith(".tar.gz")
    base = key.rpartition("/")[0] + "/" if is_object else key.rstrip("/") + "/"
    found = [name for name in listing(s3, bucket, key if is_object else base) if name[-1] != "/"]
    if not found:
        raise UserError(f"{uri} contains no objects")
    root = Path(folder).resolve()
    for name in found:
        path = (root / name.removeprefix(base)).resolve()
        if not path.is_relative_to(root):
            raise UserError(f"s3://{bucket}/{name} would be written outside {folder}")
        path.parent.mkdir(parents=True, exist_ok=True)
        s3.download_file(bucket, name, str(path))
        if path.name in ("model.tar.gz", "output.tar.gz"):
            unpack(path)
    return len(found)
