"""The application: addresses, what each page needs, and what is said where something is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ckrules.engine.expr.variables import Role
from ckrules.explore import exports, figures, kernel_address, lists, reasons
from ckrules.explore.choice import OWN, WHERE, FieldChoice, read, word
from ckrules.explore.conditions import ConditionFault, fault, proposals
from ckrules.explore.guard import Guard
from ckrules.explore.kernel_page import KernelPage, beside, differing
from ckrules.explore.rows import at, sections
from ckrules.explore.solving import Solver
from ckrules.explore.subject import Subject
from ckrules.support.errors import CkrulesError, UsageError, unknown

_HOME = Path(__file__).resolve().parent
TABS = {"/": "Choose", "/kernels": "Kernels", "/pictures": "Pictures", "/export": "Export"}

#: A picture's own styles are in it; it runs nothing and loads nothing.
_DRAWN = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:"}

Page = Callable[["PageRequest"], Response]


class PageRequest:
    """One request: the choice in its address, and what is wrong with it."""

    def __init__(self, pages: Pages, request: Request) -> None:
        self.pages, self.subject = pages, pages.subject
        self.path = request.url.path
        query = request.scope["query_string"].decode("latin-1")
        try:
            pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=1000)
            self.choice, self.faults = read(pairs, self.subject.domains)
        except ValueError:
            pairs, self.choice, self.faults = [], FieldChoice(), ["the address has too many parts"]
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
        return self.pages.show(template, status, asked=self, **values)


class Pages:
    """The pages about one subject.

    Args:
        subject: What is explored.
        solver: Who answers why there is no kernel.
    """

    def __init__(self, subject: Subject, solver: Solver) -> None:
        self.subject, self.solver = subject, solver
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
            subject=subject,
            address=partial(kernel_address.address, books=subject.books)
            if subject.kernels
            else None,
        )
        self._environment.filters.update(count=lambda n: f"{n:,}", word=word)

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


def application(subject: Subject, solver: Solver) -> Starlette:
    """The pages about a subject, not guarded."""
    pages = Pages(subject, solver)
    views: Mapping[str, Page] = {
        "/": choose, "/why": why, "/complete": complete, "/kernels": kernels, "/kernel": kernel,
        "/kernel.svg": kernel_picture, "/pictures": pictures, "/picture.svg": picture,
        "/export": export, "/file": file,
    }  # fmt: skip
    routes: list[Any] = [pages.route(path, page) for path, page in views.items()]
    routes.append(Mount("/assets", StaticFiles(directory=_HOME / "assets")))

    def lost(request: Request, error: Exception) -> Response:
        return PageRequest(pages, request).show(
            "fault.html.j2", 404, message="there is no such page"
        )

    return Starlette(routes=routes, exception_handlers={404: lost})


def guarded(subject: Subject, solver: Solver, port: int, token: str) -> Guard:
    """What is served: the pages for who has the token."""
    return Guard(application(subject, solver), port, token)


def choose(asked: PageRequest) -> Response:
    """Every field with its values and counts."""
    counted = asked.subject.counted(asked.choice)
    rows = list(sections(asked.subject, asked.choice, counted))
    return asked.show("choose.html.j2", counted=counted, sections=rows)


def why(asked: PageRequest) -> Response:
    """Why a value has no kernel, and what is near."""
    name, text = asked.given.get("field", ""), asked.given.get("value", "")
    if name not in asked.subject.domains:
        raise unknown("field", name[:80], asked.subject.domains)
    values = {word(v): v for v in asked.subject.domains[name][1]}
    if text not in values:
        raise unknown(name, text[:80], values)
    found = reasons.reason(asked.subject, asked.pages.solver, asked.choice, name, values[text])
    return asked.show("why.html.j2", reason=found)


def kernels(asked: PageRequest) -> Response:
    """Some kernels under the choice."""
    n, seed = asked.number("n", 20), asked.number("seed", 1)
    kind = asked.given.get("list", "first")
    found = lists.kernels(asked.subject, asked.choice, kind, n, seed)
    kinds = {k: t for k, t in lists.LISTS.items() if asked.subject.kernels or k != "best"}
    return asked.show("kernels.html.j2", found=found, kinds=kinds, n=n, seed=seed)


def kernel(asked: PageRequest) -> Response:
    """One kernel, or two side by side."""
    pages = _named(asked)
    beside(pages)
    first, last = pages[0], pages[-1]
    fields = differing(first.fields, last.fields)
    quantities = differing(first.quantities, last.quantities)
    return asked.show(
        "kernel.html.j2", kernels=pages, fields=fields, quantities=quantities,
        figures=figures.OF_KERNELS,
    )  # fmt: skip


def _named(asked: PageRequest) -> list[KernelPage]:
    arch = asked.subject.fixed.get("arch")
    usual = str(arch) if arch is not None else None
    named = [text for text in asked.lists.get("k", []) if text.strip()]
    return [
        KernelPage(asked.subject, kernel_address.read(text, asked.subject.books, usual))
        for text in named[:3]
    ]


def kernel_picture(asked: PageRequest) -> Response:
    """One picture of one kernel."""
    pages = _named(asked)
    beside(pages)
    data = figures.of_kernel(pages[0], asked.given.get("of", ""))
    return Response(data, media_type="image/svg+xml", headers=_DRAWN)


def pictures(asked: PageRequest) -> Response:
    """The pictures of the current set, each an address of its own."""
    names = figures.varying(asked.subject)
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
        problem=line, wrong=wrong,
    )  # fmt: skip


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
