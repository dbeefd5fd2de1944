# Sourced by scripts/build and scripts/demo: installs LibTorch as .deps/libtorch, with the folders
# torch/ and nvidia/.
#
# .deps/libtorch links to a per-user store (~/.cache/shoal, or SHOAL_CACHE=DIR), which all clones on
# the machine share. With SHOAL_CACHE= (empty), the store is in .deps.

libtorch_name=libtorch-2.11.0
lock=$top/scripts/setup/wheels.lock

store_dir() {
  local dir=${SHOAL_CACHE-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/shoal}
  [ -n "$dir" ] && mkdir -p "$dir" 2>/dev/null && [ -w "$dir" ] || dir=$top/.deps/store
  mkdir -p "$dir" && (cd "$dir" && pwd)
}

# set_mark SET: prints the path of the file that marks the set's wheels as unpacked. Its name
# contains a hash of the pinned wheels and of the rules for unpacking.
set_mark() {
  local key
  key=$({ grep '^UNPACK_RULES' "$top/scripts/setup/wheels.py"; grep "^$1 " "$lock"; } | sha256sum)
  echo "$store/.wheels/$1-${key:0:12}"
}

has_gpu() { [ -e /dev/nvidia0 ] || { command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; }; }
# has_nvcc: succeeds if the nvcc that cmake/Cuda.cmake finds has LibTorch's CUDA version.
has_nvcc() {
  local nvcc=${CUDACXX:-$(PATH=${CUDA_HOME-}/bin:$PATH:/usr/local/cuda/bin command -v nvcc)}
  "$nvcc" --version 2>/dev/null | grep -q 'release 13\.'
}

# plan_libtorch WITH_CUDA: sets `store` (folder to install into) and `missing_sets` (wheels to
# download). Both are empty if TORCH_ROOT is set.
plan_libtorch() {
  missing_sets=()
  store=
  [ -z "${TORCH_ROOT-}" ] || return 0
  store=$(store_dir)/$libtorch_name
  local sets=(core) set
  if [ "$1" = yes ] || has_gpu; then
    sets+=(cuda)
    has_nvcc || sets+=(nvcc)
  fi
  for set in "${sets[@]}"; do [ -e "$(set_mark "$set")" ] || missing_sets+=("$set"); done
}

# ensure_libtorch: downloads and unpacks `missing_sets` and links .deps/libtorch to the store.
ensure_libtorch() {
  if [ -n "${TORCH_ROOT-}" ]; then
    [ -d "$TORCH_ROOT" ] || die 2 "TORCH_ROOT=$TORCH_ROOT is not a folder; set it to the torch folder of a pip environment"
    return
  fi
  if [ ${#missing_sets[@]} -gt 0 ]; then
    [ "$(uname -m)" = x86_64 ] ||
      die 1 "the pinned LibTorch is for x86_64, not $(uname -m); set TORCH_ROOT to a torch 2.11 for this machine"
    local set python
    python=$(find_python) || die 3 "no Python with pip was found; install python3-pip, or set TORCH_ROOT"
    mkdir -p "$store/.wheels"
    say "downloading LibTorch into $store (${missing_sets[*]})"
    exec 9>"$store/.wheels/lock"
    flock 9 # another clone may be installing LibTorch too
    "$python" "$top/scripts/setup/wheels.py" "$lock" "$store" "${missing_sets[@]}" || exit $?
    for set in "${missing_sets[@]}"; do : >"$(set_mark "$set")"; done
    exec 9>&-
  fi
  [ "$(readlink "$top/.deps/libtorch" 2>/dev/null)" = "$store" ] || {
    mkdir -p "$top/.deps"
    ln -sfn "$store" "$top/.deps/libtorch"
  }
}
