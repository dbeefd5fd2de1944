# Sourced by scripts/build, scripts/demo and scripts/lint: installs system packages with apt
# (Debian, Ubuntu). On other systems, only checks for the programs.

# Each entry of `tools`, `comforts`, `test_tools` and `linters` is PROGRAM:PACKAGE.
tools=(g++:g++ cmake:cmake ninja:ninja-build pkg-config:pkg-config xz:xz-utils protoc:protobuf-compiler)
comforts=(ccache:ccache) # recommended, not required
test_tools=(zsh:zsh fish:fish) # for tests of completions; without these programs, tests are disabled
# For tests of the report's page. Ubuntu has no such package.
! grep -q '^ID=debian' /etc/os-release 2>/dev/null || test_tools+=(chromium:chromium)
linters=(clang-format:clang-format clang-tidy:clang-tidy) # for scripts/lint: version 14, as in Debian 12
libraries=(libopencv-core-dev libopencv-imgproc-dev libopencv-imgcodecs-dev libspdlog-dev libcxxopts-dev catch2
  nlohmann-json3-dev libtomlplusplus-dev libyaml-cpp-dev zlib1g-dev libcurl4-openssl-dev libssl-dev
  libcpp-httplib-dev libisal-dev libjs-dygraphs libprotobuf-dev libonnx-dev)

# Prints the first Python that has pip.
find_python() {
  local python
  for python in python3 /usr/bin/python3; do
    command -v "$python" >/dev/null && "$python" -c 'import pip._internal' 2>/dev/null && { echo "$python"; return; }
  done
  return 1
}

# missing_packages yes|no: sets `required` and `wanted` (optional) to the packages that are not
# installed. yes: Python is required; no: it is optional.
missing_packages() {
  local pair name names=("${libraries[@]}") jpeg=libjpeg62-turbo-dev optional=("${comforts[@]}")
  required=() wanted=()
  for pair in "${tools[@]}"; do command -v "${pair%%:*}" >/dev/null || required+=("${pair#*:}"); done
  [ "${SHOAL_TESTS-}" != ON ] || optional+=("${test_tools[@]}")
  for pair in "${optional[@]}"; do command -v "${pair%%:*}" >/dev/null || wanted+=("${pair#*:}"); done
  if ! find_python >/dev/null; then # optional: only Python tests need it
    if [ "$1" = yes ]; then required+=(python3-pip); else wanted+=(python3-pip); fi
  fi
  command -v dpkg-query >/dev/null || return 0
  ! grep -q '^ID=ubuntu' /etc/os-release 2>/dev/null || jpeg=libjpeg-turbo8-dev
  names+=("$jpeg")
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${names[@]}" 2>/dev/null) || true
  for name in "${names[@]}"; do
    case $'\n'"$installed"$'\n' in *$'\n'"installed $name"$'\n'*) ;; *) required+=("$name") ;; esac
  done
}

apt_install() {
  local sudo=() log
  [ "$(id -u)" = 0 ] || sudo=(sudo -n)
  log=$(mktemp)
  say "installing $# packages with apt-get: $*"
  local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300)
  "${apt[@]}" update >"$log" 2>&1 </dev/null || say "apt-get update failed; continuing with the old package lists"
  "${apt[@]}" install --no-install-recommends "$@" >>"$log" 2>&1 </dev/null || {
    tail -n 15 "$log" >&2
    [ ${#required[@]} -gt 0 ] || { say "continuing without these packages, which are optional"; return; }
    die 1 "apt-get could not install the packages; see the full log in $log"
  }
  rm -f "$log"
}

# ensure_packages yes|no: installs the packages that missing_packages finds. Without permission,
# prints the command that an administrator must run and exits with status 3.
ensure_packages() {
  missing_packages "$1"
  [ ${#required[@]} -gt 0 ] || [ ${#wanted[@]} -gt 0 ] || return 0
  local may_install=no
  if command -v apt-get >/dev/null; then
    if [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }; then may_install=yes; fi
  fi
  if [ $may_install = yes ]; then
    apt_install "${required[@]}" "${wanted[@]}"
  elif [ ${#required[@]} -gt 0 ]; then
    command -v apt-get >/dev/null ||
      die 3 "missing packages: ${required[*]}. Install them with this system's package manager," \
        "together with ${libraries[*]} and libjpeg-turbo's development files (Debian's names)"
    local all="${required[*]} ${wanted[*]}"
    die 3 "missing packages need an administrator to install them. Run this, then the same command again:
  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${all% }"
  fi
}
