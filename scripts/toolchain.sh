#!/usr/bin/env bash
# Installs what the compile oracle needs: clang 19, and clang 22 for GPUs that it does not know,
# with HIP headers (Debian packages), and the CK tree of November 2025 (--ck 2025.11), which the PyPI sdist amd-aiter 0.1.7.post2.dev18
# carries under aiter_meta/3rdparty/composable_kernel. Running it again changes nothing.
#
#   CKRULES_TOOLCHAIN  folder of the trees; by default ckrules/toolchain in the first that is set
#                      of CKRULES_CACHE_DIR, XDG_CACHE_HOME and ~/.cache, as in support/folders.py
#   CKRULES_SKIP_APT   set to 1 to leave the system's packages alone
set -euo pipefail

requirement="amd-aiter==0.1.7.post2.dev18"
sha256="561b9b2baa4e75ea02890f2e54d1c2ce9e5c128bd1012b4f4780d47e1a5a41a1"
inner="aiter_meta/3rdparty/composable_kernel"
packages=(libamdhip64-dev rocm-device-libs)
compilers=(19 22)
for version in "${compilers[@]}"; do
  packages+=("clang-$version" "clang-tools-$version" "lld-$version" "llvm-$version")
done

here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cache="${CKRULES_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}}"
root="${CKRULES_TOOLCHAIN:-$cache/ckrules/toolchain}"
tree="$root/ck-2025.11"

fail() {
  printf 'toolchain: %s\n' "$1" >&2
  exit 1
}

install_packages() {
  local program version lacking=()
  for version in "${compilers[@]}"; do
    # The third is of clang-tools: it bundles the host's and the GPU's code into an object.
    for program in clang ld.lld clang-offload-bundler llvm-mc llvm-objdump; do
      command -v "$program-$version" >/dev/null 2>&1 || lacking+=("$program-$version")
    done
  done
  ((${#lacking[@]})) || return 0
  if [[ "${CKRULES_SKIP_APT:-0}" == 1 ]]; then
    fail "missing, and CKRULES_SKIP_APT=1: ${lacking[*]}; install: ${packages[*]}"
  fi
  command -v apt-get >/dev/null 2>&1 || fail "no apt-get here; install by hand: ${packages[*]}"
  local -a as_root=()
  if [[ "$(id -u)" != 0 ]]; then
    command -v sudo >/dev/null 2>&1 || fail "not root and no sudo; install: ${packages[*]}"
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
}

# Prints the path of a working unearth, after making a temporary venv when the project has none.
find_unearth() {
  local work="$1" candidate
  for candidate in "$here/.venv/bin/unearth" "$(command -v unearth || true)"; do
    if [[ -n "$candidate" && -x "$candidate" ]]; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  python3 -m venv "$work/venv" >&2
  "$work/venv/bin/python" -m pip install --quiet unearth >&2
  printf '%s\n' "$work/venv/bin/unearth"
}

fetch_tree() {
  local headers=0
  [[ -f "$tree/include/ck_tile/core.hpp" && -f "$tree/CMakeLists.txt" ]] && headers=1
  if ((headers)) && [[ -d "$tree/tile_engine/ops" ]]; then
    return
  fi
  mkdir -p "$root"
  # Not local: the trap runs after this function has returned.
  work="$(mktemp -d "$root/.fetch.XXXXXX")"
  trap 'rm -rf "$work"' EXIT

  local unearth sdist top
  unearth="$(find_unearth "$work")"
  "$unearth" "$requirement" --no-binary -d "$work/sdist" >"$work/log" 2>&1 ||
    fail "cannot fetch $requirement: $(tail -n 1 "$work/log")"
  sdist="$(find "$work/sdist" -maxdepth 1 -name '*.tar.gz' -print -quit)"
  [[ -n "$sdist" ]] || fail "unearth left no sdist of $requirement"
  printf '%s  %s\n' "$sha256" "$sdist" | sha256sum --check --status ||
    fail "the sdist of $requirement is not the one the rules were read from (sha256 differs)"

  mkdir "$work/out"
  top="$(basename "$sdist" .tar.gz)"
  tar -xzf "$sdist" -C "$work/out" \
    "$top/$inner/CMakeLists.txt" "$top/$inner/include" \
    "$top/$inner/example/ck_tile/20_grouped_convolution" "$top/$inner/tile_engine/ops"
  [[ -f "$work/out/$top/$inner/include/ck_tile/core.hpp" ]] ||
    fail "the sdist of $requirement holds no CK Tile headers"
  if ((headers)); then # a tree of before, in which builds may be reading
    mkdir -p "$tree/tile_engine"
    mv "$work/out/$top/$inner/tile_engine/ops" "$tree/tile_engine/ops"
  else
    rm -rf "$tree"
    mv "$work/out/$top/$inner" "$tree"
  fi
}

install_packages
fetch_tree
for version in "${compilers[@]}"; do
  printf 'toolchain: %s\n' "$("clang-$version" --version | head -n 1)"
done
printf 'toolchain: CK 2025.11 ready\n'
