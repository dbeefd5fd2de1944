"""Writes tests/golden/zips: small zips from Python's zipfile and Info-ZIP. Each entry's content is
"content of NAME", 20 times.

    python3 make_zips.py          # needs Info-ZIP's zip
"""

import io
import os
import pathlib
import random
import subprocess
import tempfile
import zipfile

OUT = pathlib.Path(__file__).resolve().parents[1] / "zips"
NAMES = ["cat/1.jpg", "cat/2.jpg", "dog/1.jpg", "dog/" + "n" * 180 + ".jpg", "fox/\u00fc.jpg"]


def content(name):
    return f"content of {name}".encode() * 20


class Unseekable(io.RawIOBase):
    """A file to which zipfile writes data descriptors, because it cannot return to the headers."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)

    def close(self):
        self.file.close()


def python_zips():
    for word, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED),
                         ("bzip2", zipfile.ZIP_BZIP2), ("lzma", zipfile.ZIP_LZMA)):
        with zipfile.ZipFile(OUT / f"python-{word}.zip", "w") as archive:
            for name in NAMES:
                archive.writestr(zipfile.ZipInfo(name), content(name), method)
    with Unseekable(OUT / "python-streamed.zip") as out, zipfile.ZipFile(out, "w") as archive:
        for name in NAMES:
            archive.writestr(zipfile.ZipInfo(name), content(name), zipfile.ZIP_DEFLATED)
    zipfile.ZIP64_LIMIT = 100  # so that sizes and offsets are written with 64 bits
    with zipfile.ZipFile(OUT / "python-zip64.zip", "w") as archive:
        for name in NAMES:
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as entry:
                entry.write(content(name))


def info_zips():
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        for name in NAMES:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content(name))
            os.utime(path, (1234567890, 1234567890))

        def run(*arguments, **options):
            subprocess.run(["zip", "-q", *arguments], cwd=folder, check=True,
                           env={**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"}, **options)

        # Without -X: the extra fields in local headers are longer than those in the directory.
        run("-0", OUT / "info-stored.zip", *NAMES)
        run("-9", OUT / "info-deflated.zip", *NAMES)
        run("-r", OUT / "info-folders.zip", "cat", "dog", "fox")
        with open(OUT / "info-streamed.zip", "wb") as out:
            run("-fd", "-", *NAMES, stdout=out)
        run("-P", "secret", OUT / "info-encrypted.zip", *NAMES)
        os.symlink("1.jpg", folder / "cat/symbolic.jpg")
        run("-y", OUT / "info-symbolic.zip", "cat/1.jpg", "cat/symbolic.jpg")
        (folder / "large.jpg").write_bytes(random.Random(1).randbytes(66_000))
        run("-0", "-s", "64k", "parts.zip", "large.jpg")
        (folder / "parts.zip").rename(OUT / "info-last-part.zip")


OUT.mkdir(exist_ok=True)
for old in OUT.glob("*.zip"):
    old.unlink()
python_zips()
info_zips()
