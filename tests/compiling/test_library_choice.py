"""What the dispatcher library chooses and pads: what the Python dispatcher does.

The kernels are drawn from the rules' spaces; in the place of their host libraries stands a test
double (`standin_host.c`) that takes what a vector divides, and so does its counterpart here.
"""

from __future__ import annotations

import ctypes
import functools
import json
import tempfile
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import ckrules
from ckrules.compiling import library, models
from ckrules.compiling.artifacts import Artifact
from ckrules.compiling.folder import manifests
from ckrules.compiling.library import MeasuredTime
from ckrules.constraints import book
from ckrules.constraints.conv.networks import networks
from ckrules.constraints.fmha_v3.vocabulary import BASELINE as TWO_GROUPS
from ckrules.constraints.gemm.device.timing import USUAL
from ckrules.kernels import problem_books
from ckrules.kernels.books import Books
from ckrules.kernels.families import families, problems_of
from ckrules.ranking.kernels import KernelTable
from ckrules.ranking.learned import AGAINST
from ckrules.runtime import Dispatcher, NoKernelError, Source
from ckrules.support.errors import UsageError
from tests.compiling.test_library import compile_c
from tests.device.descriptors import DescribedKernel
from tests.helpers.toolchain import require_toolchain
from tests.runtime import doubles

pytestmark = [pytest.mark.toolchain, pytest.mark.whole]

OPENER = "tests.compiling.test_library_choice:open_anything"
VECTORS = (2, 4, 8)
SOURCES = {Source.UNKNOWN: 0, Source.MEASURED: 1, Source.ESTIMATE: 2, Source.MODEL: 3}


class TakesVectors(DescribedKernel):
    """The counterpart of `standin_host.c`; the vector is the number after the name's v."""

    def reason(self, problem: Any) -> str | None:
        vector = int(self.info.name.rpartition("v")[2])
        if hasattr(problem, "in_channels"):
            sizes = (problem.in_channels // problem.groups, problem.out_channels // problem.groups)
        else:
            sizes = (problem.n, problem.k)
        return "the vector size does not divide it" if any(s % vector for s in sizes) else None


class TakesProducts(TakesVectors, doubles.DescribedGemm):
    def __init__(self, name: str, config: dict[str, Any]) -> None:
        doubles.DescribedGemm.__init__(self, name, config)


def open_anything(folder: Path, name: str) -> tuple[Any, bytes]:
    config = json.loads((folder / f"{name}.json").read_text())
    kind = TakesProducts if "num_d" in config else TakesVectors
    return kind(name, config), name.encode()


class Problem(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("bytes", ctypes.c_uint64), ("data", ctypes.c_char_p))  # fmt: skip


class Call(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("variant", ctypes.c_char_p), ("fields", ctypes.c_char_p),
                ("kernel", ctypes.c_char_p), ("problem", Problem))  # fmt: skip


class Answer(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint32), ("candidates", ctypes.c_uint32),
                ("kernel", ctypes.c_char_p), ("microseconds", ctypes.c_double),
                ("copying", ctypes.c_double), ("source", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32))  # fmt: skip


class Both:
    """The same kernels behind the library and behind a dispatcher."""

    def __init__(
        self,
        place: Path,
        variant: str,
        points: Sequence[Any],
        times: Sequence[MeasuredTime] = (),
        model: Any = False,
        **more: Any,
    ) -> None:
        self.near = 1e-12 if model is False else 1e-9
        named = {f"k{i}v{VECTORS[i % 3]}": p for i, p in enumerate(points)}
        doubles.folder(place, **named)
        _stand_ins(place, list(named))
        self.variant, self.kernels = variant, list(named)
        self.python = Dispatcher(place, model=model, opener=OPENER, **more)
        # choices do not depend on the level; sums of many trees are those that users get
        level = "-O0" if model is False else library._OPTIMIZE
        with patch.object(library, "_OPTIMIZE", level):
            built = library.build(place, times=times, model=model)
        self.library = ctypes.CDLL(str(built.path))
        self.library.ckrules_dispatcher_error.restype = ctypes.c_char_p
        self.why = lambda: self.library.ckrules_dispatcher_error().decode()

    def call(self, problem: Any, kernel: str | None = None) -> Call:
        data = problems_of(self.variant).pack(problem)
        given = Problem(ctypes.sizeof(Problem), 0, len(data), data)
        name = kernel.encode() if kernel else None
        return Call(ctypes.sizeof(Call), 0, self.variant.encode(), None, name, given)

    def select(self, problem: Any, kernel: str | None = None) -> tuple[int, Answer]:
        answer = Answer(ctypes.sizeof(Answer))
        call = self.call(problem, kernel)
        return self.library.ckrules_dispatcher_select(
            ctypes.byref(call), ctypes.byref(answer)
        ), answer

    def pad(self, problem: Any) -> tuple[int, Answer, bytes]:
        answer, call = Answer(ctypes.sizeof(Answer)), self.call(problem)
        room = ctypes.create_string_buffer(call.problem.bytes)
        status = self.library.ckrules_dispatcher_pad(ctypes.byref(call), room, ctypes.byref(answer))
        return status, answer, room.raw

    def agree(self, problem: Any) -> Source | None:
        """Asks both, and demands one answer; None if that is that there is no kernel."""
        status, c, larger = self.pad(problem)
        as_it_is, own = self.select(problem)
        assert (as_it_is == 0) == bool(self.python.supported(problem, self.variant))
        try:
            choice = self.python.select(problem, self.variant)
        except NoKernelError:
            assert status == -2
            return None
        assert status == 0, self.why()
        assert c.kernel.decode() == choice.kernel.name
        assert larger == problems_of(self.variant).pack(choice.runs)
        assert c.source == SOURCES[choice.source]
        assert c.candidates == choice.candidates
        assert (as_it_is == 0) != choice.padded
        if choice.microseconds is not None:
            assert c.microseconds + c.copying == pytest.approx(choice.microseconds, rel=self.near)
        assert (c.copying > 0) == (choice.padded and choice.source is not Source.UNKNOWN)
        if not choice.padded:
            assert (own.kernel, own.microseconds) == (c.kernel, c.microseconds)
        return choice.source


def _stand_ins(place: Path, names: Sequence[str]) -> None:
    """Stand-ins in the place of the kernels' host libraries."""
    (place / "runtime").mkdir()
    listed, _ = library.chosen(manifests(place)[:1])  # the headers are the same for all
    headers = tuple(takewhile(lambda h: h[0].startswith("runtime/"), library.headers(listed, ())))
    made = {v: _stand_in(headers, v) for v in VECTORS}
    for name in names:
        (place / Artifact.HOST.result(name)).write_bytes(made[int(name.rpartition("v")[2])])


@functools.cache
def _stand_in(headers: tuple[tuple[str, str], ...], vector: int) -> bytes:
    """The host library of kernels of a vector, compiled once for all folders with such headers."""
    with tempfile.TemporaryDirectory() as folder:
        runtime = Path(folder, "runtime")
        runtime.mkdir()
        for file, text in headers:
            Path(folder, file).write_text(text)
        source = Path(__file__).with_name("standin_host.c")
        words = ("-shared", "-fPIC", f"-DVECTOR={vector}", f"-I{runtime}")
        return compile_c(source, Path(folder, "standin.so"), *words).read_bytes()


def drawn(variant: str, arch: str, count: int, **fields: Any) -> list[dict[str, Any]]:
    space = ckrules.kernel_space(variant, arch, ck="2025.11", **fields)
    return [{**p, "arch": arch} for p in space.sample(count, seed=7)]


def shapes(variant: str) -> list[Any]:
    kind = problems_of(variant)
    found = [p for n in networks() for p in map(kind.parse, n.problems) if p.ndim == 2]
    assert len(found) > 60
    return found


@pytest.mark.parametrize("variant", ["forward", "bwd_data", "bwd_weight"])
def test_convolutions(tmp_path: Path, variant: str) -> None:
    """Times and picks are those of Python, on what is padded, too, and whatever the split."""
    require_toolchain()
    both = Both(tmp_path, variant, drawn(variant, "gfx942", 15, dtype="fp16", ndim=2))
    parse = problems_of(variant).parse
    odd = ["N=2,C=7,K=9,H=14,W=15,Y=3,X=3,stride=2x1,pad=1", "N=1,G=3,C=9,K=21,H=9,W=9,Y=1,X=1",
           "N=4,G=8,C=16,K=24,H=9,W=9,Y=3,X=3,dilation=2"]  # fmt: skip
    split = [parse(f"N=8,C=64,K=64,H=28,W=28,Y=3,X=3,pad=1,split_k={n}") for n in (2, 7)]
    found = [both.agree(p) for p in (*shapes(variant)[::3], *map(parse, odd), *split)]
    assert found.count(Source.ESTIMATE) >= len(found) - 4
    for kernel in both.kernels:  # one by one, so that those that are never fastest count
        problem = parse("N=3,G=2,C=48,K=80,H=19,W=20,Y=3,X=2,stride=2,pad=1")
        status, c = both.select(problem, kernel)
        known = [k for k in both.python._kernels if k.name == kernel and k.takes(problem)]
        assert (status == 0) == bool(known)
        if known:
            chooser = both.python._chooser
            (time,) = chooser._predicted(known, problem, "2025.11")
            assert c.microseconds == pytest.approx(time.microseconds, rel=1e-12)


def test_what_a_model_says(tmp_path: Path) -> None:
    """The package's model predicts in C what it does in Python, of kernels like the measured ones,
    of another pipeline, and of tiles for which it only sets the estimate against its reference."""
    require_toolchain()
    like = {"pipeline": ("compv3", "compv4", "compv5"), "epilogue": "cshuffle",
            "scheduler": "intrawave", "num_wave_groups": 1, "num_groups_to_merge": 1,
            "tile_m": (16, 32, 64, 128), "tile_n": (64, 128), "tile_k": (64, 128)}  # fmt: skip
    fields = {"dtype": "bf16", "ndim": 2}
    points = [
        *drawn("forward", "gfx950", 8, **fields, **like),
        *drawn("forward", "gfx950", 5, **fields, **{**like, "pipeline": "mem"}),
        *drawn("forward", "gfx950", 6, **fields),
    ]
    both = Both(tmp_path, "forward", points, model=None)
    parse = problems_of("forward").parse
    odd = ["N=2,C=7,K=9,H=14,W=15,Y=3,X=3,stride=2x1,pad=1", "N=1,G=3,C=9,K=21,H=9,W=9,Y=1,X=1",
           "N=4,G=8,C=16,K=24,H=9,W=9,Y=3,X=3,dilation=2",
           "N=8,C=64,K=64,H=28,W=28,Y=3,X=3,pad=1"]  # fmt: skip
    asked = [*shapes("forward")[::2], *map(parse, odd)]
    found = [both.agree(p) for p in asked]
    assert found.count(Source.MODEL) > 20
    seen, largest = set(), 0.0
    chooser = both.python._chooser
    for problem in (*asked[::5], *map(parse, odd)):
        for kernel in both.python._kernels:  # one by one: those that are never fastest count
            status, c = both.select(problem, kernel.name)
            assert (status == 0) == bool(kernel.takes(problem))
            if status == 0:
                (time,) = chooser._predicted([kernel], problem, "2025.11")
                assert c.source == SOURCES[time.source]
                seen.add(time.source)
                largest = max(largest, abs(c.microseconds / time.microseconds - 1))
    assert seen == {Source.MODEL, Source.ESTIMATE}
    assert largest < 1e-9


def test_the_numbers_of_trees_are_those_of_the_families() -> None:
    """C++ has a name for all that trees of families in the library may look at, and no other."""
    named = set()
    for family in families().values():
        kind, _ = problems_of(family.variants[0]).members()
        if family.library is not None and kind in library.ESTIMATED:
            timing = family.timing
            assert timing is not None
            named.update(map(models.enumerator, (AGAINST, *timing.features, *timing.situation)))
    assert named == set(models.enumerators())


@pytest.mark.parametrize(
    ("variant", "fields"),
    [
        ("standard", {"dtype": "fp16", "layout": "rcr"}),
        ("multi_d", {"dtype": "bf16", "layout": "rcrr", "num_d": 2}),
        (
            "preshuffle",
            {
                "dtype": "fp16",
                "layout": "rcr",
                "permute_n": False,
                "warp_tile_n": 16,
                "warp_tile_k": 32,
            },
        ),
        ("batched", {"dtype": "fp16", "layout": "rcr"}),
        ("grouped", {"dtype": "fp16", "layout": "rcr"}),
    ],
)
def test_products(tmp_path: Path, variant: str, fields: dict[str, Any]) -> None:
    require_toolchain()
    first = drawn(variant, "gfx942", 1, **fields)[0]
    alike = {"dtype_c": first["dtype_c"], "elementwise_op": first["elementwise_op"]}
    both = Both(tmp_path, variant, drawn(variant, "gfx942", 12, **fields, **alike))
    parse = problems_of(variant).parse
    sizes = [
        f"M={m},N={n},K={k}" for m, n, k in (*USUAL, (33, 57, 1001), (1, 8, 40), (512, 640, 96))
    ]
    if variant == "batched":
        sizes = [f"{s},batch=8" for s in sizes]
    if variant == "grouped":
        sizes = ["M=64+16+1,N=128,K=32", "M=640+16,N=1280+64,K=1024"]
    if variant == "standard":
        sizes += [f"{s},k_batch=4" for s in sizes[:3]]
    if variant == "preshuffle":
        sizes = [s for s in sizes if "57" not in s and "N=8," not in s]
    found = [both.agree(parse(s)) for s in sizes]
    assert found.count(Source.ESTIMATE) >= 2


def test_times_of_weights_of_four_bits(tmp_path: Path) -> None:
    """What widens them counts in C as it does in Python."""
    require_toolchain()
    tall = {"wave_m": 8, "tile_m": 128, "tile_n": 256}  # each of eight waves widens all of B
    points = drawn("standard", "gfx950", 6, dtype="fp16_i4", layout="rcr", dtype_c="fp16", **tall)
    both = Both(tmp_path, "standard", points)
    problem = problems_of("standard").parse("M=512,N=1024,K=4096")
    limits = set()
    for kernel, point in zip(both.kernels, points, strict=True):
        found = KernelTable.of_points([point], Books("2025.11")).estimate(problem)
        status, c = both.select(problem, kernel)
        assert status == 0, both.why()
        assert c.microseconds == pytest.approx(found.microseconds[0], rel=1e-12)
        limits.update(found.limits())
    assert "vector units" in limits


def test_measured_times_come_first_but_not_before_much_faster_estimates(tmp_path: Path) -> None:
    require_toolchain()
    points = drawn("forward", "gfx942", 9, dtype="fp16", ndim=2)
    parse = problems_of("forward").parse
    near, far, bad = (parse(f"N={n},C=64,K=64,H=28,W=28,Y=3,X=3,pad=1") for n in (7, 8, 9))
    plain = Both(tmp_path / "plain", "forward", points)
    times, expected = [], []
    for factor, problem in ((1.2, near), (1.3, far)):
        _, estimated = plain.select(problem)
        best = estimated.kernel.decode()
        other = next(k for k in plain.kernels if k != best)
        times.append(MeasuredTime(other, problem, estimated.microseconds * factor))
        expected.append((problem, *((other, 1) if problem is near else (best, 2))))
    _, estimated = plain.select(bad)
    times.append(MeasuredTime(estimated.kernel.decode(), bad, -1.0, right=False))
    measured = Both(tmp_path / "measured", "forward", points, times)
    for problem, chosen, source in expected:
        _, answer = measured.select(problem)
        assert (answer.kernel.decode(), answer.source) == (chosen, source)
    _, answer = measured.select(bad)
    assert answer.kernel != estimated.kernel
    assert answer.candidates == estimated.candidates - 1


def _attention(tmp_path: Path, *times: MeasuredTime) -> Both:
    """Three kernels that receipt 0 lists, the one that is estimated slowest first."""
    rules = book("fmha_fwd", ck="2025.11", profile="receipt_0")
    fixed = {"dtype": "fp16", "hdim": 128, "mode": "batch", "bias": "no", "mask": "no",
             "logits": False, "lse": False, "dropout": False, "skip": False}  # fmt: skip
    space = rules.space(variant="fmha_fwd", arch="gfx950", **fixed)
    table = KernelTable.of_points(list(space), Books("2025.11"))
    usual = problems_of("fmha_fwd").parse("batch=8,heads=16,seqlen_q=4096,hdim=128")
    slow = table.estimate(usual).microseconds.argsort()[::-1]
    points = [p for k in slow if (p := list(space)[k])["pad_sk"] or p["pipeline"] != "qr_async"]
    return Both(tmp_path, "fmha_fwd", [points[0], points[len(points) // 2], points[-1]], times)


@pytest.fixture(scope="module")
def attention(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Kernels of attention without measured times."""
    require_toolchain()
    return _attention(tmp_path_factory.mktemp("attention"))


def test_attention(tmp_path: Path, attention: Both) -> None:
    """Nothing is estimated in C: what is measured comes first, then what is usually fastest."""
    problem = problems_of("fmha_fwd").parse("batch=2,heads=8,seqlen_q=1024,hdim=128")
    both = attention
    status, answer = both.select(problem)
    assert (status, answer.candidates, answer.source) == (0, 3, 0), both.why()
    assert answer.kernel.decode() == both.kernels[-1]
    _, answer = _attention(tmp_path / "timed", MeasuredTime("k0v2", problem, 9.0)).select(problem)
    assert (answer.kernel.decode(), answer.microseconds, answer.source) == ("k0v2", 9.0, 1)


def test_attention_that_is_computed_wrong_or_of_no_kernel(attention: Both) -> None:
    both = attention
    odd = problems_of("fmha_fwd").parse("batch=2,heads=8,seqlen_q=1024,hdim=127")
    status, answer, _ = both.pad(odd)
    assert (status, answer.candidates) == (-2, 0)
    assert "the vector size does not divide it" in both.why() or "wrong" in both.why()
    data = problems_of("fmha_fwd").pack(odd)[:-8]
    short = both.call(odd)
    short.problem = Problem(ctypes.sizeof(Problem), 0, len(data), data)
    answer = Answer(ctypes.sizeof(Answer))
    found = both.library.ckrules_dispatcher_select(ctypes.byref(short), ctypes.byref(answer))
    assert (found, both.why()) == (-1, "the problem is too short for fmha_fwd")


def test_windows_and_groups_that_see_two_tiles(tmp_path: Path) -> None:
    """TPROB007 as in Python, where the totals of groups are said."""
    require_toolchain()
    points = [{**TWO_GROUPS, "mask": "generic", "mode": mode} for mode in ("batch", "group")]
    rules, kinds = problem_books.book("fmha_fwd_v3", ck="2025.11"), problems_of("fmha_fwd_v3")
    both = Both(tmp_path, "fmha_fwd_v3", points)
    for text, taken in (
        ("seqlen_q=256,seqlen_k=2048,mask=window,left=40", True),
        ("seqlen_q=257,seqlen_k=2048,mask=window,left=32", False),
        ("seqlen_q=256,seqlen_k=64,mask=causal", False),
        ("seqlen_q=256,seqlen_k=2048,mask=window,left=64,mode=group,total_k=3000", True),
        ("seqlen_q=256,seqlen_k=2048,mask=window,left=63,mode=group,total_k=3000", False),
        ("seqlen_q=256,seqlen_k=2048,mask=window,left=64,mode=group,total_k=2100", False),
        ("seqlen_q=256,seqlen_k=2048,mask=window,left=64,mode=group,total_k=2080", True),
    ):
        problem = kinds.parse(f"batch=2,heads=1,hdim=128,{text}")
        at = problem.mode == "group"
        status, _ = both.select(problem, both.kernels[at])
        broken = rules.violations({**points[at], **kinds.values(problem)})
        assert (status == 0, broken == []) == (taken, taken), (text, both.why())


def test_a_gpu_of_unknown_speeds_has_no_times(tmp_path: Path) -> None:
    require_toolchain()
    alike = drawn("forward", "gfx1201", 4, dtype="fp16", ndim=2)
    points = [{**p, "arch": "gfx1250"} for p in alike]
    both = Both(tmp_path, "forward", points)
    parse = problems_of("forward").parse
    for text in ("N=8,C=64,K=64,H=28,W=28,Y=3,X=3,pad=1", "N=8,C=63,K=62,H=28,W=28,Y=3,X=3"):
        assert both.agree(parse(text)) is Source.UNKNOWN


def test_kernels_of_differently_shuffled_weights_are_not_mixed(tmp_path: Path) -> None:
    require_toolchain()
    given = {"dtype": "fp16", "layout": "rcr", "permute_n": False}
    (point,) = drawn("preshuffle", "gfx942", 1, **given)
    shuffles = ((16, 32), (32, 16), (16, 16))
    three = [{**point, "warp_tile_n": n, "warp_tile_k": k} for n, k in shuffles]
    both = Both(tmp_path, "preshuffle", three)
    problem = problems_of("preshuffle").parse("M=64,N=128,K=128")
    assert both.select(problem)[0] == -1
    assert "the kernels compute different things" in both.why()
    with pytest.raises(UsageError, match="give warp_tile_n and warp_tile_k: 16 16, 16 32, 32 16"):
        both.python.select(problem)


def test_what_cannot_be_padded_is_told(tmp_path: Path) -> None:
    require_toolchain()
    grouped = Both(tmp_path, "grouped", drawn("grouped", "gfx942", 3, dtype="fp16", layout="rcr"))
    problem = problems_of("grouped").parse("M=64+16,N=129,K=33")
    assert grouped.pad(problem)[0] == -2
    assert "the vector size does not divide it" in grouped.why()
    call = grouped.call(problem)
    answer = Answer(ctypes.sizeof(Answer))
    pad = grouped.library.ckrules_dispatcher_pad
    assert pad(ctypes.byref(call), None, ctypes.byref(answer)) == -1
    assert pad(ctypes.byref(call), ctypes.create_string_buffer(200), None) == -1
    assert grouped.why() == "the choice or the place of the problem is missing"


def test_the_rows_have_the_members_of_the_structure() -> None:
    from ckrules.compiling import speeds

    text = (Path(library.__file__).parent / "data" / "ckrules_timing.hpp").read_text()
    body = text.split("struct ckrules_speed\n{")[1].split("};")[0]
    lines = [line.split(";")[0].strip().removeprefix("double ") for line in body.splitlines()]
    members = [name.strip() for line in lines if line for name in line.split(",")]
    assert tuple(members) == speeds.MEMBERS


def test_how_often_the_model_picks_the_same() -> None:
    """The figures of docs/runtime.md: what the library lacks where the package has a model."""
    from ckrules.constraints.conv.device.timing import TIMING, _measured
    from ckrules.kernels.families import family_of
    from ckrules.ranking.ranker import shipped

    tiles, _, pipelines = _measured()
    usual = family_of("forward").defaults("forward", 2)
    rows = [
        {**dict(zip(TIMING.columns, tile.split("x"), strict=False)), "pipeline": pipeline}
        for tile in tiles
        for pipeline in pipelines
    ]
    points = [{**usual, **(TIMING.measured(row, "gfx950") or {})} for row in rows]
    table = KernelTable.of_points(points, Books("2026.06"))
    model = shipped("forward", "bf16", "gfx950")
    assert model is not None
    shares = []
    for problem in shapes("forward"):
        estimate = table.estimate(problem)
        learned = model.predict(table, problem, estimate).microseconds
        shares.append(learned.min() / learned[estimate.microseconds.argmin()])
    same, mean = sum(s == 1.0 for s in shares), 100 * sum(shares) / len(shares)
    text = (Path(__file__).parents[2] / "docs" / "runtime.md").read_text("utf-8")
    said = f"is the model's for {same} of the {len(shares)} two-dimensional convolutions"
    assert f"the {len(points)} kernels that it was trained on {said}" in text
    assert f"in the mean its predicted speed is {mean:.1f} % of that of the model's pick" in text
