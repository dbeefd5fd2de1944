#!/usr/bin/env bash
# Checks shoal on a GPU and measures its speed, the speed of other programs, and the limits of the GPU.
# Each part takes less than ten minutes. A part that is run again measures only what is missing in
# OUT; --retry also repeats failed measurements. The part train always repeats all its runs.
#
#   bench/gpu_first_light.sh pack DIR [TAR]     on the machine that builds: copies the programs, the
#                                               libraries they need and TAR, a .tar of class folders
#                                               of JPEGs, into DIR
#   bench/gpu_first_light.sh PART DIR OUT [ARGUMENTS OF ITS PROGRAM]
#                                               on the machine with the GPU: needs Python with
#                                               torch 2.11, torchvision and timm, but no compiler
#
#   PART   checks    the plug-in, NCCL, bf16, CUDA graphs, a trace, two processes on one GPU, our
#                    operations compared with the CPU, and a training step of an installed shoal,
#                    which must find torch's libraries itself (about a minute)
#          train     shoal train on the GPU compared with the CPU: losses, a repeated run, a resumed
#                    run, two processes on one GPU
#          step      our training step (shoal bench step): three models, three batch sizes, bf16
#          rivals    timm's training step: eager and with torch.compile
#          ceilings  bandwidth, matrix products, convolutions, kernel launches, copies to the GPU
#          loaders   our data loader with 1 to 16 threads; torchvision's, timm's, nvJPEG
#          table     prints all results in OUT as Markdown
#   OUT    folder for PART.json (loaders: own_loader.json, loaders.json) and for the trace of checks
#
# Exit status: 0; 1 a check, a training run or a measurement failed, or the time was too short for all
# checks; 2 usage. PART.json contains the reasons of failed measurements.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
limit=540 # seconds per part

usage() {
  sed -n '6,27s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

fail() {
  echo "gpu_first_light.sh: $*" >&2
  exit 1
}

# Prints the paths of the shared libraries that the programs need, except those of the C library, the
# compiler and torch.
libraries_of() {
  ldd "$@" | awk '$2 == "=>" && $3 ~ "^/" &&
    $1 !~ /^lib(c|m|dl|rt|pthread|util|stdc\+\+|gcc_s|gomp|c10|torch_cpu|cudart|cupti)\.so/ {print $3}' | sort -u
}

pack() {
  local build=$top/build/release
  "$top/scripts/build" release -- --target gpu_first_light loader_bench shoal shoal-worker shoal_cuda
  mkdir -p "$1"
  cp "$build"/{gpu_first_light,loader_bench,shoal,shoal-worker,libshoal_cuda.so} "$1"
  strip "$1"/{gpu_first_light,loader_bench,shoal,shoal-worker,libshoal_cuda.so}
  libraries_of "$build"/{gpu_first_light,loader_bench,shoal,shoal-worker} | xargs -r cp -L -t "$1"
  if [ $# -gt 1 ]; then
    rm -rf "$1/images"
    cp "$2" "$1/images.tar"
  fi
  du -sh "$1"
}

python=${PYTHON:-python3}

torch_folder() {
  $python -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("torch").origin))'
}

# Search order of libraries: Python's torch, the caller's LD_LIBRARY_PATH, the NVIDIA driver's
# folder, the packed libraries, then the system's.
use_libraries() {
  local torch
  torch=$(torch_folder)
  LD_LIBRARY_PATH=$torch/lib$(printf ':%s' "$torch"/../nvidia/*/lib):${LD_LIBRARY_PATH-}:/usr/local/nvidia/lib64:$1
  export LD_LIBRARY_PATH
}

# Lays out the folders of an installed shoal and measures two training steps there.
# LD_LIBRARY_PATH contains only the driver's folder, as in NVIDIA's containers. A longer path would
# hide that shoal cannot find a library itself.
#   check_installed DIR RESULT.json [OPTIONS OF native.py]
check_installed() {
  local from=$1 result=$2 device=cuda torch tree status=0
  shift 2
  [[ " $* " != *" --device cpu "* ]] || device=cpu
  torch=$(torch_folder)
  tree=$(mktemp -d)
  mkdir -p "$tree/bin" "$tree/lib/shoal"
  cp "$from"/{shoal,shoal-worker} "$tree/bin"
  cp "$from/libshoal_cuda.so" "$tree/lib/shoal"
  ln -s "$from" "$tree/lib/shoal/libraries"
  ln -s "$torch" "$tree/lib/shoal/torch"
  [ ! -d "$torch/../nvidia" ] || ln -s "$(realpath "$torch/../nvidia")" "$tree/lib/shoal/nvidia"
  LD_LIBRARY_PATH=/usr/local/nvidia/lib64 timeout 120 "$tree/bin/shoal" bench step --json \
    --model resnet18 --size 64 --batch-size 8 --steps 2 --device $device >"$result" || status=1
  rm -r "$tree"
  [ $status = 0 ] && echo "installed: ok" || echo "installed: FAILED" >&2
  return $status
}

[ $# -ge 2 ] || usage
part=$1
from=$(realpath -m "$2")
shift 2
if [ "$part" = pack ]; then
  mkdir -p "$from"
  pack "$from" "$@"
  exit
fi
[ $# -ge 1 ] || usage
out=$1
shift
[ -e "$from/gpu_first_light" ] || fail "$from/gpu_first_light does not exist; make it with $0 pack $from"
mkdir -p "$out"
case $part in
  checks)
    status=0
    check_installed "$from" "$out/installed.json" "$@" || status=1
    use_libraries "$from"
    $python "$top/bench/gpu/native.py" checks "$from/gpu_first_light" --json "$out/checks.json" \
      --deadline $((limit - SECONDS)) "$@" || status=1
    exit $status
    ;;
  step)
    use_libraries "$from"
    $python "$top/bench/gpu/native.py" step "$from/shoal" --json "$out/step.json" --deadline $limit "$@"
    ;;
  train)
    use_libraries "$from"
    $python "$top/bench/gpu/training.py" "$from/shoal" --json "$out/train.json" --deadline $limit "$@"
    ;;
  rivals | ceilings)
    $python "$top/bench/gpu/$part.py" --json "$out/$part.json" --deadline $limit "$@"
    ;;
  loaders)
    images=$from/images
    [ -d "$images" ] || [ -e "$from/images.tar" ] || fail "$from/images.tar does not exist; name a TAR when packing"
    if [ ! -d "$images" ]; then
      rm -rf "$images.new"
      mkdir "$images.new"
      tar xf "$from/images.tar" -C "$images.new"
      mv "$images.new" "$images"
    fi
    use_libraries "$from"
    status=0
    $python "$top/bench/gpu/native.py" loader "$from/loader_bench" --images "$images" \
      --json "$out/own_loader.json" --deadline $((limit / 2)) "$@" || status=1
    $python "$top/bench/gpu/loaders.py" "$images" --json "$out/loaders.json" --deadline $((limit - SECONDS)) "$@" ||
      status=1
    exit $status
    ;;
  table)
    mapfile -t found < <(ls "$out"/{checks,train,step,rivals,ceilings,own_loader,loaders}.json 2>/dev/null)
    [ ${#found[@]} -gt 0 ] || fail "no results in $out"
    $python "$top/bench/gpu/table.py" "${found[@]}"
    ;;
  *) usage ;;
esac
