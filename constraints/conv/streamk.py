"""SK: stream-K backward weight."""

from __future__ import annotations

from ckrules.constraints.conv.quantities import ConvQuantities
from ckrules.engine.expr import BoolExpr
from ckrules.engine.rules import rule

_KERNEL = "ops/grouped_convolution/kernel/grouped_convolution_backward_weight_kernel.hpp"


def _on(c: ConvQuantities) -> BoolExpr:
    return c.streamk != "off"


@rule(
    "SK001", "streamk-outside-backward-weight", kind="compile", since="2026.06",
    applies=_on,
    says="stream-K is for bwd_weight only, not for {variant}: streamk = {streamk}",
    source=f"{_KERNEL}: only this kernel takes a StreamKTilePartitioner",
    accepts=[{"variant": "bwd_weight", "streamk": "tree"}],
    rejects=[{"streamk": "tree"}],
)  # fmt: skip
def streamk_is_bwd_weight(c: ConvQuantities) -> BoolExpr:
    """Only backward weight has stream-K.

    Why: the other kernels do not accept the stream-K partitioner.

    Fix: turn streamk off.
    """
    return c.bwd_weight


@rule(
    "SK002", "streamk-before-it-existed", kind="compile", until="2026.06",
    says="CK 2025.11 has no stream-K: streamk = {streamk}, expected off",
    source=f"{_KERNEL}: no stream-K partitioner in these headers",
    accepts=[{}], rejects=[{"variant": "bwd_weight", "streamk": "linear"}],
)  # fmt: skip
def streamk_is_off(c: ConvQuantities) -> BoolExpr:
    """Stream-K is off.

    Why: convolution kernels of these headers have no stream-K.

    Fix: turn streamk off or use newer headers.
    """
    return c.streamk == "off"


@rule(
    "SK003", "streamk-without-coherence", kind="compile", since="2026.06",
    applies=lambda c: _on(c) & c.bwd_weight,
    says=("stream-K of {variant} does not run on {arch}, {table streamk}: streamk = "
          "{streamk}"),
    source="ops/gemm/kernel/streamk_gemm/streamk_gemm_coherency.hpp: StreamKCoherency (static_assert false elsewhere)",
    accepts=[{"variant": "bwd_weight", "streamk": "linear"}],
    rejects=[{"variant": "bwd_weight", "arch": "gfx1201", "streamk": "linear"},
             {"variant": "bwd_weight", "arch": "gfx908", "streamk": "tree"}],
)  # fmt: skip
def streamk_is_coherent(c: ConvQuantities) -> BoolExpr:
    """Stream-K runs on GPUs for which its partial sums are coherent.

    Why: gfx90a, gfx942 and gfx950 have the memory operations; for others the header asserts or
    the body is empty.

    Fix: turn streamk off and split K instead.
    """
    return c.has("streamk")


@rule(
    "SK004", "persistent-without-streamk", kind="no-effect", severity="warning",
    applies=lambda c: c.streamk_persistent,
    says="streamk_persistent = true has no effect without stream-K: streamk = {streamk}",
    source="streamk_gemm_tile_partitioner.hpp: StreamKTilePartitioner, the third template argument (nothing else reads it)",
    accepts=[{"variant": "bwd_weight", "streamk": "tree", "streamk_persistent": True}],
    rejects=[{"streamk_persistent": True}],
)  # fmt: skip
def persistent_is_streamk(c: ConvQuantities) -> BoolExpr:
    """A persistent grid belongs to stream-K.

    Why: without stream-K the flag has no effect and upstream's names cannot say it.

    Fix: turn streamk_persistent off.
    """
    return _on(c)


@rule(
    "SK005", "streamk-with-wavelet", kind="wrong-result", since="2026.06",
    applies=lambda c: _on(c) & c.bwd_weight,
    says="stream-K of {variant} does not work with {pipeline}: streamk = {streamk}",
    source=f"{_KERNEL}: RunStreamKLoop stores partial sums and runs the epilogue on all waves (RunGemm has RunWaveletAwareEpilogue; read, not run)",
    accepts=[{"variant": "bwd_weight", "streamk": "tree"}],
    rejects=[{"variant": "bwd_weight", "streamk": "tree", "pipeline": "wavelet"}],
)  # fmt: skip
def streamk_has_no_loading_waves(c: ConvQuantities) -> BoolExpr:
    """Stream-K is not used with wavelet.

    Why: wavelet's loading waves have no sums. Elsewhere they are kept out of the epilogue, but
    the loop over partial sums lets them store and add like the others, beyond their tile.

    Fix: use another pipeline, or split K instead.
    """
    return c.pipeline != "wavelet"
