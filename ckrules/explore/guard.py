"""What every request passes: it must come from this machine's own page, with the token.

A page of another site can make a browser send requests here. A foreign name that resolves to
127.0.0.1 is caught by the Host header, everything else by the token, which only who has read the
terminal knows; a cookie keeps it, so that addresses can be passed on without it.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""On every answer: nothing comes from elsewhere, nothing is kept, nobody frames the page."""


class Guard:
    """Lets requests through to an application that come from the page itself.

    Args:
        port: The port that it is served at.
        token: What the first address must have.
    """

    def __init__(self, app: App, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._cookie = f"ckrules_{port}"  # cookies are shared by all ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets
            return

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refused(scope) or self._entered(scope)
        await (answer or self._app)(scope, receive, guarded)

    def _refused(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if headers.getlist("host") not in [[h] for h in self._hosts]:
            return _line(f"this page is served at {self._hosts[0]} only", 421)
        if scope["method"] not in ("GET", "HEAD"):
            return _line("only GET is answered", 405)
        given = [v for k, v in _query(scope) if k == "token"]
        if not all(self._known(v) for v in given or [self._kept(headers)]):
            return _line("wrong or no token: open the address that `ckrules explore` printed", 403)
        return None

    def _known(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self._token.encode())

    def _kept(self, headers: Headers) -> str:
        cookies = SimpleCookie()
        try:
            cookies.load(headers.get("cookie", ""))
        except CookieError:
            return ""
        morsel = cookies.get(self._cookie)
        return morsel.value if morsel is not None else ""

    def _entered(self, scope: Scope) -> RedirectResponse | None:
        """The way on with a cookie instead of the token in the address."""
        pairs = _query(scope)
        rest = [(k, v) for k, v in pairs if k != "token"]
        if len(rest) == len(pairs):
            return None
        place = "/" + scope["path"].lstrip("/")  # two slashes would name a host
        answer = RedirectResponse(place + (f"?{urlencode(rest)}" if rest else ""), 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return answer


def _query(scope: Scope) -> list[tuple[str, str]]:
    text = scope["query_string"].decode("latin-1")
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        return []


def _line(text: str, status: int) -> PlainTextResponse:
    return PlainTextResponse(f"{text}\n", status)
