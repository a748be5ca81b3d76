"""Markup of pictures: what makes matplotlib's SVG fit for reading aloud, dark pages and HTML."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from ckrules.support.visible import visible

_HEAD = re.compile(r"<svg\b([^>]*)>")
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_ID = re.compile(r'\bid="([^"]+)"')
_LINK = re.compile(r'(xlink:href="#|href="#|url\(#)')


def inline(svg: str, title: str, about: str, ink: str, key: str = "p") -> str:
    """The picture for a page that has text of its own around it.

    Args:
        svg: As matplotlib writes it.
        title: The picture's name.
        about: What it shows, in words.
        ink: The colour that becomes the colour of the text around the picture.
        key: What its ids begin with.
    """
    return _rendered("inline.svg.j2", svg, title, about, ink, key)


def standalone(svg: str, title: str, about: str, ink: str) -> str:
    """The picture as a file of its own, light or dark as the reader's system is."""
    return _rendered("standalone.svg.j2", svg, title, about, ink, "p")


def page(picture: str, title: str) -> str:
    """A page with one picture."""
    from markupsafe import Markup

    text: str = template("page.html.j2").render(picture=Markup(picture), title=visible(title))
    return text + "\n"


def _rendered(name: str, svg: str, title: str, about: str, ink: str, key: str) -> str:
    from markupsafe import Markup

    head = _HEAD.search(svg)
    assert head is not None
    body = _METADATA.sub("", svg[head.end() : svg.rindex("</svg>")]).strip()
    body = _ID.sub(lambda m: f'id="{key}-{m[1]}"', body)
    body = _LINK.sub(lambda m: f"{m[1]}{key}-", body)
    body = body.replace(ink, "currentColor")
    attributes = " ".join(f'{k}="{v}"' for k, v in _attributes(head[1]).items())
    text: str = template(name).render(
        attributes=Markup(attributes),
        body=Markup(body),
        title=visible(title),
        about=visible(about),
        key=key,
    )
    return text


def _attributes(text: str) -> dict[str, str]:
    attributes = dict(re.findall(r'([\w:]+)="([^"]*)"', text))
    attributes["width"], attributes["height"] = (
        attributes[k].removesuffix("pt") for k in ("width", "height")
    )
    return attributes


@cache
def template(name: str) -> Any:
    """A template of this room."""
    from jinja2 import Environment, StrictUndefined

    text = (files(__package__) / "templates" / name).read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(text)
