"""The application: addresses, what each page needs, and what is said where something is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ckrules.engine.expr import Value
from ckrules.engine.expr.variables import Role
from ckrules.explore import exports, figures, kernel_address, lists, reasons
from ckrules.explore.choice import OWN, WHERE, read
from ckrules.explore.conditions import ConditionFault, example, fault, proposals
from ckrules.explore.guard import Guard
from ckrules.explore.kernel_page import MOST, KernelPage, beside, differing
from ckrules.explore.rows import at, sections
from ckrules.explore.site import Site
from ckrules.pictures.lds import KINDS
from ckrules.support.errors import CkrulesError, UsageError, unknown
from ckrules.support.tables import word

_HOME = Path(__file__).resolve().parent
TABS = {"/": "Choose", "/kernels": "Kernels", "/pictures": "Pictures", "/export": "Export"}

#: A picture's own styles are in it; it runs nothing and loads nothing.
_DRAWN = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:"}

#: Seconds that a list waits for a search that has found nothing yet, and for more of it.
_FIRST, _WAITED = 5.0, 10.0

Page = Callable[["PageRequest"], Response]


class PageRequest:
    """One request: the choice in its address, and what is wrong with it."""

    def __init__(self, pages: Pages, request: Request) -> None:
        self.pages, self.path = pages, request.url.path
        query = request.scope["query_string"].decode("latin-1")
        self.faults: list[str] = []
        try:
            pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=1000)
        except ValueError:
            pairs, self.faults = [], ["the address has too many parts"]
        scope, pairs, wrong = pages.site.read(pairs)
        self.faults += wrong
        try:
            self.subject = pages.site.subject(scope)
        except CkrulesError as error:  # there are no such kernels
            self.subject, scope = pages.site.subject({}), {}
            self.faults.append(str(error))
        self.solver, self.remarks = pages.site.solver(scope), pages.site.exchanged(scope)
        choice, wrong = read(pairs, self.subject.domains)
        self.choice, self.faults = choice.within(scope), [*self.faults, *wrong]
        self.given = dict(pairs)
        self.lists: dict[str, list[str]] = {}
        for key, text in pairs:
            self.lists.setdefault(key, []).append(text)
        self.fault: ConditionFault | None = fault(self.subject, self.choice.where)
        self.where = self.choice.where
        if self.fault is not None:  # counts are without it, so that the page goes on
            self.choice = self.choice.asking("")

    @property
    def wrong(self) -> bool:
        """Whether something in the address means nothing."""
        return bool(self.faults or self.fault)

    @property
    def example(self) -> str:
        """A condition such as one might ask of these kernels."""
        return example(self.subject)

    def number(self, key: str, usual: int) -> int:
        """A number of the query.

        Raises:
            UsageError: For what is none.
        """
        text = self.given.get(key, str(usual))
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise UsageError(f"{key} = {text[:40]!r} is not a number")
        return int(text)

    def show(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """A page, with what all of them have."""
        status = 400 if self.wrong and status == 200 else status
        subject = self.subject
        named = partial(kernel_address.address, books=subject.books) if subject.kernels else None
        return self.pages.show(
            template, status, asked=self, subject=subject, address=named, **values
        )


class Pages:
    """The pages of a server.

    Args:
        site: What they are about.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self._environment = Environment(
            loader=FileSystemLoader(_HOME / "templates"),
            undefined=StrictUndefined,
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(
            at=at,
            tabs=TABS,
            own=[name for name in OWN if name != WHERE],
            single=[WHERE, *site.scope],
        )
        self._environment.filters.update(count=lambda n: f"{n:,}", word=word, breakable=_breakable)

    def show(self, template: str, status: int, **values: Any) -> HTMLResponse:
        """A rendered page."""
        found = self._environment.get_template(template)
        return HTMLResponse(found.render(**values), status)

    def route(self, path: str, page: Page) -> Route:
        """An address; what is wrong with a request is said on a page of its own."""

        @wraps(page)
        def endpoint(request: Request) -> Response:  # in a thread, so that none waits for it
            asked = PageRequest(self, request)
            try:
                return page(asked)
            except CkrulesError as error:
                return asked.show("fault.html.j2", 400, message=str(error))

        return Route(path, endpoint)


def _breakable(text: str) -> Markup:
    """A name or path that lines may break behind _, / and =, and nowhere inside words."""
    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[_/=])", text))


def application(site: Site) -> Starlette:
    """The pages of a site, not guarded."""
    pages = Pages(site)
    views: Mapping[str, Page] = {
        "/": choose, "/why": why, "/never": never, "/complete": complete, "/kernels": kernels,
        "/kernel": kernel, "/kernel.svg": kernel_picture, "/pictures": pictures,
        "/picture.svg": picture, "/export": export, "/file": file,
    }  # fmt: skip
    routes: list[Any] = [pages.route(path, page) for path, page in views.items()]
    routes.append(Mount("/assets", StaticFiles(directory=_HOME / "assets")))

    def lost(request: Request, error: Exception) -> Response:
        return PageRequest(pages, request).show(
            "fault.html.j2", 404, message="there is no such page"
        )

    return Starlette(routes=routes, exception_handlers={404: lost})


def guarded(site: Site, port: int, token: str) -> Guard:
    """What is served: the pages for who has the token."""
    return Guard(application(site), port, token)


def choose(asked: PageRequest) -> Response:
    """Every field with its values and counts."""
    counted = asked.subject.counted(asked.choice)
    rows = list(sections(asked.subject, asked.choice, counted))
    site = asked.pages.site
    held = {n: v for n, v in asked.subject.fixed.items() if n not in site.scope}
    return asked.show(
        "choose.html.j2", counted=counted, sections=rows, scope=site.rows(asked.choice), held=held
    )


def why(asked: PageRequest) -> Response:
    """Why a value has no kernel, and what is near."""
    name, value = _value(asked)
    found = reasons.reason(asked.subject, asked.solver, asked.choice, name, value)
    return asked.show("why.html.j2", reason=found)


def never(asked: PageRequest) -> Response:
    """By which rules a value that no kernel has is excluded, as plain text."""
    name, value = _value(asked)
    return PlainTextResponse(reasons.never(asked.subject, asked.solver, name, value))


def _value(asked: PageRequest) -> tuple[str, Value]:
    name, text = asked.given.get("field", ""), asked.given.get("value", "")
    if name not in asked.subject.domains:
        raise unknown("field", name[:80], asked.subject.domains)
    values = {word(v): v for v in asked.subject.domains[name][1]}
    if text not in values:
        raise unknown(name, text[:80], values)
    return name, values[text]


def kernels(asked: PageRequest) -> Response:
    """Some kernels under the choice."""
    n, seed = asked.number("n", lists.USUAL), asked.number("seed", 1)
    kind = asked.given.get("list") or lists.usual_kind(asked.subject, asked.choice)
    search = None
    if kind == "best" and not lists.unpredicted(asked.subject, asked.choice):
        wanted = lists.FEW if n <= lists.FEW else lists.MOST
        search = asked.pages.site.searches.of(asked.subject, asked.choice, wanted)
        if asked.given.get("stop"):
            search.stop()
        seen = asked.number("seen", 0)
        search.newer(seen, _WAITED if seen else _FIRST)
    found = lists.kernels(asked.subject, asked.choice, kind, n, seed, search)
    kinds = {k: t for k, t in lists.LISTS.items() if asked.subject.kernels or k != "best"}
    return asked.show("kernels.html.j2", found=found, kinds=kinds, n=n, seed=seed,
                      next=min(2 * n, lists.MOST))  # fmt: skip


def kernel(asked: PageRequest) -> Response:
    """One kernel, or some side by side."""
    pages = _named(asked)
    beside(pages)
    fields = differing([page.fields for page in pages])
    quantities = differing([page.quantities for page in pages])
    return asked.show(
        "kernel.html.j2", kernels=pages, fields=fields, quantities=quantities,
        figures=KINDS, elsewhere=asked.pages.site.generated(asked.choice),
    )  # fmt: skip


def _named(asked: PageRequest) -> list[KernelPage]:
    arch = asked.subject.fixed.get("arch")
    usual = str(arch) if arch is not None else None
    named = [text for text in asked.lists.get("k", []) if text.strip()]
    return [
        KernelPage(asked.subject, kernel_address.read(text, asked.subject.books, usual))
        for text in named[: MOST + 1]
    ]


def kernel_picture(asked: PageRequest) -> Response:
    """One picture of one kernel."""
    pages = _named(asked)
    beside(pages)
    data = figures.of_kernel(pages[0], asked.given.get("of", ""))
    return Response(data, media_type="image/svg+xml", headers=_DRAWN)


def pictures(asked: PageRequest) -> Response:
    """The pictures of the current set, each an address of its own."""
    names = figures.varying(asked.subject, asked.choice)
    found = figures.figures_of(asked.subject)
    given = [asked.given.get("field", ""), asked.given.get("of", "")]
    sizes = [n for n in names if asked.subject.domains[n][0].role is Role.GEOMETRY]
    given = [given[0] or next(iter(names), ""), given[1] or next(iter(sizes), "")]
    chosen = list(dict.fromkeys(n for n in given if n in names))
    chosen = [*chosen, *(n for n in names if n not in chosen), "", ""][:2]
    line, wrong = asked.given.get("problem", "").strip(), ""
    if line:
        try:
            figures.problem_of(asked.subject, asked.choice, line)
        except CkrulesError as error:
            wrong = str(error)
    return asked.show(
        "pictures.html.j2", 400 if wrong else 200, names=names, chosen=chosen, figures=found,
        problem=line, wrong=wrong, usual=_usual(asked),
    )  # fmt: skip


def _usual(asked: PageRequest) -> str:
    """A problem that is usual for the kernels, as it is typed; "" where none is."""
    if not asked.subject.kernels:
        return ""
    try:
        return str(figures.problem_of(asked.subject, asked.choice, ""))
    except CkrulesError:
        return ""


def picture(asked: PageRequest) -> Response:
    """One picture."""
    names = [n for n in (asked.given.get("field", ""), asked.given.get("value", "")) if n]
    data = figures.svg(asked.subject, asked.choice, asked.given.get("of", ""), names,
                       asked.given.get("problem", "").strip())  # fmt: skip
    return Response(data, media_type="image/svg+xml", headers=_DRAWN)


def export(asked: PageRequest) -> Response:
    """How the current set is had elsewhere."""
    return asked.show(
        "export.html.j2",
        total=asked.subject.counted(asked.choice).total,
        forms=exports.forms_of(asked.subject),
        usual=exports.USUAL,
        most=exports.MOST,
        command=exports.command(asked.subject, asked.choice),
        python=exports.python(asked.subject, asked.choice),
    )


def file(asked: PageRequest) -> Response:
    """The kernels of the current set as a file; none where the address is wrong."""
    if asked.wrong:
        raise UsageError("the address says no set: nothing is written")
    form, n = asked.given.get("form", "names"), asked.number("n", exports.USUAL)
    found = exports.export(asked.subject, asked.choice, form, n)
    headers = {"content-disposition": f'attachment; filename="{found.filename}"'}
    return StreamingResponse(found.pieces, media_type="application/octet-stream", headers=headers)


def complete(asked: PageRequest) -> Response:
    """What may stand at the cursor in the condition, and what is wrong with it, as JSON."""
    text = asked.given.get("where", "")
    cursor = min(asked.number("cursor", len(text)), len(text))
    wrong = fault(asked.subject, text)
    return JSONResponse({
        "proposals": [
            {"text": p.text, "detail": p.detail, "start": p.start, "end": p.end}
            for p in proposals(asked.subject, text, cursor)
        ],
        "fault": {"problem": wrong.problem, "column": wrong.column} if wrong else None,
    })  # fmt: skip
