# Sourced by the scripts: sets `top` to the repository's folder, and defines functions for messages.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '== %s\n' "$*"; }

# die CODE MESSAGE: prints MESSAGE, which should say what to do, and exits with status CODE.
die() {
  local code=$1
  shift
  printf 'shoal: %s\n' "$*" >&2
  exit "$code"
}
