# Sourced by the scripts: sets `top` to the repository's folder, and defines functions for messages.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# A relative TORCH_ROOT refers to the caller's folder, which the scripts leave.
[ -z "${TORCH_ROOT-}" ] || TORCH_ROOT=$(realpath -ms "$TORCH_ROOT")

say() { printf '== %s\n' "$*"; }

# die CODE MESSAGE: prints MESSAGE, which should say what to do, and exits with status CODE.
die() {
  local code=$1
  shift
  printf 'shoal: %s\n' "$*" >&2
  exit "$code"
}
