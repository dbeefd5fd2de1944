#!/usr/bin/env bash
# What a first session with a GPU should tell: whether everything works there, how fast it is, how
# fast its rivals are, and what the card could do. In parts of under ten minutes each; a part that is
# run again goes on with what is missing.
#
#   bench/gpu_first_light.sh pack DIR [TAR]     on the machine that builds: puts the programs, the
#                                               libraries they need and TAR, a .tar of class folders
#                                               of JPEGs, into DIR
#   bench/gpu_first_light.sh PART DIR OUT [ARGUMENTS OF ITS PROGRAM]
#                                               on the machine with the GPU, which needs Python with
#                                               torch 2.11, torchvision and timm, and no compiler
#
#   PART   checks    the plug-in, NCCL, bf16, CUDA graphs, a trace, two processes on one GPU, and our
#                    operations against the CPU's (about a minute)
#          train     shoal train on the GPU against the same on the CPU: losses, again, resumed, two
#                    processes on one GPU
#          step      our training step: three models, three batches, bf16 and f16, eager and as a graph
#          rivals    the same of timm: eager, torch.compile
#          ceilings  bandwidth, matrix products, depthwise convolutions, launches, copies to the card
#          loaders   our loader on 1 to 16 threads; torchvision's, timm's, nvJPEG
#          table     Markdown of all that is in OUT
#   OUT    gets PART.json, and the checks' trace; what it has already is not measured again (--retry:
#          but for failures), except by train
#
# Status: 0; 1 a check failed or a program did; 2 usage.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
limit=540 # seconds for a part

usage() {
  sed -n '6,27s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

fail() {
  echo "gpu_first_light.sh: $*" >&2
  exit 1
}

# Of programs: all libraries but the C library's, the compiler's and those that come with torch.
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

# LibTorch's libraries are Python's, and come first; ours are for what the system does not have.
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
[ -e "$from/gpu_first_light" ] || fail "no $from/gpu_first_light: make it with $0 pack $from"
mkdir -p "$out"
case $part in
  checks | step)
    use_libraries "$from"
    $python "$top/bench/gpu/native.py" "$part" "$from/gpu_first_light" --json "$out/$part.json" \
      --deadline $limit "$@"
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
    [ -d "$images" ] || [ -e "$from/images.tar" ] || fail "no $from/images.tar: name a TAR when packing"
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
