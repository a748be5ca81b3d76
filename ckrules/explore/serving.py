"""Serving: one socket on this machine's own address, until Ctrl-C."""

from __future__ import annotations

import logging
import secrets
import socket
import threading
from collections.abc import Callable

import uvicorn

from ckrules.explore.app import guarded
from ckrules.explore.site import Site
from ckrules.support.errors import UsageError

HOST = "127.0.0.1"
_LATER = 1.5  # seconds after which the solver is loaded: not while the first page is made


def listening(port: int) -> socket.socket:
    """A socket that only this machine reaches, at a port, or at any free one for 0.

    Raises:
        UsageError: If the port is taken or not allowed.
    """
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen(64)
    except (OSError, OverflowError) as error:
        found.close()
        said = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot serve at port {port}: {said}") from None
    return found


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)


def address(port: int, token: str) -> str:
    """The address that enters."""
    return f"http://{HOST}:{port}/?token={token}"


def serve(site: Site, place: socket.socket, token: str, ready: Callable[[], None]) -> None:
    """Serves the pages until a signal ends it.

    Args:
        place: Where it listens.
        token: What the first address must have.
        ready: Called when requests are answered.
    """
    later = threading.Timer(_LATER, site.solver({}).start)
    later.daemon = True

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()
            later.start()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            site.searches.close()  # requests may wait for them
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # some are cut off
            await super().shutdown(sockets)

    config = uvicorn.Config(
        guarded(site, place.getsockname()[1], token),
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    try:
        Server(config).run(sockets=[place])
    finally:
        later.cancel()
        if later.ident is not None:  # it has been started
            later.join()
        site.close()
