"""Small random convolution problems."""

from __future__ import annotations

from hypothesis import strategies as st

from ckrules.constraints.conv.problem import Convolution


@st.composite
def problems(draw: st.DrawFn, most_channels: int = 3) -> Convolution:
    """A problem whose loops a test can afford to run one by one."""
    ndim = draw(st.integers(1, 3))
    groups = draw(st.integers(1, 3))
    c, k = (draw(st.integers(1, most_channels)) for _ in range(2))

    def axes(least: int, most: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(least, most)) for _ in range(ndim))

    taps, dilation = axes(1, 3), axes(1, 2)
    left, right = axes(0, 2), axes(0, 2)
    reach = [(f - 1) * d + 1 for f, d in zip(taps, dilation, strict=True)]
    image = tuple(
        max(1, n - a - b) + draw(st.integers(0, 3))
        for n, a, b in zip(reach, left, right, strict=True)
    )
    return Convolution(
        batch=draw(st.integers(1, 2)),
        groups=groups,
        in_channels=groups * c,
        out_channels=groups * k,
        input=image,
        filter=taps,
        stride=axes(1, 3),
        dilation=dilation,
        left_pad=left,
        right_pad=right,
        split_k=draw(st.sampled_from([1, 1, 2, 7])),
    )
