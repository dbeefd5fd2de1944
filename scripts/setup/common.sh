# Sourced by the scripts: the repository's folder and functions for messages.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '== %s\n' "$*"; }

# die CODE MESSAGE: prints the message, which says what to do, and exits.
die() {
  local code=$1
  shift
  printf 'shoal: %s\n' "$*" >&2
  exit "$code"
}
