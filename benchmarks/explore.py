"""How soon the pages of ``ckrules explore`` answer, on the largest spaces.

python benchmarks/explore.py [CLICKS]

For each space the server starts as a user starts it, with its compiled space in the cache and
without; measured are the time from the command to the first page, and of clicks, each a choice of
one to four values or a condition, the median and the longest. Times are of the whole request; of
the first page there is the processor time of the server, too, for machines with other work.
Last come the kernels predicted fastest of the whole space: the seconds until the first rows, and
those of the server's processor until the search has ended.
"""

from __future__ import annotations

import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import unescape
from http.client import HTTPConnection
from urllib.parse import quote, urlsplit

SPACES: Mapping[str, Sequence[str]] = {
    "forward on gfx942, fp16": ("--variant", "forward", "--arch", "gfx942", "--dtype", "fp16"),
    "forward on gfx942": ("--variant", "forward", "--arch", "gfx942"),
    "forward, all GPUs": ("--variant", "forward"),
    "bwd_weight, all GPUs": ("--variant", "bwd_weight"),
    "gemm on gfx942, fp16": ("--variant", "gemm", "--arch", "gfx942", "--dtype", "fp16"),
}
CONDITIONS = ("lds_bytes < 32768", "tile_m == tile_n", "vgprs <= 256 & tile_k >= 32")


def main() -> None:
    """Measures and prints a table."""
    clicks = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    titles = (("points", 16), ("first page", 12), ("of it CPU", 11), ("compiled", 10), ("click", 8),
              ("longest", 9), ("condition", 11), ("first rows", 12),
              ("fastest CPU", 13))  # fmt: skip
    print(" " * 28 + "".join(f"{title:>{width}}" for title, width in titles))
    with tempfile.TemporaryDirectory(prefix="ckrules-bench-") as cache:
        for title, options in SPACES.items():
            one_gpu = "--arch" in options
            environment = {**os.environ, "CKRULES_CACHE_DIR": os.path.join(cache, title[:7])}
            with served(options, environment) as (_, cold, _, _):
                pass
            with served(options, environment) as (client, warm, used, pid):
                found = client.get("/")
                total = int(re.search(r'id="total" data-count="(\d+)"', found)[1])  # type: ignore[index]
                times = list(clicked(client, found, clicks))
                asked = conditions(client)
                last = "{:>10.2f} s{:>11.2f} s".format(*fastest(client, pid)) if one_gpu else ""
            print(f"{title:28}{total:>16,}{warm:>10.2f} s{used:>9.2f} s{cold:>8.1f} s"
                  f"{1e3 * statistics.median(times):>5.0f} ms{1e3 * max(times):>6.0f} ms"
                  f"{asked:>11}{last}")  # fmt: skip


class RefusedError(Exception):
    """The page says that it cannot show what was asked for."""


class Client:
    """A browser's connection to the server, with the cookie."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._connection = HTTPConnection(parts.netloc, timeout=120)
        self._cookie = ""
        self._connection.request("GET", f"/?{parts.query}")
        answer = self._connection.getresponse()
        answer.read()
        self._cookie = (answer.getheader("set-cookie") or "").partition(";")[0]

    def timed(self, path: str) -> tuple[float, str]:
        """The seconds of a request, and its page."""
        began = time.perf_counter()
        self._connection.request("GET", path, headers={"cookie": self._cookie})
        answer = self._connection.getresponse()
        text = answer.read().decode()
        seconds = time.perf_counter() - began
        if answer.status != 200:
            raise RefusedError(f"{path}: {answer.status}")
        return seconds, text

    def get(self, path: str) -> str:
        """A page."""
        return self.timed(path)[1]


@contextmanager
def served(
    options: Sequence[str], environment: Mapping[str, str]
) -> Iterator[tuple[Client, float, float, int]]:
    """A server: its client, the seconds to the first page, those of its processor, its number."""
    began = time.perf_counter()
    words = [sys.executable, "-m", "ckrules", "explore", *options]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env=dict(environment), text=True)  # fmt: skip
    try:
        assert server.stdout is not None
        client = Client(server.stdout.readline().strip())
        client.get("/")
        yield client, time.perf_counter() - began, processor(server.pid), server.pid
    finally:
        server.terminate()
        server.wait()


def conditions(client: Client) -> str:
    """The longest time of a condition; ``refused`` where the page has no answer to one."""
    try:
        return f"{max(client.timed(f'/?where={quote(c)}')[0] for c in CONDITIONS):.2f} s"
    except RefusedError:
        return "refused"


def fastest(client: Client, pid: int) -> tuple[float, float]:
    """The seconds until rows of the fastest kernels are there, and the processor's for all."""
    before = processor(pid)
    first, page = client.timed("/kernels?list=best")
    assert 'name="k"' in page, page
    while again := re.search(r'data-again="([^"]+)"', page):
        page = client.get(unescape(again[1]))
    return first, processor(pid) - before


def processor(pid: int) -> float:
    """The seconds of processor time that a process has had."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def clicked(client: Client, page: str, clicks: int) -> Iterator[float]:
    """The seconds of each click; after four choices the walk begins again."""
    dice = random.Random(1)
    here = page
    for number in range(clicks):
        if number % 4 == 0:
            here = page
        links = re.findall(r'id="[^"]+" href="([^"]+)" data-count="([1-9]\d*)"', here)
        seconds, here = client.timed(unescape(dice.choice(links)[0]))
        yield seconds


if __name__ == "__main__":
    main()
