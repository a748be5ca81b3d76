"""Turn the text of one GPU file into a :class:`~ckrules.arch.model.Gpu`.

The tables of a file, ``?`` = may be left out; every table but the dispatcher's rows has a
``source``. A file with ``inherits`` has what the file of that GPU of the package says, table by
table, but for the keys that its own tables have; arrays of tables are replaced whole::

    inherits?                                                             (such as "gfx1101")
    [gpu]                name family products isa since wave_size max_threads max_waves
                         matrix_unit dtypes features
    [lds]                bytes banks smem_capacity                        (bytes per workgroup)
    [vgprs]              per_wave per_simd?                               (32-bit, per lane)
    [load]               global_bytes direct_to_lds_bytes                 (bytes per lane)
    [transpose_load]?    dtypes read_bytes? max_k_1byte? max_k_wider?
    [performance]?       simds waves_per_simd lds_bytes_per_clock l2_bytes l2_bytes_per_clock
                         last_level_bytes chiplets matrix_flops slower?
      [[performance.product]]                name compute_units clock_mhz memory_gbs
    [build]              defines                                          (NAME or NAME=VALUE)
    [[warp_tile]]        types since native? iterated? emulated? instructions?
    [dispatcher]?        family wave_maps
      [dispatcher.lds_limits]                pipeline = bytes, with a "default"
      [[dispatcher.warp_tile]]?              types tiles since?
      [[dispatcher.preshuffle_warp_tile]]?   types tiles since?

``types`` is an array of ``[a, b, acc]`` that share the row's tiles, each ``[m, n, k]``.
``instructions`` are shapes of matrix instructions that CK offers no warp tile for but
iterates over.
"""

from __future__ import annotations

import re
from typing import Literal, cast, get_args

from ckrules.arch import performance
from ckrules.arch.checks import check_file
from ckrules.arch.model import (
    CK_VERSIONS,
    DTYPES,
    ISAS,
    DispatcherTable,
    Gpu,
    Shape,
    TileKind,
    TransposeLoad,
    Types,
    WarpTile,
    features,
)
from ckrules.support.document import Document, Section

GPU_NAME = re.compile(r"gfx[0-9a-z]+(?:-[0-9a-z]+)*")
MACRO = re.compile(r"[A-Za-z_]\w*(?:=\w+)?", re.ASCII)
_PIPELINE = re.compile(r"[a-z]\w*", re.ASCII)
_DISPATCHER = CK_VERSIONS[0]  # the tables are asked for older versions, too
_KINDS: tuple[TileKind, ...] = get_args(TileKind)
_GPU_KEYS = (
    *("name", "family", "products", "isa", "since", "wave_size", "max_threads", "max_waves"),
    *("matrix_unit", "dtypes", "features", "source"),
)


def read_gpu(name: str, raw: bytes) -> Gpu:
    """The GPU that the bytes of one file describe; ``name`` is the file's name in messages.

    Raises :class:`~ckrules.support.document.TomlFileError` with line and column if the bytes
    are not UTF-8 TOML, break the schema above, or state facts that contradict each other.

    >>> read_gpu("my.toml", b"[gpu]\\nname = 'gfx999'\\n")
    Traceback (most recent call last):
    ...
    ckrules.support.document.TomlFileError: my.toml:1:1: the file has no key 'lds', which it needs
    """
    doc = Document(name, raw)
    inherited = _inherit(doc)
    top = Section(
        doc,
        (),
        doc.data,
        ("gpu", "lds", "vgprs", "load", "build", "warp_tile"),
        ("transpose_load", "performance", "dispatcher", "inherits"),  # the last was replaced
    )
    gpu = _section(top, "gpu", _GPU_KEYS)
    if not GPU_NAME.fullmatch(gpu.text("name")):
        raise gpu.error(
            "name", f"name {gpu.text('name')!r} is not a GPU name, expected like 'gfx942'"
        )
    lds = _section(top, "lds", ("bytes", "banks", "smem_capacity", "source"))
    vgprs = _section(top, "vgprs", ("per_wave", "source"), ("per_simd",))
    load = _section(top, "load", ("global_bytes", "direct_to_lds_bytes", "source"))
    build = _section(top, "build", ("defines", "source"))
    for i, define in enumerate(build.texts("defines")):
        if not MACRO.fullmatch(define):
            raise build.error(
                "defines", f"{define!r} is not a macro, expected NAME or NAME=VALUE", i
            )
    tiles, instructions = _warp_tiles(top)
    transpose = _transpose_load(top)
    found = Gpu(
        name=gpu.text("name"),
        family=gpu.text("family"),
        products=gpu.texts("products"),
        isa=gpu.word("isa", ISAS, "ISA lineage"),
        since=gpu.word("since", CK_VERSIONS, "CK version"),
        wave_size=gpu.number("wave_size", 32, 64),
        max_threads=gpu.number("max_threads", 64, 4096),
        max_waves=gpu.number("max_waves", 1, 128),
        lds_bytes=lds.number("bytes", 1024, 1 << 24),
        lds_banks=lds.number("banks", 1, 1024),
        smem_capacity=lds.number("smem_capacity", 1024, 1 << 24),
        vgprs_per_wave=vgprs.number("per_wave", 1, 1 << 16),
        vgprs_per_simd=vgprs.number("per_simd", 1, 1 << 16) if "per_simd" in vgprs else None,
        matrix_unit=cast(
            Literal["mfma", "wmma"], gpu.word("matrix_unit", ("mfma", "wmma"), "matrix unit")
        ),
        dtypes=gpu.words("dtypes", DTYPES, "dtype"),
        features=frozenset(gpu.words("features", features(), "feature")),
        global_load_bytes=load.numbers("global_bytes", 1, 64),
        direct_to_lds_bytes=load.numbers("direct_to_lds_bytes", 1, 64),
        transpose_load=transpose,
        defines=build.texts("defines"),
        tiles=tiles,
        dispatcher=_dispatcher(top),
        performance=_performance(top),
        sources=tuple(
            (key, str(value["source"]))
            for key, value in doc.data.items()
            if isinstance(value, dict)
        ),
    )
    if inherited and found.performance:
        for product in found.performance.products:
            if product.name not in found.products:
                said = f"the inherited speeds are those of {product.name!r}, which is none of them"
                raise doc.error(("gpu", "products"), f"{said}: write [[performance.product]], too")
    check_file(found, instructions, top)
    return found


def _inherit(doc: Document) -> bool:
    """Replaces ``inherits`` by what the GPU's file says and this one does not.

    True if the speeds of products are the GPU's.
    """
    if "inherits" not in doc.data:
        return False
    from importlib.resources import files  # slow to import

    folder = files("ckrules.arch").joinpath("data")
    known = sorted(f.name.removesuffix(".toml") for f in folder.iterdir())
    name = Section(doc, (), doc.data, ("inherits",), doc.data).word("inherits", known, "GPU")
    parent = Document(f"{name}.toml", folder.joinpath(f"{name}.toml").read_bytes())
    if whole := parent.data.get("inherits"):
        said = f"{name} is itself written as what differs from {whole}: inherit from {whole}"
        raise doc.error(("inherits",), said)
    own = {key: table for key, table in doc.data.items() if key != "inherits"}
    doc.data = {**parent.data, **own}
    for key, table in parent.data.items():
        if isinstance(table, dict) and isinstance(mine := doc.data[key], dict):
            doc.data[key] = {**table, **mine}
    speeds = own.get("performance")
    return not (isinstance(speeds, dict) and "product" in speeds)


def _section(
    top: Section, key: str, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Section:
    section = top.inner(key, required, optional)
    if "source" in required:
        section.text("source")
    return section


def _warp_tiles(top: Section) -> tuple[tuple[WarpTile, ...], tuple[tuple[Types, Shape], ...]]:
    """The tiles of all rows, and the instructions they name, in file order."""
    tiles: list[WarpTile] = []
    instructions: list[tuple[Types, Shape]] = []
    for row in top.each("warp_tile", ("types", "since", "source"), (*_KINDS, "instructions")):
        source, since = row.text("source"), row.word("since", CK_VERSIONS, "CK version")
        all_types = row.word_triples("types", DTYPES, "dtype")
        steps = row.triples("instructions", 1, 1024) if "instructions" in row else ()
        if not any(kind in row for kind in _KINDS):
            raise row.error("types", f"{row.title} lists no tile: expected {' or '.join(_KINDS)}")
        shapes = {kind: row.triples(kind, 1, 1024) for kind in _KINDS if kind in row}
        for types in all_types:
            instructions += [(types, step) for step in steps]
            tiles += [
                WarpTile(*types, *shape, kind, since, source)
                for kind, listed in shapes.items()
                for shape in listed
            ]
    return tuple(tiles), tuple(instructions)


def _transpose_load(top: Section) -> TransposeLoad | None:
    if "transpose_load" not in top:
        return None
    numbers = ("read_bytes", "max_k_1byte", "max_k_wider")
    section = _section(top, "transpose_load", ("dtypes", "source"), numbers)
    read, small, wide = (
        section.number(key, 1, 1024) if key in section else None for key in numbers
    )
    dtypes = frozenset(section.words("dtypes", DTYPES, "dtype"))
    return TransposeLoad(dtypes, read, small, wide)


def _performance(top: Section) -> performance.Performance | None:
    if "performance" not in top:
        return None
    section = _section(top, "performance", performance.KEYS, performance.OPTIONAL)
    return performance.read(section, DTYPES)


def _dispatcher(top: Section) -> DispatcherTable | None:
    if "dispatcher" not in top:
        return None
    section = _section(
        top,
        "dispatcher",
        ("family", "wave_maps", "lds_limits", "source"),
        ("warp_tile", "preshuffle_warp_tile"),
    )
    names = section.table("lds_limits")
    limits = section.inner("lds_limits", ["default", *names])
    for pipeline in names:
        if not _PIPELINE.fullmatch(pipeline):
            what = f"{pipeline!r} is not a pipeline name"
            raise top.doc.error((*limits.path, pipeline), what, key=True)
    return DispatcherTable(
        family=section.text("family"),
        wave_maps=section.triples("wave_maps", 1, 128),
        warp_tiles=_dispatcher_tiles(section, "warp_tile"),
        preshuffle_warp_tiles=_dispatcher_tiles(section, "preshuffle_warp_tile"),
        lds_limits=tuple((pipeline, limits.number(pipeline, 1, 1 << 24)) for pipeline in names),
    )


def _dispatcher_tiles(
    section: Section, key: str
) -> tuple[tuple[Types, tuple[Shape, ...], str], ...]:
    found: dict[Types, tuple[tuple[Shape, ...], str]] = {}
    for row in section.each(key, ("types", "tiles"), ("since",)):
        shapes = row.triples("tiles", 1, 1024)
        since = row.word("since", CK_VERSIONS, "CK version") if "since" in row else _DISPATCHER
        for j, types in enumerate(row.word_triples("types", DTYPES, "dtype")):
            if types in found:
                raise row.error("types", f"a second row for {', '.join(types)}", j)
            found[types] = (shapes, since)
    return tuple((types, *rest) for types, rest in found.items())
