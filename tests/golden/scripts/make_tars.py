"""Writes tests/golden/tars: small tars from Python's tarfile and GNU tar. Each member's content is
"content of NAME"; a link has its target's content.

    python3 make_tars.py          # needs GNU tar
"""

import io
import os
import pathlib
import subprocess
import tarfile
import tempfile

OUT = pathlib.Path(__file__).resolve().parents[1] / "tars"
SHORT = ["cat/1.jpg", "cat/2.jpg", "dog/1.jpg"]
SPLIT = ["dog/" + "s" * 120 + "/" + "t" * 60 + ".jpg"]  # fits into ustar's two fields for names
LONG = ["dog/" + "n" * 180 + ".jpg", "fox/" + "d" * 140 + "/" + "e" * 140 + ".jpg", "fox/\u00fc.jpg"]


def content(name):
    return f"content of {name}".encode()


def python_tars():
    tarfile.RECORDSIZE = tarfile.BLOCKSIZE
    for word, form, names in (("ustar", tarfile.USTAR_FORMAT, SHORT + SPLIT),
                              ("gnu", tarfile.GNU_FORMAT, SHORT + SPLIT + LONG),
                              ("pax", tarfile.PAX_FORMAT, SHORT + SPLIT + LONG)):
        with tarfile.open(OUT / f"python-{word}.tar", "w", format=form) as archive:
            for name in names:
                member = tarfile.TarInfo(name)
                member.size = len(content(name))
                if word == "pax":
                    member.mtime = 1234567890.25  # adds a pax record
                archive.addfile(member, io.BytesIO(content(name)))


def gnu_tars():
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        for name in SHORT + SPLIT + LONG:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content(name))

        def run(word, form, names, *options):
            subprocess.run(["tar", "-b1", f"--format={form}", "--owner=0", "--group=0", "--numeric-owner",
                            "--mtime=@1234567890", *options, "-cf", OUT / f"gnu-{word}.tar", *names],
                           cwd=folder, check=True)

        run("v7", "v7", SHORT)
        run("oldgnu", "oldgnu", SHORT + SPLIT + LONG)
        run("gnu", "gnu", SHORT + SPLIT + LONG)
        run("ustar", "ustar", SHORT + SPLIT)
        run("posix", "posix", SHORT + SPLIT + LONG)
        run("folders", "gnu", ["./cat"], "--sort=name")
        os.link(folder / "cat/1.jpg", folder / "cat/same.jpg")
        run("link", "gnu", ["cat/1.jpg", "cat/same.jpg"])
        os.symlink("1.jpg", folder / "cat/symbolic.jpg")
        run("symbolic", "gnu", ["cat/1.jpg", "cat/symbolic.jpg"])
        with open(folder / "hole.jpg", "wb") as hole:
            hole.seek(1 << 20)
            hole.write(b"end")
        run("sparse", "gnu", ["hole.jpg"], "--sparse")
        run("sparse-posix", "posix", ["hole.jpg"], "--sparse")


OUT.mkdir(exist_ok=True)
python_tars()
gnu_tars()
