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
#   PART   checks    the plug-in, NCCL, bf16, CUDA graphs, a trace, two processes on one GPU, and our
#                    operations compared with the CPU (about a minute)
#          train     shoal train on the GPU compared with the CPU: losses, a repeated run, a resumed
#                    run, two processes on one GPU
#          step      our training step (shoal bench step): three models, three batch sizes, bf16
#          rivals    timm's training step: eager and with torch.compile
#          ceilings  bandwidth, matrix products, convolutions, kernel launches, copies to the GPU
#          loaders   our data loader with 1 to 16 threads; torchvision's, timm's, nvJPEG
#          table     prints all results in OUT as Markdown
#   OUT    folder for PART.json and for the trace of checks
#
# Exit status: 0; 1 a check or a program failed; 2 usage.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
limit=540 # seconds per part

usage() {
  sed -n '6,26s/^# \{0,1\}//p' "$0" >&2
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
  if [ $# -gt 1 ]; then cp "$2" "$1/images.tar"; fi
  du -sh "$1"
}

python=${PYTHON:-python3}

# Search order of libraries: Python's torch, the caller's LD_LIBRARY_PATH, the NVIDIA driver's
# folder, the packed libraries, then the system's.
use_libraries() {
  local torch
  torch=$($python -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("torch").origin))')
  LD_LIBRARY_PATH=$torch/lib$(printf ':%s' "$torch"/../nvidia/*/lib):${LD_LIBRARY_PATH-}:/usr/local/nvidia/lib64:$1
  export LD_LIBRARY_PATH
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
  checks | step)
    program=gpu_first_light
    [ "$part" = checks ] || program=shoal
    use_libraries "$from"
    $python "$top/bench/gpu/native.py" "$part" "$from/$program" --json "$out/$part.json" --deadline $limit "$@"
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
    [ -d "$images" ] || { mkdir "$images" && tar xf "$from/images.tar" -C "$images"; }
    use_libraries "$from"
    status=0
    $python "$top/bench/gpu/native.py" loader "$from/loader_bench" --images "$images" \
      --json "$out/own_loader.json" --deadline $((limit / 2)) "$@" || status=1
    $python "$top/bench/gpu/loaders.py" "$images" --json "$out/loaders.json" --deadline $((limit - SECONDS)) "$@"
    exit $status
    ;;
  table)
    mapfile -t found < <(ls "$out"/{checks,train,step,rivals,ceilings,own_loader,loaders}.json 2>/dev/null)
    [ ${#found[@]} -gt 0 ] || fail "no results in $out"
    $python "$top/bench/gpu/table.py" "${found[@]}"
    ;;
  *) usage ;;
esac
