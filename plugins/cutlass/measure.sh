#!/bin/sh
# Measures on a machine with a Hopper GPU, nvcc and Python; run from the root of the checkout.
# The first call copies what was drawn; each goes on where the last one stopped.
#   plugins/cutlass/measure.sh DRAWN CUTLASS SECONDS [OUT]
# DRAWN: what `python -m ckrules_cutlass.draw` wrote; CUTLASS: the folder with include and tools.
set -eu
drawn=$1 cutlass=$2 seconds=$3 out=${4:-}
work=${CKRULES_CUTLASS_WORK:-/tmp/ckrules-cutlass}
site=$work/site
root=$(pwd)
if [ ! -d "$work/kernels" ]; then
    mkdir -p "$site"
    cp -r "$drawn" "$work/kernels"
    info=$site/ckrules_cutlass-0.1.0.dist-info
    mkdir -p "$info"
    printf 'Metadata-Version: 2.1\nName: ckrules-cutlass\nVersion: 0.1.0\n' > "$info/METADATA"
    {
        printf '[ckrules.families]\ncutlass = ckrules_cutlass.family:FAMILY\n'
        printf '[ckrules.devices]\ncuda = ckrules_cutlass.device:CudaPlugin\n'
    } > "$info/entry_points.txt"
fi
PYTHONPATH=$site:$root/plugins/cutlass:$root${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH PYTHONUNBUFFERED=1
exec python3 -m ckrules_cutlass.measure "$work/kernels" --cutlass "$cutlass" --seconds "$seconds" \
    ${out:+--out "$out"}
