"""Searches for the fastest kernels in threads; what they have found until now can be shown."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ckrules.explore.choice import FieldChoice
from ckrules.explore.subject import Subject
from ckrules.support.errors import CkrulesError
from ckrules.support.recent import Recent

if TYPE_CHECKING:
    from ckrules.engine.rules.region import Region
    from ckrules.kernels.books import Books
    from ckrules.ranking.best import Best

_KEPT = 8


class FastestSearch:
    """One search, begun when it is made.

    Args:
        region: The kernels that are searched.

    >>> from ckrules.kernels.books import Books
    >>> from ckrules.kernels.selection import select
    >>> given = {"variant": "forward_depthwise", "arch": "gfx942", "dtype": "fp16", "filter": 3}
    >>> search = FastestSearch(select(Books(), given), Books(), 3)
    >>> while not search.ended:
    ...     version = search.newer(search.version, 60)
    >>> search.fault
    'nothing is known of the times of forward_depthwise kernels'
    """

    def __init__(self, region: Region, books: Books, n: int) -> None:
        self.found: Best | None = None
        """What has been found until now; None: nothing yet."""
        self.fault = ""
        """Why nothing can be found."""
        self.version = 0
        """Grows whenever there is something new."""
        self.ended = False
        self._stop = threading.Event()
        self._changed = threading.Condition()
        thread = threading.Thread(target=self._work, args=(region, books, n), daemon=True)
        thread.start()

    @property
    def stopped(self) -> bool:
        """Whether it was told to end before it was done."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ends the search with what has been found."""
        if not self.ended:
            self._stop.set()

    def newer(self, version: int, seconds: float) -> int:
        """Waits so long for something newer than a version, or the end."""
        with self._changed:
            self._changed.wait_for(lambda: self.ended or self.version > version, seconds)
            return self.version

    def _work(self, region: Region, books: Books, n: int) -> None:
        from ckrules.ranking.best import best

        try:
            found = best(region, books, n, heard=self._hear, stopped=self._stop.is_set)
            self._tell(found, ended=True)
        except CkrulesError as error:
            self.fault = str(error)
            self._tell(self.found, ended=True)
        except BaseException:  # said by the thread's own report
            self.fault = "the search failed: see where `ckrules explore` runs"
            self._tell(self.found, ended=True)
            raise

    def _hear(self, found: Best) -> None:
        if found.kernels:
            self._tell(found, ended=False)

    def _tell(self, found: Best | None, *, ended: bool) -> None:
        with self._changed:
            self.found, self.ended = found, ended
            self.version += 1
            self._changed.notify_all()


class FastestSearches:
    """The last searches, by what was searched; one at a time is under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: Recent[tuple[int, str, int], FastestSearch] = Recent(_KEPT)

    def of(self, subject: Subject, choice: FieldChoice, n: int) -> FastestSearch:
        """The search of the kernels under a choice, begun if it was not."""
        key = id(subject), choice.query(), n
        with self._lock:
            for other, search in list(self._kept.items()):
                if other != key and not search.ended:  # nobody looks at it any more
                    search.stop()
                    del self._kept[other]
            if (found := self._kept.get(key)) is None:
                found = self._kept[key] = FastestSearch(subject.region_of(choice), subject.books, n)
            return found

    def close(self) -> None:
        """Ends what is under way."""
        with self._lock:
            for search in self._kept.values():
                search.stop()
