"""One run: arrays become a call of an engine, and what comes back the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ckrules.device.dtypes import element
from ckrules.device.tensors import size, spread
from ckrules.runtime import arrays
from ckrules.runtime.engine import Engine, KernelCall, Outcome
from ckrules.runtime.padding import corner, embedded, stored
from ckrules.support.errors import UsageError, unknown

if TYPE_CHECKING:
    from ckrules.kernels.parts import Tensor
    from ckrules.runtime.arrays import TensorArgument
    from ckrules.runtime.choosing import Choice
    from ckrules.runtime.isolated import IsolatedEngine

_LARGER = "larger "
"""What the buffers of padded tensors are called before their names."""


class Execution:
    """A choice with the arrays that it runs on.

    Args:
        choice: The kernel and what it runs.
        index: The number of the device.
        inputs: The arrays in the order of the tensors that are read, or one mapping by name.
        out: Where the result goes; a mapping by name where there are several results.
        isolated: Whether the device is in another process, which sees no addresses of this one.

    Raises:
        UsageError: For arrays that do not fit.
    """

    def __init__(
        self, choice: Choice, index: int, inputs: Sequence[Any], out: Any, *, isolated: bool
    ) -> None:
        self.choice = choice
        self._reads = [t for t in choice.tensors if t.direction != "out"]
        self._writes = [t for t in choice.tensors if t.direction != "in"]
        self._large = {t.name: t for t in choice.large}
        given = self._named(inputs)
        self.inputs = {t.name: arrays.operand(given[t.name], t, index) for t in self._reads}
        self.outs = self._outs(out, index)
        on_gpu = [n for n, o in (*self.inputs.items(), *self.outs.items()) if o.on_device]
        if isolated and on_gpu:
            raise UsageError(f"{on_gpu[0]}: on the GPU of this process, which a worker cannot see")

    def _named(self, inputs: Sequence[Any]) -> Mapping[str, Any]:
        names = [t.name for t in self._reads]
        if len(inputs) == 1 and isinstance(inputs[0], Mapping):
            for name in inputs[0]:
                if name not in names:
                    raise unknown("tensor", str(name), names)
            absent = [n for n in names if n not in inputs[0]]
            if absent:
                raise UsageError(f"no tensor {', '.join(absent)}: it reads {', '.join(names)}")
            return dict(inputs[0])
        if len(inputs) != len(names):
            raise UsageError(f"{len(inputs)} arrays were given: it reads {', '.join(names)}")
        return dict(zip(names, inputs, strict=True))

    def _outs(self, out: Any, index: int) -> dict[str, TensorArgument]:
        """The arrays for results that were given or that have to be on the GPU, by name."""
        names = [t.name for t in self._writes]
        if out is None:
            given: Mapping[str, Any] = {}
        elif isinstance(out, Mapping):
            given = out
        else:
            given = {names[0]: out}
        for name in given:
            if name not in names:
                raise unknown("tensor", str(name), names)
        outs = {}
        for tensor in self._writes:
            value = given.get(tensor.name)
            if value is None and any(o.on_device for o in self.inputs.values()):
                value = arrays.unset(tensor, self.inputs.values())
            if value is not None:
                outs[tensor.name] = arrays.operand(value, tensor, index, written=True)
        return outs

    def on(self, engine: Engine | IsolatedEngine, stream: int | None, timed: bool) -> Outcome:
        """Runs it; a result on the GPU is there when the stream comes to it.

        Raises:
            DeviceError: If the device refuses an operation.
        """
        operands = [*self.inputs.values(), *self.outs.values()]
        chosen = arrays.current_stream(operands) if stream is None else stream
        if chosen and not isinstance(engine, Engine):
            raise UsageError("a worker has streams of its own: leave stream out")
        call = KernelCall(
            self.choice.kernel.file,
            self.choice.runs,
            {t.name: self._input(t, engine, chosen) for t in self._reads},
            {t.name: self._target(t, engine, chosen) for t in self._writes},
            chosen,
            timed,
        )
        outcome = engine.run(call)
        for tensor in self._writes:
            self._cut(tensor, engine, call)
        return outcome

    def _input(self, tensor: Tensor, engine: Engine | IsolatedEngine, stream: int) -> bytes | int:
        """The bytes of a tensor that is read, or where it is."""
        given, large = self.inputs[tensor.name], self._large[tensor.name]
        small = stored(tensor)
        if not given.on_device:
            return spread(large, embedded(given.packed(small), stored(large))).tobytes()
        if tensor == large or not isinstance(engine, Engine):
            return given.address
        engine.use_stream(stream)
        place = engine.buffer(stream, _LARGER + tensor.name, size(large))
        engine.grow(place, given.address, small, stored(large), element(tensor.dtype).bytes)
        return place

    def _target(self, tensor: Tensor, engine: Engine | IsolatedEngine, stream: int) -> int | None:
        """Where a result goes; None: it is read back."""
        given = self.outs.get(tensor.name)
        if given is None or not given.on_device:
            return None
        large = self._large[tensor.name]
        if tensor == large or not isinstance(engine, Engine):
            return given.address
        return engine.buffer(stream, _LARGER + tensor.name, size(large))

    def _cut(self, tensor: Tensor, engine: Engine | IsolatedEngine, call: KernelCall) -> None:
        """Copies a padded result on the GPU to where it was wanted."""
        given, large = self.outs.get(tensor.name), self._large[tensor.name]
        place = call.outputs[tensor.name]
        if given is None or place in (None, given.address) or not isinstance(engine, Engine):
            return
        assert place is not None
        width = element(tensor.dtype).bytes
        engine.shrink(given.address, place, stored(tensor), stored(large), width)

    def result(self, outcome: Outcome) -> Any:
        """The arrays of the results: one, or a mapping by name where there are several."""
        found = {}
        for tensor in self._writes:
            name, given = tensor.name, self.outs.get(tensor.name)
            if name in outcome.results:
                bits = arrays.empty_bits(self._large[name], outcome.results[name])
                bits = corner(bits, stored(tensor))
                if given is None:
                    found[name] = arrays.like(tensor, bits.copy(), self.inputs.values())
                    continue
                given.take(bits)
            assert given is not None
            found[name] = given.given
        return next(iter(found.values())) if len(found) == 1 else found
