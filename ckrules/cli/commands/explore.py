"""Look around in a space on a page in the browser."""

from __future__ import annotations

import re
import sys

import click

from ckrules.cli.interrupts import ended_by_request
from ckrules.cli.once import option
from ckrules.cli.request import Request
from ckrules.cli.space_options import distinct_option, file_argument, space_options
from ckrules.cli.terminal import note, progress
from ckrules.support.errors import UsageError

GROUP = "explore"
#: What is shown first where nothing is asked for.
_FIRST = {"variant": ("forward",), "arch": ("gfx942",), "dtype": ("fp16",)}


@click.command()
@space_options
@distinct_option
@file_argument
@option(
    "--results",
    metavar="WHERE",
    help="Show builds and runs of this folder that was built, or results database.",
)
@option("--port", type=click.IntRange(0, 65535), default=0, help="The port [any that is free].")
@option(
    "--token",
    metavar="WORD",
    help="What the address must have, 16 letters, digits, - or _ at least [a random one].",
)
@option("--open/--no-open", "opens", default=False, help="Open the page in the browser [no].")
def command(
    request: Request, results: str | None, port: int, token: str | None, opens: bool
) -> int:
    """Look around in a space on a page in the browser."""
    if token is not None and not re.fullmatch(r"[\w-]{16,200}", token, re.ASCII):
        raise UsageError("--token takes 16 to 200 letters, digits, - and _")
    try:
        from ckrules.explore import serving
        from ckrules.explore.site import Site
        from ckrules.explore.subject import Subject
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
            raise
        raise UsageError("the page needs a web server: pip install 'ckrules[explore]'") from None
    if request.by_file and results is not None:
        raise UsageError("--results does not go with a file that describes a space")
    database = None
    if results is not None:
        from ckrules.compiling.database import find
        from ckrules.compiling.results import Results

        database = find(results)
        Results(database, reading=True).__exit__()  # what is wrong with it is said at once
    if request.whole:
        request = request.changed(given=_FIRST)

    def made(asked: Request) -> Subject:
        books = None if asked.by_file else asked.books
        return Subject(asked.region, books, asked.title(), asked.command_line(), database)

    with progress("counting the configurations" if request.by_file else "counting the kernels"):
        first = made(request)
    site = Site(first, request.scope(), lambda scope: made(request.within(scope)))
    token = token or serving.new_token()
    with serving.listening(port) as place:
        address = serving.address(place.getsockname()[1], token)

        def ready() -> None:
            click.echo(address)
            sys.stdout.flush()
            note("Ctrl-C ends it")
            if opens:
                import webbrowser

                webbrowser.open(address)

        with ended_by_request():
            serving.serve(site, place, token, ready)
    return 0
