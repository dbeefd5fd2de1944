"""Folders of this machine → S3, and results of a job → this machine."""

import shutil
import sys
import tarfile
from pathlib import Path

from errors import UserError


def split_uri(uri):
    """'s3://bucket/a/b' → ("bucket", "a/b")."""
    scheme, _, rest = uri.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme != "s3" or not bucket:
        raise UserError(f"'{uri}' is no S3 address: s3://BUCKET/FOLDER")
    return bucket, key


def listing(s3, bucket, prefix):
    """{key: (bytes, time of upload)} of everything below the prefix."""
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


def is_there(path, uploaded):
    """True when the object has the file's size and is not older."""
    status = path.stat()
    return uploaded is not None and uploaded[0] == status.st_size and uploaded[1] >= status.st_mtime


def upload_folder(s3, folder, uri):
    """Sends what is not there yet. Other objects there would be trained on: an error."""
    bucket, prefix = split_uri(uri)
    files = local_files(Path(folder))
    if not files:
        raise UserError(f"{folder} holds no file to upload")
    there = listing(s3, bucket, prefix)
    strangers = sorted(set(there) - {prefix + name for name in files})
    if strangers:
        raise UserError(
            f"{uri} holds {len(strangers)} objects that {folder} has not, such as "
            f"{strangers[0]}; remove them, or name another folder with --upload"
        )
    sent = [name for name, path in files.items() if not is_there(path, there.get(prefix + name))]
    for name in sent:
        s3.upload_file(str(files[name]), bucket, prefix + name)
    print(f"{folder} → {uri}: {len(sent)} of {len(files)} files sent", file=sys.stderr)


def plan_uploads(channels, upload, output):
    """[(folder, address)], and the channels with these addresses for local folders."""
    base = (upload or f"{output.rstrip('/')}/upload").rstrip("/")
    planned, resolved = [], {}
    for name, channel in channels.items():
        source = channel["source"]
        if ":" not in source:
            if not Path(source).is_dir():
                raise UserError(
                    f"channels: {name}: {source} is no folder here; other sources begin "
                    "with s3://, fsx://, efs:// or job:"
                )
            planned.append((source, f"{base}/{name}/"))
            channel = channel | {"source": planned[-1][1]}
        resolved[name] = channel
    return planned, resolved


def unpack(archive):
    """model.tar.gz → its files beside it; links and what would lie elsewhere are refused."""
    root = archive.parent.resolve()
    with tarfile.open(archive) as tar:
        for member in tar:
            target = (root / member.name).resolve()
            if not target.is_relative_to(root) or not (member.isfile() or member.isdir()):
                raise UserError(f"{archive}: {member.name} is no file or folder below {root}")
            if member.isfile():
                target.parent.mkdir(parents=True, exist_ok=True)
                with tar.extractfile(member) as source, open(target, "wb") as file:
                    shutil.copyfileobj(source, file)
    archive.unlink()


def download(s3, uri, folder):
    """An S3 folder (or the one archive `uri`), archives unpacked. Returns the count."""
    bucket, key = split_uri(uri)
    is_object = key.endswith(".tar.gz")
    base = key.rpartition("/")[0] + "/" if is_object else key.rstrip("/") + "/"
    found = [name for name in listing(s3, bucket, key if is_object else base) if name[-1] != "/"]
    if not found:
        raise UserError(f"{uri} holds nothing")
    root = Path(folder).resolve()
    for name in found:
        path = (root / name.removeprefix(base)).resolve()
        if not path.is_relative_to(root):
            raise UserError(f"s3://{bucket}/{name} would lie outside of {folder}")
        path.parent.mkdir(parents=True, exist_ok=True)
        s3.download_file(bucket, name, str(path))
        if path.name in ("model.tar.gz", "output.tar.gz"):
            unpack(path)
    return len(found)
