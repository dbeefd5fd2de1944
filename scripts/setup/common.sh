# Sourced by the scripts: the folder of the repository, and how they speak.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

say() { printf '== %s\n' "$*"; }

# die CODE SENTENCE: every failure is one sentence that says what to do.
die() {
  local code=$1
  shift
  printf 'shoal: %s\n' "$*" >&2
  exit "$code"
}
