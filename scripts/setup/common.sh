# Sourced by the scripts: sets `top` to the repository's folder, and defines functions for messages.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '== %s\n' "$*"; }

# die CODE MESSAGE: prints MESSAGE and exits with status CODE. The message says what to do.
die() {
  local code=$1
  shift
  printf 'shoal: %s\n' "$*" >&2
  exit "$code"
}
