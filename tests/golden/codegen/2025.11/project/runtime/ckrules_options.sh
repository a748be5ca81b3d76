#!/bin/sh
# {"ck": "2025.11", "arch": "gfx942", "kernels": 4}
# ckrules 0.0.0, rule book test
#
# Prints those of the options that CK's kernels need that $HIPCC takes.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: > "$work/empty.hip"

takes() {
  # Not quoted: HIPCC may be a compiler with options.
  ${HIPCC:-hipcc} --cuda-device-only --offload-arch=gfx90a -nogpulib -nogpuinc -fsyntax-only -c "$work/empty.hip" "$@" > "$work/log" 2>&1
}

if ! takes; then
  cat "$work/log" >&2
  echo "${HIPCC:-hipcc} cannot compile an empty file" >&2
  exit 1
fi
# What is for AMD's own compilers has others compile a kernel for a quarter of an hour.
case $(${HIPCC:-hipcc} --version 2>&1) in
  *"AMD clang"*) amd=true ;;
  *) amd=false ;;
esac
# Before LLVM 20 scheduling again loses the order of barriers; "git" may be a little older.
version=$(${HIPCC:-hipcc} --version 2>&1 |
  sed -n 's/.*clang version \([0-9][0-9]*\)\.\([^ ]*\).*/\1 \2/p' | head -n 1)
case $version in
  *git*) since=21 ;;
  *) since=20 ;;
esac
major=${version%% *}
if [ "${major:-0}" -lt "$since" ]; then old=true; else old=false; fi
if takes -fno-offload-uniform-block; then echo '-fno-offload-uniform-block'; fi
if takes -mllvm --lsr-drop-solution=1; then echo '-mllvm --lsr-drop-solution=1'; fi
if takes -mllvm -enable-post-misched=0; then echo '-mllvm -enable-post-misched=0'; fi
if takes -mllvm -amdgpu-coerce-illegal-types=1; then echo '-mllvm -amdgpu-coerce-illegal-types=1'; fi
if $amd && takes -mllvm -amdgpu-early-inline-all=true; then echo '-mllvm -amdgpu-early-inline-all=true'; fi
if takes -mllvm -amdgpu-function-calls=false; then echo '-mllvm -amdgpu-function-calls=false'; fi
if takes -mllvm -enable-noalias-to-md-conversion=0; then echo '-mllvm -enable-noalias-to-md-conversion=0'; fi
if $old && takes -mllvm -amdgpu-disable-unclustered-high-rp-reschedule; then echo '-mllvm -amdgpu-disable-unclustered-high-rp-reschedule'; fi
if $old && takes -mllvm -amdgpu-disable-clustered-low-occupancy-reschedule; then echo '-mllvm -amdgpu-disable-clustered-low-occupancy-reschedule'; fi
