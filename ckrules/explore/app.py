"""The application: addresses, what each page needs, and what is said where something is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ckrules.explore import lists, reasons
from ckrules.explore.choice import Choice, read, word
from ckrules.explore.conditions import Fault, fault, proposals
from ckrules.explore.guard import Guard
from ckrules.explore.rows import at, sections
from ckrules.explore.solving import Solver
from ckrules.explore.subject import Subject
from ckrules.support.errors import CkrulesError, UsageError, unknown

_HOME = Path(__file__).resolve().parent
TABS = {"/": "Choose", "/kernels": "Kernels"}

Page = Callable[["Asked"], Response]


class Asked:
    """One request: the choice in its address, and what is wrong with it."""

    def __init__(self, pages: Pages, request: Request) -> None:
        self.pages, self.subject = pages, pages.subject
        self.path = request.url.path
        query = request.scope["query_string"].decode("latin-1")
        try:
            pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=1000)
            self.choice, self.faults = read(pairs, self.subject.domains)
        except ValueError:
            pairs, self.choice, self.faults = [], Choice(), ["the address has too many parts"]
        self.given = dict(pairs)
        self.lists: dict[str, list[str]] = {}
        for key, text in pairs:
            self.lists.setdefault(key, []).append(text)
        self.fault: Fault | None = fault(self.subject, self.choice.where)
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
        self._environment.globals.update(at=at, tabs=TABS, subject=subject)
        self._environment.filters.update(count=lambda n: f"{n:,}", word=word)

    def show(self, template: str, status: int, **values: Any) -> HTMLResponse:
        """A rendered page."""
        found = self._environment.get_template(template)
        return HTMLResponse(found.render(**values), status)

    def route(self, path: str, page: Page) -> Route:
        """An address; what is wrong with a request is said on a page of its own."""

        @wraps(page)
        def endpoint(request: Request) -> Response:  # in a thread, so that none waits for it
            asked = Asked(self, request)
            try:
                return page(asked)
            except CkrulesError as error:
                return asked.show("fault.html.j2", 400, message=str(error))

        return Route(path, endpoint)


def application(subject: Subject, solver: Solver) -> Starlette:
    """The pages about a subject, not guarded."""
    pages = Pages(subject, solver)
    views: Mapping[str, Page] = {
        "/": choose, "/why": why, "/complete": complete, "/kernels": kernels,
    }  # fmt: skip
    routes: list[Any] = [pages.route(path, page) for path, page in views.items()]
    routes.append(Mount("/assets", StaticFiles(directory=_HOME / "assets")))

    def lost(request: Request, error: Exception) -> Response:
        return Asked(pages, request).show("fault.html.j2", 404, message="there is no such page")

    return Starlette(routes=routes, exception_handlers={404: lost})


def guarded(subject: Subject, solver: Solver, port: int, token: str) -> Guard:
    """What is served: the pages for who has the token."""
    return Guard(application(subject, solver), port, token)


def choose(asked: Asked) -> Response:
    """Every field with its values and counts."""
    counted = asked.subject.counted(asked.choice)
    rows = list(sections(asked.subject, asked.choice, counted))
    return asked.show("choose.html.j2", counted=counted, sections=rows)


def why(asked: Asked) -> Response:
    """Why a value has no kernel, and what is near."""
    name, text = asked.given.get("field", ""), asked.given.get("value", "")
    if name not in asked.subject.domains:
        raise unknown("field", name[:80], asked.subject.domains)
    values = {word(v): v for v in asked.subject.domains[name][1]}
    if text not in values:
        raise unknown(name, text[:80], values)
    found = reasons.reason(asked.subject, asked.pages.solver, asked.choice, name, values[text])
    return asked.show("why.html.j2", reason=found)


def kernels(asked: Asked) -> Response:
    """Some kernels under the choice."""
    n, seed = asked.number("n", 20), asked.number("seed", 1)
    kind = asked.given.get("list", "first")
    found = lists.kernels(asked.subject, asked.choice, kind, n, seed)
    return asked.show("kernels.html.j2", found=found, kinds=lists.LISTS, n=n, seed=seed)


def complete(asked: Asked) -> Response:
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
