"""Uploads local folders to S3, and downloads a job's results."""

import functools
import hashlib
import os
import shutil
import sys
import tarfile
from pathlib import Path

from botocore.exceptions import ClientError

from errors import UserError, printable

DIGEST = "sha256"  # key of the S3 metadata that contains a file's digest
# Archives of a job with `compress`, and the folders that a job without it has instead.
ARCHIVES = {"model.tar.gz": "model", "output.tar.gz": "data"}


def split_uri(uri):
    """Splits 's3://bucket/a/b' into ("bucket", "a/b")."""
    scheme, _, rest = uri.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme != "s3" or not bucket:
        raise UserError(f"'{uri}' is not an S3 address; it must be s3://BUCKET/FOLDER")
    return bucket, key


def listing(s3, bucket, prefix):
    """Returns {key: (size in bytes, ETag)} of all objects with the prefix."""
    found = {}
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
        for entry in page.get("Contents", []):
            found[entry["Key"]] = (entry["Size"], entry["ETag"].strip('"'))
    return found


def local_files(folder):
    """Returns {name: path} of the files and broken links in a folder. Follows links to folders.

    Raises UserError for links to a folder above them.
    """
    found = {}
    for root, folders, names in os.walk(folder, followlinks=True):
        for name in folders:
            path = Path(root, name)
            if path.is_symlink() and Path(root).resolve().is_relative_to(path.resolve()):
                raise UserError(f"{path} is a link to a folder above it; remove it")
        for name in names:
            path = Path(root, name)
            if path.is_file() or path.is_symlink():
                found[path.relative_to(folder).as_posix()] = path
    return dict(sorted(found.items()))


def is_hidden(name):
    """Returns whether the file or one of its folders has a name that begins with a dot."""
    return any(part.startswith(".") for part in name.split("/"))


def file_digest(path, algorithm):
    make = functools.partial(hashlib.new, algorithm, usedforsecurity=False)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, make).hexdigest()


def is_current(s3, bucket, key, path, uploaded):
    """Returns whether the object in S3 has the file's content. `uploaded`: listing().get(key).

    Compares checksums, because the clocks of this machine and of S3 may disagree, and tools that
    copy files set old modification times.
    """
    if uploaded is None or uploaded[0] != path.stat().st_size:
        return False
    if uploaded[1] == file_digest(path, "md5"):
        return True
    try:  # The ETag is not the MD5 if the object was uploaded in parts or is encrypted with KMS.
        metadata = s3.head_object(Bucket=bucket, Key=key)["Metadata"]
    except ClientError:  # for example no read permission: upload again
        return False
    return metadata.get(DIGEST) == file_digest(path, "sha256")


def upload_folder(s3, folder, uri, hidden=False):
    """Uploads new and changed files. `hidden`: include paths in which a name begins with a dot.

    Raises UserError if the S3 folder contains other objects, because the job would use them too.
    """
    bucket, prefix = split_uri(uri)
    found = local_files(Path(folder))
    files = {name: path for name, path in found.items() if hidden or not is_hidden(name)}
    for path in files.values():
        if not path.is_file():
            raise UserError(f"{path} is a broken link; restore its target or remove it")
    left_out = [name for name in found if name not in files]
    if left_out:
        print(
            f"{folder}: left out {len(left_out)} hidden files, such as {printable(left_out[0])}; "
            "--upload-hidden uploads them too",
            file=sys.stderr,
        )
    if not files:
        raise UserError(f"{folder} contains no files to upload")
    uploaded = listing(s3, bucket, prefix)
    folders = {key for key in uploaded if key.endswith("/")}  # made by the S3 console
    unknown = sorted(set(uploaded) - folders - {prefix + name for name in files})
    if unknown:
        raise UserError(
            f"{uri} contains {len(unknown)} objects that are not uploaded from {folder}, such as "
            f"{unknown[0]}. Remove them, or set another folder with --upload"
        )
    changed = {
        name: path
        for name, path in files.items()
        if not is_current(s3, bucket, prefix + name, path, uploaded.get(prefix + name))
    }
    for name, path in changed.items():
        metadata = {DIGEST: file_digest(path, "sha256")}
        s3.upload_file(str(path), bucket, prefix + name, ExtraArgs={"Metadata": metadata})
    print(f"{folder} → {uri}: uploaded {len(changed)} of {len(files)} files", file=sys.stderr)


def plan_uploads(channels, upload, output, setting=None):
    """Returns the uploads, [(folder, S3 address)], and the channels with addresses for folders.

    `setting`: name of the setting that the sources come from, if not channels.
    """
    base = (upload or f"{output.rstrip('/')}/upload").rstrip("/")
    planned, resolved = [], {}
    for name, channel in channels.items():
        source = channel["source"]
        if ":" not in source:
            if not Path(source).is_dir():
                others = "s3://" if setting else "s3://, fsx://, efs:// or job:"
                raise UserError(
                    f"{setting or f'channels: {name}'}: {source} is not a local folder; other "
                    f"sources begin with {others}"
                )
            planned.append((source, f"{base}/{name}/"))
            channel = channel | {"source": planned[-1][1]}
        resolved[name] = channel
    return planned, resolved


def unpack(archive, folder):
    """Unpacks an archive into a folder and deletes it. Returns the number of files.

    Raises UserError if it contains a link, a special file or a path outside that folder.
    """
    root, files = folder.resolve(), 0
    with tarfile.open(archive) as tar:
        for member in tar:
            target = (root / member.name).resolve()
            if not target.is_relative_to(root) or not (member.isfile() or member.isdir()):
                raise UserError(f"{archive}: {member.name} is not a file or folder inside {root}")
            if member.isfile():
                target.parent.mkdir(parents=True, exist_ok=True)
                with tar.extractfile(member) as source, open(target, "wb") as file:
                    shutil.copyfileobj(source, file)
                files += 1
    archive.unlink()
    return files


def download(s3, uri, folder):
    """Downloads an S3 folder or a .tar.gz; unpacks job results. Returns the number of files."""
    bucket, key = split_uri(uri)
    is_object = key.endswith(".tar.gz")
    folder_key = (key.rpartition("/")[0] if is_object else key).rstrip("/")
    base = folder_key and folder_key + "/"  # empty for a whole bucket
    found = [name for name in listing(s3, bucket, key if is_object else base) if name[-1] != "/"]
    if not found:
        raise UserError(f"{uri} contains no objects")
    root, files = Path(folder).resolve(), 0
    for name in found:
        path = (root / name.removeprefix(base)).resolve()
        if not path.is_relative_to(root):
            raise UserError(f"s3://{bucket}/{name} would be written outside {folder}")
        path.parent.mkdir(parents=True, exist_ok=True)
        s3.download_file(bucket, name, str(path))
        if path.name in ARCHIVES:
            target = path.parent if is_object else path.parent / ARCHIVES[path.name]
            files += unpack(path, target)
        else:
            files += 1
    return files
