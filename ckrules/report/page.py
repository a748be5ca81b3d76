"""What a report is made of, and the one HTML file that it becomes.

The file asks for nothing: styles and pictures are inside, and there is no script. All words come
through a template that escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from ckrules import __version__
from ckrules.kernels.block_map import BlockMap
from ckrules.pictures import tile_map
from ckrules.pictures.drawing import inline, require
from ckrules.pictures.shapes import Nothing, Picture
from ckrules.support.visible import visible

#: So many rows of a table are shown at most.
ROWS = 200


@dataclass(frozen=True)
class ReportTable:
    """Cells under titles; ``right`` has the columns of numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: frozenset[int] = frozenset()

    @property
    def shown(self) -> Sequence[Sequence[str]]:
        """The first rows, as many as are shown."""
        return self.rows[:ROWS]


@dataclass(frozen=True)
class ReportSection:
    """A part of a report: words, block tiles, a picture, a table, or what of these there is."""

    title: str
    text: str = ""
    picture: Picture | None = None
    table: ReportTable | None = None
    tiles: Sequence[BlockMap] = ()


@dataclass(frozen=True)
class Report:
    """A report: what it is about, its first facts, and its sections.

    Args:
        facts: What stands at the top, by its name: counts, versions, files.
        command: The command that makes it again.
    """

    title: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[ReportSection]
    command: str = ""
    version: str = field(default=__version__)

    @property
    def pictures(self) -> int:
        """How many sections have a picture that is drawn."""
        found = [s.picture for s in self.sections]
        return sum(p is not None and not isinstance(p, Nothing) for p in found)


def render(report: Report, told: Callable[[int], None] = lambda _: None) -> str:
    """The report as an HTML file; ``told`` hears of each picture.

    Raises:
        NoMatplotlibError: If matplotlib is not installed.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    require()
    environment = Environment(
        loader=PackageLoader("ckrules.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["visible"] = lambda text: visible(str(text))

    def drawn(picture: Picture, number: int) -> Markup:
        made = Markup(inline(picture, f"s{number}"))
        told(1)
        return made

    style = (files("ckrules.report") / "templates" / "report.css").read_text(encoding="utf-8")
    return environment.get_template("report.html.j2").render(
        report=report, style=Markup(f"{style}{tile_map.style()}"), drawn=drawn, most=ROWS,
        nothing=lambda picture: isinstance(picture, Nothing),
        tiles=lambda maps: Markup(tile_map.inline(maps)),
    )  # fmt: skip
