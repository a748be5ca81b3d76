"""Faulty GPU files: every fault names its file, line and column, and what was expected."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckrules.arch import Gpu, load, load_file
from ckrules.arch.loader import read_gpu
from ckrules.support.document import TomlFileError
from ckrules.support.errors import UsageError
from ckrules.support.locate import Locator

MINIMAL = (Path(__file__).parent / "data" / "minimal.toml").read_text()


def fault(text: str | bytes) -> TomlFileError:
    raw = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(TomlFileError) as caught:
        read_gpu("my.toml", raw)
    return caught.value


def place(text: str, marker: str, nth: int = 0) -> tuple[int, int]:
    """Line and column of the nth occurrence of ``marker``."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(marker, at + 1)
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def test_the_minimal_file_loads() -> None:
    gpu = read_gpu("my.toml", MINIMAL.encode())
    assert gpu.name == "gfx999"
    assert [t.shape for t in gpu.warp_tiles("fp16", "fp16", "fp32")] == [
        *((16, 16, 32), (32, 32, 8), (32, 32, 16)),
    ]
    assert gpu.vgprs_per_simd is None
    assert gpu.transpose_load is None
    assert gpu.defines == ("A=1", "B")
    assert gpu.dispatcher is not None
    assert gpu.dispatcher.preshuffle_warp_tiles == ()


def test_a_file_without_a_dispatcher_loads() -> None:
    text = MINIMAL[: MINIMAL.index("[dispatcher]")]
    assert read_gpu("my.toml", text.encode()).dispatcher is None


def test_windows_line_ends_keep_the_places() -> None:
    text = MINIMAL.replace("wave_size = 64", "wave_size = 48").replace("\n", "\r\n")
    assert fault(text).line == 8
    assert read_gpu("my.toml", MINIMAL.replace("\n", "\r\n").encode()).name == "gfx999"


# (old text, new text, marker of the place in the new text, message)
FAULTS = [
    ("wave_size = 64", "wave_sze = 64", "wave_sze",
     "unknown key 'wave_sze' in [gpu], did you mean 'wave_size'?"),
    ("banks = 32", "bonks = 32\nbanks = 32", "bonks",
     "unknown key 'bonks' in [lds], did you mean 'banks'?"),
    ("[build]", "[zzz]\n[build]", "[zzz]",
     ("unknown key 'zzz' in the file, expected one of gpu, lds, vgprs, load, build, warp_tile, "
     "transpose_load, performance, dispatcher, inherits")),
    ("wave_size = 64\n", "", "[gpu]", "[gpu] has no key 'wave_size', which it needs"),
    ('native = [[32, 32, 8]]\niterated = [[32, 32, 16], [16, 16, 32]]\n', "",
     '[["fp16"', "[[warp_tile]] number 1 lists no tile: expected native or iterated or emulated"),
    ('emulated = [[16, 16, 4]]\nsource = "a test"', "emulated = [[16, 16, 4]]",
     '[[warp_tile]]\ntypes = [["fp32"',
     "[[warp_tile]] number 2 has no key 'source', which it needs"),
    ("wave_size = 64", 'wave_size = "64"', '"64"',
     "wave_size is the string '64', expected an integer"),
    ("wave_size = 64", "wave_size = true", "true", "wave_size is true, expected an integer"),
    ("wave_size = 64", "wave_size = 64.0", "64.0",
     "wave_size is the number 64.0, expected an integer"),
    ("wave_size = 64", "wave_size = 2026-01-02", "2026",
     "wave_size is a date or time, expected an integer"),
    ('name = "gfx999"', "name = [1]", "[1]", "name is an array, expected a string"),
    ('name = "gfx999"', 'name = "GFX 9"', '"GFX 9"',
     "name 'GFX 9' is not a GPU name, expected like 'gfx942'"),
    ('family = "TEST1"', 'family = "  "', '"  "', "family is blank, expected a string"),
    ("products = []", "products = {}", "{}", "products is a table, expected an array"),
    ("products = []", 'products = ["A", "A"]', '"A"]', "products: 'A' is listed twice"),
    ("banks = 32", "banks = 0", "0\nsmem", "banks = 0 is out of range, expected 1 to 1024"),
    ("banks = 32", "banks = 0x" + "f" * 9000, "0xf",
     "banks = an integer of thousands of digits is out of range, expected 1 to 1024"),
    ("banks = 32", "banks = 33", "33", "banks = 33 is not a power of two"),
    ("smem_capacity = 65536", "smem_capacity = 65537", "65537",
     "smem_capacity = 65537 is more than bytes = 65536"),
    ("per_wave = 512", "per_wave = 512\nper_simd = 256", "256",
     "per_simd = 256 is less than per_wave = 512"),
    ('isa = "gfx9"', 'isa = "gfx10"', '"gfx10"',
     "isa: 'gfx10' is not an ISA lineage, did you mean 'gfx12' or 'gfx11' or 'gfx125'?"),
    ('since = "2025.11"', 'since = "2024.01"', '"2024.01"',
     "since: '2024.01' is not a CK version, did you mean '2026.09' or '2026.06' or '2025.11'?"),
    ('dtypes = ["fp16", "fp32"]', 'dtypes = ["fp16", "fp31"]', '"fp31"',
     "dtypes: 'fp31' is not a dtype, did you mean 'fp32' or 'fp16'?"),
    ('dtypes = ["fp16", "fp32"]', 'dtypes = ["fp16"]', '["fp16"]',
     "dtype 'fp32' has warp tiles, expected it in dtypes"),
    ('dtypes = ["fp16", "fp32"]', 'dtypes = ["fp16", "fp32", "bf16"]', '"bf16"',
     "dtype 'bf16' is in no warp tile's types"),
    ('features = ["direct_to_lds"]', 'features = ["direct_to_lds", "stream_k"]', '"stream_k"',
     "features: 'stream_k' is not a feature, did you mean 'streamk'?"),
    ('features = ["direct_to_lds"]', "features = []", "[]\nsource",
     ("feature 'direct_to_lds' is missing, expected it just when [load] direct_to_lds_bytes is "
     "not empty")),
    ('features = ["direct_to_lds"]', 'features = ["direct_to_lds", "lds_transpose_load"]',
     '["direct_to_lds", "lds', ("feature 'lds_transpose_load' is listed, expected it just when "
     "there is a [transpose_load]")),
    ("max_waves = 16", "max_waves = 32", "32\nmatrix",
     "max_waves * wave_size = 2048, expected max_threads = 1024"),
    ("wave_size = 64", "wave_size = 48", "48", "wave_size = 48, expected 32 or 64"),
    ('matrix_unit = "mfma"', 'matrix_unit = "wmma"', '"wmma"',
     "matrix_unit is 'wmma', expected 'mfma' for isa 'gfx9'"),
    ('matrix_unit = "mfma"', 'matrix_unit = "dot"', '"dot"',
     "matrix_unit: 'dot' is not a matrix unit, expected one of mfma, wmma"),
    ("global_bytes = [1, 2, 4]", "global_bytes = [1, 4, 2]", "2]",
     "global_bytes: 2 does not follow 4"),
    ("global_bytes = [1, 2, 4]", "global_bytes = []", "[]\ndirect",
     "global_bytes is empty, expected some width"),
    ('defines = ["A=1", "B"]', 'defines = ["A=1", "-DB"]', '"-DB"',
     "'-DB' is not a macro, expected NAME or NAME=VALUE"),
    ('types = [["fp16", "fp16", "fp32"]]\nsince', 'types = [["fp16", "fp16"]]\nsince',
     '["fp16", "fp16"]]\nsince', "types: 2 entries, expected three"),
    ("native = [[32, 32, 8]]", "native = [[32, 32, 0]]", "0]]",
     "native = 0 is out of range, expected 1 to 1024"),
    ("native = [[32, 32, 8]]", "native = [32]", "32]\niter",
     "native is the number 32, expected an array"),
    ("iterated = [[32, 32, 16], [16", "iterated = [[32, 32, 8], [16", "[32, 32, 8], [16",
     "tile 32x32x8 of fp16, fp16, fp32 is listed twice: native and iterated"),
    ("iterated = [[32, 32, 16], [16", "iterated = [[32, 32, 12], [16", "[32, 32, 12]",
     ("tile 32x32x12 of fp16, fp16, fp32 is iterated, expected a native tile or an instruction "
     "that it repeats, there are 16x16x16, 32x32x8")),
    ("iterated = [[32, 32, 16], [16", "iterated = [[64, 32, 16], [16", "[64, 32, 16]",
     ("tile 64x32x16 of fp16, fp16, fp32 is iterated, expected a native tile or an instruction "
     "that it repeats, there are 16x16x16, 32x32x8")),
    ("native = [[32, 32, 8]]", "native = [[32, 32, 8], [3, 3, 8]]", "[3, 3, 8]",
     "tile 3x3x8 of fp16, fp16, fp32: m * n = 9 does not spread over 64 lanes"),
    ('since = "2025.11"\nwave', 'since = "2026.06"\nwave', '"2025.11"',
     "since '2025.11' is before the GPU's own '2026.06'"),
    ("wave_maps = [[4, 4, 1]", "wave_maps = [[4, 8, 1]", "[4, 8, 1]",
     "wave map 4x8x1 has 32 waves, more than max_waves = 16"),
    ("mem = 65536", "mem = 65537", "65537", "mem = 65537 is more than [lds] bytes = 65536"),
    ("default = 32768\n", "", "[dispatcher.lds_limits]",
     "[dispatcher.lds_limits] has no key 'default', which it needs"),
    ("mem = 65536", '"m m" = 65536', '"m m"', "'m m' is not a pipeline name"),
    ("tiles = [[16, 16, 16]]", "tile = [[16, 16, 16]]", "tile = ",
     "unknown key 'tile' in [[dispatcher.warp_tile]] number 1, did you mean 'tiles'?"),
    ("tiles = [[16, 16, 16]]\n",
     ('tiles = [[16, 16, 16]]\n[[dispatcher.warp_tile]]\ntiles = []\n'
     'types = [["fp32", "fp32", "fp32"], ["fp16", "fp16", "fp32"]]\n'),
     '["fp16", "fp16", "fp32"]]\n\n', "a second row for fp16, fp16, fp32"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "marker", "message"), FAULTS)
def test_faults(old: str, new: str, marker: str, message: str) -> None:
    assert MINIMAL.count(old) >= 1
    text = MINIMAL.replace(old, new, 1) + "\n"
    found = fault(text)
    assert found.what == message
    assert (found.line, found.column) == place(text, marker)
    assert str(found) == f"my.toml:{found.line}:{found.column}: {message}"
    assert isinstance(found, UsageError)


def test_one_value_for_the_whole_table() -> None:
    text = MINIMAL.replace("[lds]", "[other]").replace("# A made-up GPU.", "lds = 3")
    assert fault(text).what.startswith("unknown key 'other' in the file")
    head, tail = MINIMAL.split("[lds]")
    text = "lds = 3\n" + head + tail[tail.index("[vgprs]") :]
    assert str(fault(text)) == "my.toml:1:7: [lds] is the number 3, expected a table"
    text = MINIMAL.replace("[[warp_tile]]", "[[[").split("[[[")[0]
    assert str(fault(text)) == "my.toml:1:1: the file has no key 'warp_tile', which it needs"


def test_syntax_errors() -> None:
    found = fault("[gpu]\nname = gfx999\n")
    assert str(found) == "my.toml:2:8: not valid TOML: invalid value"
    found = fault('[gpu]\nname = "gfx')
    assert (found.line, found.column) == (2, 12)
    assert found.what == "not valid TOML: unterminated string"
    assert fault("[gpu]\n[gpu]\n").line == 2


def test_bytes_that_are_no_text() -> None:
    found = fault(b'[gpu]\nname = "\xc3\xa9\xff"\n')
    assert str(found) == "my.toml:2:10: byte 0xff is not UTF-8, expected a TOML text file"
    assert fault(b"\x7fELF\x02\x01\x01\x00").line == 1


def test_texts_that_python_cannot_hold() -> None:
    assert fault("a = " + "9" * 5000).what == ("not valid TOML: a number has thousands of digits")
    assert fault("a = " + "[" * 100_000).what.startswith("not ")


def test_files_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINIMAL)
    gpu = load_file(path)
    assert gpu is load_file(str(path))
    path.write_text(MINIMAL.replace("TEST1", "TEST22"))
    assert load_file(path).family == "TEST22"
    path.write_text(MINIMAL.replace("bytes = 65536", "bytes = 0"))
    with pytest.raises(TomlFileError) as caught:
        load_file(path)
    assert str(caught.value).startswith(f"{path}:17:9: bytes = 0 is out of range")
    with pytest.raises(UsageError, match="cannot read the GPU file: No such file"):
        load_file(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="cannot read the GPU file"):
        load_file(tmp_path)


def test_the_locator_knows_all_of_toml() -> None:
    text = (
        "top = 1 # c\n"
        "[a.'b c'] # [no]\n"
        'x.y = """two\n"lines" # no"""\n'
        "z = {p = [1, # one\n  {q = '''r'''}], \"s\\u0041\" = 1979-05-27 07:32:00}\n"
        "[[t]]\nk = 'a'\n[[t.u]]\nv = 1\n[[t.u]]\nv = 2\n[[t]]\n[t.w]\nv = [\n  [ ], -1_0 ]\n"
    )
    found = Locator(text)
    assert found.value(("top",)) == (1, 7)
    assert found.key(("a", "b c")) == (2, 1)
    assert found.key(("a", "b c", "x", "y")) == (3, 1)
    assert found.value(("a", "b c", "x", "y")) == (3, 7)
    assert found.value(("a", "b c", "z", "p", 1, "q")) == (6, 8)
    assert found.key(("a", "b c", "z", "sA")) == (6, 19)
    assert found.value(("t", 0, "u", 1, "v")) == (12, 5)
    assert found.key(("t", 1)) == (13, 1)
    assert found.value(("t", 1, "w", "v", 1)) == (16, 8)
    assert found.value(("t", 1, "w", "nothing", 7)) == found.key(("t", 1, "w")) == (14, 1)


PIECES = [
    *("[", "]", "[[", "]]", "{", "}", '"', "'", '"""', "'''", "#", "=", ".", ",", "\n", "\r\n"),
    *(" ", "\t", "-", "0", "1", "64", "-1", "1e3", "0x10", "inf", "nan", "true", "1979-05-27"),
    *("gpu", "lds", "warp_tile", "types", "native", "fp16", "gfx9", "source", "é", "\u2028", "\\"),
    *("[gpu]", "[[warp_tile]]", "[transpose_load]", "a.b = 1\n", "x = {y = [1, {z = 2}]}\n"),
    *("\ufeff", "\x00", "\x7f", "iterated = [[32, 32, 16]]\n", "max_waves = 16\n"),
]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid file with a few stretches removed, doubled, swapped or overwritten."""
    text = MINIMAL
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from([0, 0, 1, 1, 2, 5, 20, 80]))
        new = draw(
            st.one_of(
                st.sampled_from(PIECES),
                st.just(""),
                st.just(text[start : start + length] * 2),
                st.text(max_size=3),
            )
        )
        text = text[:start] + new + text[start + length :]
    raw = text.encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(raw)))
        raw = raw[:at] + draw(st.binary(min_size=1, max_size=2)) + raw[at:]
    return raw


def outcome(raw: bytes) -> Gpu | TomlFileError:
    try:
        return read_gpu("my.toml", raw)
    except TomlFileError as found:
        return found


def test_a_mutated_file_loads_or_says_where_it_is_wrong() -> None:
    refused: list[bool] = []

    @given(mutated())
    def mutate(raw: bytes) -> None:
        found = outcome(raw)
        refused.append(isinstance(found, TomlFileError))
        if isinstance(found, Gpu):
            assert found.max_waves * found.wave_size == found.max_threads
        else:
            lines = raw.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
            assert 1 <= found.line <= len(lines)
            assert 1 <= found.column <= len(lines[found.line - 1]) + 1
            assert found.what
            assert "\n" not in str(found)

    mutate()
    assert len(refused) >= 100
    assert sum(refused) > 0.6 * len(refused), "most mutations should break the file"
    assert not all(refused), "some mutations should change what does not matter"


def test_a_file_inherits_what_it_does_not_say() -> None:
    text = """inherits = "gfx1101"
[gpu]
name = "gfx1199"
[vgprs]
per_simd = 1024
"""
    found, parent = read_gpu("my.toml", text.encode()), load("gfx1101")
    assert (found.name, found.vgprs_per_simd) == ("gfx1199", 1024)
    assert replace(found, name=parent.name, vgprs_per_simd=parent.vgprs_per_simd) == parent


@pytest.mark.parametrize("products", ["['B']", "[]"])
def test_products_of_its_own_have_speeds_of_their_own(products: str) -> None:
    """The place was that of a table which the file does not have."""
    text = f"inherits = 'gfx1101'\n[gpu]\nname = 'gfx1199'\nproducts = {products}\n"
    with pytest.raises(TomlFileError, match=r"^my.toml:4:12: .* write \[\[performance.product"):
        read_gpu("my.toml", text.encode())
    if products == "['B']":
        assert read_gpu("my.toml", f"{text}{OTHER_PRODUCT}".encode()).products == ("B",)


def test_a_file_may_begin_with_a_byte_order_mark() -> None:
    text = b"inherits = 'gfx1101'\n[gpu]\nname = 'gfx1199'\n"
    assert read_gpu("my.toml", b"\xef\xbb\xbf" + text) == read_gpu("my.toml", text)


OTHER_PRODUCT = """[[performance.product]]
name = "B"
compute_units = 9
clock_mhz = 900
memory_gbs = 9"""


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("inherits = 'gfx1100x'", "my.toml:1:12: inherits: 'gfx1100x' is not a GPU, did you mean"),
        (
            "inherits = 'gfx1102'",
            "my.toml:1:12: gfx1102 is itself written as what differs from gfx1101: inherit from",
        ),
        ("inherits = 7", "my.toml:1:12: inherits is the number 7, expected a string"),
        (
            "inherit = 'gfx1101'",
            "my.toml:1:1: unknown key 'inherit' in the file, did you mean 'inherits'?",
        ),
        (
            f"inherits = 'gfx1101'\n{OTHER_PRODUCT}",
            "my.toml:3:8: [[performance.product]] 'B' is not among the products of [gpu]: Radeon",
        ),
        (
            "inherits = 'gfx1101'\n[vgprs]\nper_wave = 0",
            "my.toml:3:12: per_wave = 0 is out of range",
        ),
    ],
)
def test_faults_of_files_that_inherit(head: str, message: str) -> None:
    text = head + "\n[gpu]\nname = 'gfx1199'\n"
    with pytest.raises(TomlFileError, match=re.escape(message)):
        read_gpu("my.toml", text.encode())
