"""The front door: a folder of built kernels, asked for problems and run on arrays."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ckrules.compiling import executors
from ckrules.compiling.database import FILE
from ckrules.device import registry, worker
from ckrules.device.interface import DeviceError
from ckrules.device.jobs import OPENER
from ckrules.device.store import place_for
from ckrules.kernels.config import Config
from ckrules.runtime.built import BuiltKernel, in_folder
from ckrules.runtime.cache import KernelCache
from ckrules.runtime.choosing import Choice, Chooser
from ckrules.runtime.errors import NoKernelError
from ckrules.runtime.pending import Pending, start
from ckrules.runtime.problem_text import asked_for
from ckrules.support.errors import UsageError
from ckrules.support.plain_values import mapping, plain, seconds, several, whole
from ckrules.support.recent import Recent

if TYPE_CHECKING:
    from ckrules.compiling.manifest import ManifestEntry
    from ckrules.device.interface import Device
    from ckrules.kernels.parts import Problem
    from ckrules.ranking.learned import TimeModel
    from ckrules.runtime.engine import Engine, Outcome
    from ckrules.runtime.isolated import IsolatedEngine
    from ckrules.runtime.measured import KnownTimes, Recorded, Timings

KEPT = 4096
"""So many problems are remembered with what was chosen for them; those not asked for longest go."""


class Dispatcher:
    """Built kernels of one GPU: what they support, which is fastest, and running them.

    Nothing touches a GPU before the first `run`, which opens the device in that process. Threads
    may share a dispatcher: calls wait for each other while they are launched.

    Args:
        folder: What `ckrules build` made; None: nothing but what `declare` and `ensure` add.
        arch: The GPU; needed if the folder has kernels of several.
        device: A device's name, ``hip`` if None, or an open device.
        index: Which device of that name.
        options: What the device is opened with.
        isolated: Whether kernels run in a worker process, so that one that faults costs the call
            an exception (`KernelFaultError`) and not this process.
        timeout: Seconds that a call may take in a worker.
        record: Whether `run` measures and stores times, from which later choices learn.
        model: The model of times; None: the package's where there is one, False: none.
        results: The results database; None: that of the builds.
        opener: What opens a kernel of the folder: ``module:function``.
        cache: Where kernels that are declared are built.

    Raises:
        UsageError: If the folder has no kernels of the GPU that are built.
    """

    def __init__(
        self,
        folder: Path | str | None,
        arch: str | None = None,
        device: str | Device | None = None,
        *,
        index: int = 0,
        options: Mapping[str, str] | None = None,
        isolated: bool = False,
        timeout: float = 60.0,
        record: bool = False,
        model: TimeModel | bool | None = None,
        results: Path | str | None = None,
        opener: str = OPENER,
        cache: KernelCache | None = None,
    ) -> None:
        self.cache = cache if cache is not None else KernelCache()
        built = in_folder(folder, arch)
        self.arch = built[0].arch if built else str(arch)
        if results is not None:
            self.results = Path(results).absolute()
        else:
            self.results = place_for(built, None) if built else self.cache.place / FILE
        self._device = registry.DEFAULT if device is None else device
        if isinstance(self._device, str):
            registry.check(self._device)
        elif isolated:
            raise UsageError("an open device cannot be given to a worker: give its name")
        given = mapping("options", options or {})
        self._index, self._options = index, {name: str(value) for name, value in given.items()}
        self._isolated, self._timeout, self._record = isolated, seconds(timeout), record
        self._kernels = tuple(BuiltKernel.of(k, opener) for k in built)
        self._choices: Recent[tuple[Any, ...], Choice] = Recent(KEPT)
        self._measured: Recent[tuple[Problem, str], KnownTimes] = Recent(KEPT)
        self._recorded: Recorded | None = None
        self._chooser = Chooser(self._kernels, self._known, model)
        self._engine: Engine | IsolatedEngine | None = None
        self._timings: Timings | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._owner = os.getpid()
        self._lock = threading.RLock()
        _LIVE.add(self)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels."""
        return tuple(k.name for k in self._kernels)

    def supported(self, problem: Any, variant: str | None = None, **wanted: Any) -> list[str]:
        """The kernels that take a problem as it is, without padding.

        The arguments are those of `select`.

        Raises:
            UsageError: For what is not a problem.
        """
        asked, fields = asked_for(problem, variant, wanted, self._kernels)
        with self._lock:
            try:
                return [k.name for k in self._chooser.taking(asked, fields)]
            except NoKernelError:
                return []

    def select(self, problem: Any, variant: str | None = None, **wanted: Any) -> Choice:
        """The fastest kernel for a problem, as far as is known; the choice says from what.

        Measured times come first, then the model of times, then the estimate. If no kernel takes
        the problem, channels are padded, at the cost of copying.

        Args:
            problem: A problem of the kernels' family, or its text or mapping.
            variant: What is computed, such as ``bwd_data``; needed where kernels of several
                variants compute problems of these sizes.
            wanted: Values that fields of the kernel must have, such as ``dtype="fp16"``.

        Raises:
            NoKernelError: If no kernel takes the problem, not even a padded one.
            UsageError: For what is not a problem, or if kernels compute different things of it.
        """
        try:
            key = (problem, variant, *wanted.items())
            found = self._choices.get(key)
        except TypeError:  # a mapping
            key, found = (), None
        if found is not None:
            return found
        asked, fields = asked_for(problem, variant, wanted, self._kernels)
        with self._lock:
            found = self._chooser.choose(asked, fields)
            if key:
                self._choices[key] = found
        return found

    def run(
        self,
        problem: Any,
        *inputs: Any,
        out: Any = None,
        variant: str | None = None,
        stream: int | None = None,
        alpha: float = 1.0,
        beta: float = 0.0,
        record: bool | None = None,
        **wanted: Any,
    ) -> Any:
        """Computes a problem.

        Args:
            problem: As for `select`.
            inputs: The tensors that the kernel reads, in the order of its tensors (weight before
                output for ``bwd_data``), or one mapping by their names: numpy arrays, or
                anything that speaks DLPack. Those on the GPU are read where they are.
            out: Where the result goes; a new array if None.
            variant: As for `select`.
            stream: The HIP stream as a number; None: PyTorch's current one for its tensors, else
                the usual one. With all tensors on the GPU nothing is waited for.
            alpha: Must be 1: these kernels do not scale.
            beta: Must be 0, likewise.
            record: Whether to measure and store the time; None: as the dispatcher was made.
            wanted: As for `select`.

        Returns:
            ``out``, or a new array with the sizes of the result in the order of memory.

        Raises:
            NoKernelError: If no kernel takes the problem.
            UsageError: For arrays of other types or sizes.
            DeviceError: If the device cannot be opened or refuses an operation.
            KernelFaultError: If a kernel ended the worker (`isolated`).
        """
        scales = plain(alpha), plain(beta)
        if scales != (1.0, 0.0):
            a, b = (f"{s:g}" if isinstance(s, (int, float)) else repr(s) for s in scales)
            raise UsageError(
                f"alpha={a}, beta={b}: no kernel scales, expected 1 and 0: scale the "
                "result, or add to a product with a kernel of multi_d"
            )
        from ckrules.runtime.execution import Execution

        choice = self.select(problem, variant, **wanted)
        with self._lock:
            engine = self._opened()
            timed = self._record if record is None else record
            execution = Execution(choice, self._index, inputs, out, isolated=self._isolated)
            outcome = execution.on(engine, stream, timed)
            if timed:
                self._remember(choice, outcome)
            return execution.result(outcome)

    def declare(self, kernels: Iterable[Any], *, ck: str | None = None) -> Pending:
        """Has kernels built in the background, and used as soon as each is ready.

        What the cache has, by content, is there at once; what another process is building is
        waited for and not built twice.

        Args:
            kernels: Names, mappings of fields, or `ckrules.kernels.config.Config`; or one of them.
            ck: The CK release; None: that of the folder's kernels.

        Raises:
            BuildError: For a kernel that breaks rules.
            MissingToolError: If the toolchain is not there.
            UsageError: For what is not a kernel of the GPU.
        """
        from ckrules.runtime import jit_requests

        books = jit_requests.books(ck, self._kernels)
        if isinstance(kernels, (Mapping, Config)):
            kernels = (kernels,)
        kernels = several("kernels", kernels)
        configs = [jit_requests.config(each, books, self.arch) for each in kernels]
        wanted = self.cache.wanted(configs, books) if configs else []
        return start(self._builders(), self.cache, wanted, self._add)

    def ensure(
        self,
        problem: Any,
        variant: str | None = None,
        *,
        count: int = 1,
        where: Sequence[str] = (),
        ck: str | None = None,
        **wanted: Any,
    ) -> Pending:
        """Has a kernel for a problem built in the background, if none takes it as it is.

        The kernels are the ones of the rules' whole space that are predicted to be fastest, as
        `ckrules rank` has them; of families of whose times nothing is known, drawn ones.

        Args:
            problem: As for `select`.
            variant: As for `select`.
            where: Conditions on the kernels, as ``--where`` takes them, or one.
            ck: The CK release; None: that of the folder's kernels.
            wanted: Values of fields; all that say what is computed have to be given.

        Raises:
            NoKernelError: If no legal kernel takes the problem.
            UsageError: If a field is left out that says what is computed.
        """
        from ckrules.runtime import jit_requests

        count, where = whole("count", count, 1), several("where", where)
        asked, fields = asked_for(problem, variant, wanted, self._kernels)
        if self.supported(asked, **fields):
            return Pending()
        books = jit_requests.books(ck, self._kernels)
        points = jit_requests.fastest(
            asked, {**fields, "arch": self.arch}, where, books, count, self._chooser.model
        )
        return self.declare([Config(p) for p in points], ck=books.ck)

    def _builders(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(executors.default_jobs(), "ckrules-build")
            return self._pool

    def _add(self, entry: ManifestEntry) -> None:
        """Takes a kernel up that has been built."""
        kernel = BuiltKernel.of(entry)
        kernel.library  # noqa: B018 - opened now, so that it stays if the cache drops it
        with self._lock:
            known = {(k.name, k.entry.ck) for k in self._kernels}
            if (entry.name, entry.ck) not in known:
                self._kernels = (*self._kernels, kernel)
                self._chooser = replace(self._chooser, kernels=self._kernels)
                self._choices.clear()

    def refresh(self) -> None:
        """Has later choices look into the results database again."""
        with self._lock:
            self._choices.clear()
            self._measured.clear()
            self._recorded = None

    def close(self) -> None:
        """Gives the device back; a later run opens it again."""
        with self._lock:
            engine, self._engine = self._engine, None
            timings, self._timings = self._timings, None
            pool, self._pool = self._pool, None
            if pool is not None:
                pool.shutdown(wait=False, cancel_futures=True)
            if timings is not None:
                timings.__exit__(None, None, None)
            if engine is not None and self._owner == os.getpid():
                engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _known(self, problem: Problem, variant: str) -> KnownTimes:
        """What the results database says, asked once."""
        found = self._measured.get((problem, variant))
        if found is None:
            found = self._results().on(problem, variant)
            self._measured[problem, variant] = found
        return found

    def _results(self) -> Recorded:
        from ckrules.runtime.measured import Recorded

        if self._recorded is None:
            self._recorded = Recorded(self.results, self.arch)
        return self._recorded

    def _opened(self) -> Engine | IsolatedEngine:
        """The engine of this process, opened now if it is not yet."""
        if self._engine is not None:
            return self._engine
        if self._owner != os.getpid():
            raise DeviceError(
                "the device was opened before this process was forked, and cannot be shared: "
                "fork first, spawn, or use isolated=True"
            )
        if self._isolated:
            from ckrules.runtime.isolated import IsolatedEngine

            name = str(self._device)
            made = IsolatedEngine(name, self._index, self._options, self._timeout)
            self._check_gpu(made.info.arch, made)
            self._engine = made
            return made
        from ckrules.runtime.engine import Engine

        device = self._device
        if isinstance(device, str):
            device = worker.checked(registry.open_device(device, self._index, self._options))
        engine = Engine(device)
        self._check_gpu(device.info.arch, engine)
        self._engine = engine
        return engine

    def _check_gpu(self, arch: str, engine: Engine | IsolatedEngine) -> None:
        if arch not in ("", self.arch):
            engine.close()
            raise DeviceError(f"the device is a {arch}, and the kernels are for {self.arch}")

    def _remember(self, choice: Choice, outcome: Outcome) -> None:
        """Stores a time, and has the next choice know it."""
        if outcome.milliseconds is None or self._engine is None:
            return
        from ckrules.runtime.measured import Timings

        if self._timings is None:
            self._timings = Timings(self.results)
        from ckrules.runtime.engine import Engine

        engine = self._engine
        info = engine.device.info if isinstance(engine, Engine) else engine.info
        self._timings.add(choice.kernel, choice.runs, info, outcome.milliseconds)
        self._results().note(choice.runs, choice.kernel.variant)
        self._measured.pop((choice.runs, choice.kernel.variant), None)
        for key in [k for k, c in self._choices.items() if c.problem == choice.problem]:
            del self._choices[key]

    def _forked(self) -> None:
        """In a forked child: no lock, database or device of the parent's is used."""
        self._lock = threading.RLock()
        self._timings = self._pool = None
        if self._engine is None:
            self._owner = os.getpid()
            return
        if self._isolated:  # a worker of its own does not matter
            self._engine.forget()  # type: ignore[union-attr]  # set where kernels run apart
            self._owner = os.getpid()
        self._engine = None


_LIVE: weakref.WeakSet[Dispatcher] = weakref.WeakSet()


def _after_fork() -> None:
    for dispatcher in list(_LIVE):
        dispatcher._forked()


os.register_at_fork(after_in_child=_after_fork)
