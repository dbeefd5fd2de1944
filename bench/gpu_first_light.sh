#!/usr/bin/env bash
# Checks shoal on a GPU machine that is available only for minutes. Measures shoal's speed, that of
# other programs, and the limits of the GPU. Four calls of less than ten minutes each share 24 minutes.
#
#   bench/gpu_first_light.sh pack DIR [IMAGES.tar]   on the machine that builds: writes
#                                                    DIR/pack.tar.xz, at most 45 MB, with the
#                                                    programs, the libraries they need and 100
#                                                    images of a tar of class folders of JPEGs
#   bench/gpu_first_light.sh call N DIR OUT [--force] [--budget SECONDS] [OPTIONS]
#                                                    on the machine with the GPU: runs the parts of
#                                                    call N, 1 to 4. It needs Python with torch 2.11,
#                                                    torchvision and timm, but no compiler
#   bench/gpu_first_light.sh PART DIR OUT ...        runs one part; same options
#   bench/gpu_first_light.sh table DIR OUT           prints all results as Markdown
#   bench/gpu_first_light.sh plan                    prints the parts and seconds of each call
#
#   PART   checks    the plug-in, which is built from this tree if the packed one does not work, NCCL,
#                    bf16, CUDA graphs, a trace, two processes on one GPU, our operations compared
#                    with the CPU, and a training step of an installed shoal, which must find
#                    torch's libraries itself
#          step      our training step (shoal bench step): bf16, the most important model first
#          rivals    timm's training step, eager
#          ceilings  bandwidth, matrix products, convolutions, kernel launches, copies to the GPU
#          kernels   GPU time of each kernel of our step (EfficientNet-B0, batch 256)
#          memcheck  compute-sanitizer on our kernels in the check `operations`, if it is installed
#          ncu       Nsight Compute on our kernels in one step, if it is installed
#          compiled  timm's training step with torch.compile
#          train     shoal train on the GPU compared with the CPU: losses, a repeated run, a resumed
#                    run, two processes on one GPU, predictions
#          speed     images/s of shoal train, with data loading
#          loaders   our data loader with 1 to 16 threads; torchvision's, timm's, nvJPEG
#
# All parts except checks need the stored results of checks, and refuse to start if a check failed or
# is missing; --force starts them anyway. OPTIONS go to the part's program (--only, --retry, ...).
#
# Results are kept in DIR.kept, beside DIR, with the unpacked programs and the seconds used so far. At
# the end of each part, also if it fails or is stopped, they are copied to OUT as results.tar.gz,
# table.md and kernels.txt. A part that runs again measures only what is missing, and --retry also
# repeats failed measurements; train always repeats all its runs. If the machine was replaced, copy
# results.tar.gz to DIR before the next call.
#
# Exit status: 0; 1 a check, a training run or a measurement failed, the checks did not pass, or the
# time was too short for all checks; 2 usage; 128 + N stopped by signal N. PART.json contains the
# reasons of failed measurements.
# shellcheck disable=SC2086 # the plan is split into words
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
gpu=$top/bench/gpu
python=${PYTHON:-python3}
budget=1440    # seconds for all calls
call_limit=560 # seconds for one call; some machines stop a command after 600
least=10       # seconds; a part that would have less is skipped
# The parts of each call, the most important first, and the seconds that they need. A part may also
# use the seconds that earlier parts and calls left.
plan=(
  ""
  "checks 110 step 100 rivals 140 ceilings 50"
  "kernels 60 memcheck 90 ncu 90"
  "compiled 450"
  "train 160 speed 90 loaders 100"
)

usage() {
  sed -n '5,/^# shellcheck/{/^# shellcheck/d; s/^# \{0,1\}//p}' "$0" >&2
  exit 2
}

fail() {
  echo "gpu_first_light.sh: $*" >&2
  exit 1
}

# seconds_of PART SECONDS ...: prints the sum of the seconds.
seconds_of() {
  local sum=0
  while [ $# -gt 0 ]; do
    sum=$((sum + $2))
    shift 2
  done
  echo $sum
}

print_plan() {
  local call all=0 seconds
  for call in 1 2 3 4; do
    seconds=$(seconds_of ${plan[call]})
    all=$((all + seconds))
    echo "call $call: ${plan[call]} = $seconds s"
  done
  echo "all calls: $all s of $budget s"
}

torch_folder() {
  $python -c 'import importlib.util, os; print(os.path.dirname(importlib.util.find_spec("torch").origin))'
}

# Search order of libraries: Python's torch, the caller's LD_LIBRARY_PATH, the NVIDIA driver's
# folder, the packed libraries, then the system's.
use_libraries() {
  local torch
  torch=$(torch_folder)
  LD_LIBRARY_PATH=$torch/lib$(printf ':%s' "$torch"/../nvidia/*/lib):${LD_LIBRARY_PATH-}:/usr/local/nvidia/lib64:$programs
  export LD_LIBRARY_PATH
}

# Unpacks the pack, unless this was done before. Python's tarfile needs no program xz.
unpack() {
  local sum
  [ -e "$from/pack.tar.xz" ] || fail "$from/pack.tar.xz does not exist; make it with $0 pack $from"
  sum=$(sha256sum <"$from/pack.tar.xz")
  [ "$sum" != "$(cat "$kept/pack/sum" 2>/dev/null)" ] || return 0
  rm -rf "$kept/pack" "$kept/pack.new"
  mkdir "$kept/pack.new"
  $python -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2], filter="data")' \
    "$from/pack.tar.xz" "$kept/pack.new"
  echo "$sum" >"$kept/pack.new/sum"
  mv "$kept/pack.new" "$kept/pack"
}

# Copies the results to OUT. Few files, because some machines return only a few.
collect() {
  mkdir -p "$out"
  (print_table) >"$out/table.md" 2>/dev/null || rm -f "$out/table.md"
  [ ! -e "$results/kernels.txt" ] || cp "$results/kernels.txt" "$out"
  tar czf "$out/results.tar.gz.part" -C "$results" . && mv "$out/results.tar.gz.part" "$out/results.tar.gz"
}

print_table() {
  local found=()
  mapfile -t found < <(cd "$results" && ls {checks,step,rivals,ceilings,train,speed,own_loader,loaders}.json 2>/dev/null)
  [ ${#found[@]} -gt 0 ] || fail "there are no results in $results"
  (cd "$results" && $python "$gpu/table.py" "${found[@]}")
  [ ! -e "$results/kernels.txt" ] || { echo "## Kernels of a step" && sed 's/^/    /' "$results/kernels.txt"; }
}

# Runs a program for at most `limit` seconds and a few more, in which it can store its results. In
# the background, because bash does not run traps while it waits for a program in the foreground.
child=
limited() {
  local status=0
  timeout -k 5 $((limit + 10)) "$@" &
  child=$!
  wait $child || status=$?
  child=
  return $status
}

# Runs a program of bench/gpu, which starts no measurement after the limit.
measure() {
  local file=$1
  shift
  limited "$python" "$gpu/$file" "$@" --deadline $limit "${options[@]}"
}

# Lays out the folders of an installed shoal and measures two training steps there.
# LD_LIBRARY_PATH contains only the driver's folder, as in NVIDIA's containers. A longer path would
# hide that shoal cannot find a library itself.
check_installed() {
  local torch tree status=0 limit=$((limit < 60 ? limit : 60))
  torch=$(torch_folder)
  tree=$(mktemp -d)
  mkdir -p "$tree/bin" "$tree/lib/shoal"
  cp "$programs"/{shoal,shoal-worker} "$tree/bin"
  cp "$programs/libshoal_cuda.so" "$tree/lib/shoal"
  ln -s "$programs" "$tree/lib/shoal/libraries"
  ln -s "$torch" "$tree/lib/shoal/torch"
  [ ! -d "$torch/../nvidia" ] || ln -s "$(realpath "$torch/../nvidia")" "$tree/lib/shoal/nvidia"
  limited env LD_LIBRARY_PATH=/usr/local/nvidia/lib64 "$tree/bin/shoal" bench step --json \
    --model resnet18 --size 64 --batch-size 8 --steps 2 --device $device >"$results/installed.json" || status=1
  rm -r "$tree"
  [ $status = 0 ] && echo "installed: ok" || echo "installed: FAILED" >&2
  return $status
}

# Builds the plug-in from this tree if the packed one does not work here. CMake and nvcc must not find
# the packed libraries.
mend_plugin() {
  local program built=$kept/plugin log=$results/plugin.txt build=(limited env -u LD_LIBRARY_PATH cmake)
  [ $device = cuda ] && ! limited "$programs/gpu_first_light" plugin >/dev/null || return 0
  for program in nvcc cmake ninja nvidia-smi; do
    command -v $program >/dev/null || {
      echo "plugin: FAILED; it cannot be built here, because $program is not installed" >&2
      return 1
    }
  done
  echo "plugin: does not work here; building it from $top"
  "${build[@]}" -S "$top" -B "$built" -G Ninja -DSHOAL_PLUGIN_ONLY=ON -DSHOAL_CUDA=ON \
    -DTORCH_ROOT="$(torch_folder)" -DCMAKE_CUDA_COMPILER="$(command -v nvcc)" \
    -DCMAKE_CUDA_ARCHITECTURES="$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | sed -n '1s/\.//p')" \
    >"$log" 2>&1 &&
    "${build[@]}" --build "$built" >>"$log" 2>&1 && cp "$built/libshoal_cuda.so" "$programs" && return
  tail -n 20 "$log" >&2
  echo "plugin: FAILED to build, see plugin.txt" >&2
  return 1
}

# Options of `shoal bench step` for the step that kernels and ncu look at.
big_step=(--model efficientnet_b0 --size 224 --batch-size 256 --amp bf16)
# What ncu measures. Few metrics, because it repeats a kernel when it cannot count all at once.
metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum
metrics+=,sm__warps_active.avg.pct_of_peak_sustained_active,launch__registers_per_thread

# Runs a program that may be missing on the machine, and writes what it prints to a file.
#   optional PROGRAM FILE ARGUMENTS
optional() {
  local program=$1 file=$2
  shift 2
  if ! command -v "$program" >/dev/null; then
    echo "$part: skipped, because $program is not installed"
  elif limited "$program" "$@" >"$results/$file" 2>&1; then
    echo "$part: ok, see $file"
  else
    tail -n 5 "$results/$file"
    echo "$part: FAILED, see $file" >&2
    return 1
  fi
}

# Runs one part for `limit` seconds.
run_part() {
  local status=0 images=$kept/pack/images end=$((SECONDS + limit))
  use_libraries
  if [ $part = checks ]; then
    mend_plugin || status=1
    limit=$((end - SECONDS))
    check_installed || status=1
    limit=$((end - SECONDS))
  fi
  case $part in
    checks) measure native.py checks "$programs/gpu_first_light" --json "$results/checks.json" || status=1 ;;
    step | speed) measure native.py $part "$programs/shoal" --json "$results/$part.json" ;;
    train)
      [ ! -d "$images" ] || options=(--images "$images" "${options[@]}")
      measure training.py "$programs/shoal" --json "$results/train.json"
      ;;
    rivals) measure rivals.py --json "$results/rivals.json" --only '/eager$' ;;
    compiled) measure rivals.py --json "$results/rivals.json" --only '/(compile|reduce-overhead)$' --cache "$kept/compiled" ;;
    ceilings) measure ceilings.py --json "$results/ceilings.json" ;;
    kernels)
      limited "$programs/shoal" bench step "${big_step[@]}" --steps 3 --device $device --trace "$results/trace.json" &&
        $python "$gpu/kernels.py" "$results/trace.json" --json "$results/kernels.json" --text "$results/kernels.txt"
      ;;
    memcheck)
      # Without LibTorch's cache, each tensor is an allocation of its own, whose bounds are checked.
      PYTORCH_NO_CUDA_MEMORY_CACHING=1 optional compute-sanitizer memcheck.txt --tool memcheck \
        --kernel-name kns=shoal --report-api-errors no --error-exitcode 9 \
        "$programs/gpu_first_light" operations
      ;;
    ncu)
      optional ncu ncu.csv --target-processes all --clock-control none --csv \
        --kernel-name-base demangled --kernel-name regex:shoal --launch-count 600 \
        --metrics "$metrics" "$programs/shoal" bench step "${big_step[@]}" --warmup 0 --steps 1 --device $device
      ;;
    loaders)
      if [ ! -d "$images" ]; then
        echo "loaders: the pack has no images; name IMAGES.tar when packing" >&2
        return 1
      fi
      limit=$((limit / 2))
      measure native.py loader "$programs/loader_bench" --images "$images" --json "$results/own_loader.json" || status=1
      limit=$((end - SECONDS))
      measure loaders.py "$images" --json "$results/loaders.json" || status=1
      ;;
  esac || status=1
  return $status
}

# The seconds that all calls have used.
used() { echo $((used_before + SECONDS)); }

# run_parts RESERVED PART SECONDS ...: runs parts one after the other. RESERVED: seconds of the budget
# for later calls.
run_parts() {
  local reserved=$1 end later reason status=0
  shift
  end=$((budget - used_before - reserved))
  [ $end -lt $call_limit ] || end=$call_limit
  while [ $# -gt 0 ]; do
    part=$1
    shift 2
    later=$(seconds_of "$@")
    limit=$((end - later - SECONDS))
    if [ $part != checks ] && [ $force = no ]; then
      reason=$($python -B "$gpu/gate.py" "$results" 2>&1) ||
        fail "$part does not start, because $reason; --force starts it anyway"
    fi
    if [ $limit -lt $least ]; then
      echo "$part: skipped, only $((limit > 0 ? limit : 0)) s are left for it"
      continue
    fi
    echo "== $part, at most $limit s"
    echo $(($(used) + limit)) >"$results/seconds" # right if the machine kills this script
    run_part || status=1
    used >"$results/seconds"
    collect
  done
  return $status
}

finish() {
  local status=$?
  trap - EXIT
  [ -z "$child" ] || { kill $child && wait $child; } 2>/dev/null || true
  [ ! -d "$results" ] || { used >"$results/seconds" && collect; }
  echo "used $(used) of $budget s in all calls; results: $out"
  exit $status
}

part=${1-}
[ "$part" != plan ] || { print_plan && exit; }
if [ "$part" = call ]; then
  call=${2-}
  [[ $call =~ ^[1-4]$ ]] || usage
  shift
fi
[ $# -ge 2 ] || usage
from=$(realpath -m "$2")
shift 2
if [ "$part" = pack ]; then
  [ $# -le 1 ] || usage
  "$top/scripts/build" release -- --target gpu_first_light loader_bench shoal shoal-worker shoal_cuda
  mkdir -p "$from"
  exec $python "$gpu/pack.py" "$top/build/release" "$from/pack.tar.xz" "$@"
fi
[ $# -ge 1 ] || usage
out=$(realpath -m "$1")
shift
options=() force=no device=cuda
while [ $# -gt 0 ]; do
  case $1 in
    --force) force=yes ;;
    --budget)
      [[ ${2-} =~ ^[0-9]+$ ]] || usage
      budget=$2
      shift
      ;;
    *) options+=("$1") ;;
  esac
  shift
done
[[ " ${options[*]-} " != *" --device cpu "* ]] || device=cpu
kept=$from.kept
programs=$kept/pack/programs
results=$kept/results
if [ ! -d "$results" ]; then
  mkdir -p "$results"
  [ ! -e "$from/results.tar.gz" ] || tar xzf "$from/results.tar.gz" -C "$results"
fi
used_before=$(cat "$results/seconds" 2>/dev/null || echo 0)
case $part in
  table) print_table ;;
  call | checks | step | rivals | ceilings | kernels | memcheck | ncu | compiled | train | speed | loaders)
    trap finish EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    unpack
    if [ $part = call ]; then
      later=0
      for ((each = call + 1; each <= 4; each++)); do later=$((later + $(seconds_of ${plan[each]}))); done
      left=$((budget - used_before - $(seconds_of ${plan[call]}))) # a small budget is for the first calls
      [ $later -le $left ] || later=$((left > 0 ? left : 0))
      run_parts $later ${plan[call]}
    else
      run_parts 0 $part 0
    fi
    ;;
  *) usage ;;
esac
