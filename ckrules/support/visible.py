"""Texts of others on one line of a terminal or a log: what would act there is shown instead."""

from __future__ import annotations

import json
import os
import re
from typing import Any
from urllib.parse import quote

#: What makes a line a command to the runner of a CI job: ``::error …`` at the beginning of a line
#: (GitHub), ``##[…]``, ``##vso[…]`` and ``##teamcity[…]`` anywhere in it.
#: Source: actions/runner ActionCommand.TryParseV2 and TryParse.
_AT_START = re.compile(r"^( *):(?=:)")
_WITHIN = re.compile(r"#(?=#[\w.-]*\[)")
#: What stays between the printable parts of a program.
_KEPT = re.compile(r"(\t|\r?\n|\r?$)")
#: Set in the jobs of runners that know these commands (GitHub and others, Azure, TeamCity).
_RUNNERS = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION")
#: What a spreadsheet takes for a formula at the beginning of a cell.
#: Source: OWASP, "CSV Injection".
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def visible(text: str) -> str:
    r"""The text on one line that is only looked at: control characters are shown as Python does.

    That is every character that Python calls not printable (C0 and C1 with ESC, CR and LF, the
    marks that turn the direction of writing, blanks of other widths, lone surrogates), and the
    signs that begin a command to the runner of a CI job. All other texts stay as they are.

    >>> visible("a\x1b[31m\n::error::b")
    'a\\x1b[31m\\n::error::b'
    >>> visible("::error::b"), visible("x ##[group]"), visible("ck_tile::sequence ß")
    ('\\x3a:error::b', 'x \\x23#[group]', 'ck_tile::sequence ß')
    """
    text = _printable(text)
    if "::" in text:
        text = _AT_START.sub(r"\1\\x3a", text)
    return _WITHIN.sub(r"\\x23", text) if "##" in text else text


def hyperlink(text: str, address: str) -> str:
    r"""The text as a link of terminals that have them (OSC 8); others show the text alone.

    What could end the link is percent-encoded.

    >>> hyperlink("TILE001", "https://ck.example/a b")
    '\x1b]8;;https://ck.example/a%20b\x1b\\TILE001\x1b]8;;\x1b\\'
    """
    plain = quote(address, safe="!#$%&'()*+,/:;=?@[]~")
    return f"\x1b]8;;{plain}\x1b\\{text}\x1b]8;;\x1b\\"


def visible_lines(text: str) -> str:
    r"""A text of several lines, each of them `visible`.

    >>> visible_lines("a\n::error::b\n")
    'a\n\\x3a:error::b\n'
    """
    return "\n".join(map(visible, text.split("\n")))


def visible_source(text: str) -> str:
    r"""Lines of a program: tabulators, and the CR of a line's end, stay as they are.

    So do commands to CI runners, such as ``::name`` of C++, unless this is a CI job: what is
    shown can be applied as a patch.

    >>> visible_source("\ta\x1b\r\n")
    '\ta\\x1b\r\n'
    """
    show = visible if any(map(os.environ.get, _RUNNERS)) else _printable
    parts = _KEPT.split(text)
    return "".join(show(p) if i % 2 == 0 else p for i, p in enumerate(parts))


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def json_text(value: Any, *, indent: int | None = None) -> str:
    r"""A value as JSON whose characters are all printable, letters of all scripts among them.

    What `visible` would show is an escape in its strings, so that the value stays the same.

    >>> json_text(["##[error]a", "\u202eß\u009b"])
    '["\\u0023#[error]a", "\\u202eß\\u009b"]'
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if not text.isprintable():
        text = "".join(c if c.isprintable() or c == "\n" else _json_escape(c) for c in text)
    return _WITHIN.sub(r"\\u0023", text) if "##" in text else text


def _json_escape(character: str) -> str:
    code = ord(character)
    if code > 0xFFFF:
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"


def csv_cell(value: Any) -> str:
    r"""A value as the text of a CSV cell; None is empty, Booleans are true and false.

    Numbers stay numbers. A word is `visible`, and one that a spreadsheet would take for a formula
    begins with an apostrophe: such words, and those with control characters, do not come back as
    they were (JSON Lines and Parquet keep them).

    >>> csv_cell(True), csv_cell(-1), csv_cell("-1"), csv_cell("=cmd|calc"), csv_cell("::error::")
    ('true', '-1', "'-1", "'=cmd|calc", '\\x3a:error::')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return str(value)
    return ("'" if value.startswith(_FORMULA) else "") + visible(value)
