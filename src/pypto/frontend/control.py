"""Control flow as users write it: ``loop``, ``loop_unroll``, ``is_loop_begin/end``, ``cond``, symbolic ``min`` and ``max``.

``loop`` only describes the loop; the interpreter (``loops.py``) or the block builder (``builder.py``) runs its body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pypto.errors.frontend import LoopArguments, LoopBound, LoopKeyword, LoopNotInFor, LoopStepZero, NotLoopIndex, UnrollFactor
from pypto.frontend.symbolic import SymbolicScalar, scalar_of
from pypto.frontend.trace import OpenLoop, Tracer
from pypto.ir import symbols as ir
from pypto.ir.symbols import Scalar
from pypto.ops.table import RECORDER

_KEYWORDS = ("name", "idx_name", "unroll_list", "submit_before_loop", "parallel")


@dataclass(frozen=True, eq=False)
class DeviceRange:
    """What ``pypto.loop`` gives to a ``for`` statement."""

    function: str
    start: Scalar
    stop: Scalar
    step: Scalar
    factors: tuple[int, ...]
    name: str = ""
    idx_name: str = ""
    submit_before: bool = False
    parallel: bool = False

    def __iter__(self) -> Iterator[Any]:
        drive = getattr(RECORDER.get(), "drive_loop", None)
        if drive is None:
            raise LoopNotInFor(function=self.function)
        return drive(self)

    @property
    def trips(self) -> Scalar:
        """Number of iterations."""
        return trip_count(self.start, self.stop, self.step)

    def begin(self) -> SymbolicScalar:
        return SymbolicScalar(self.start)

    def end(self) -> SymbolicScalar:
        return SymbolicScalar(self.stop)


def loop(*bounds: Any, **keywords: Any) -> DeviceRange:
    """A loop of the kernel: ``loop(stop)``, ``loop(start, stop)`` or ``loop(start, stop, step)``; bounds are ints or symbolic.

    The body is traced once and runs for exactly the indices of ``range``. Names rebound in it are carried from iteration to iteration.
    ``name``, ``idx_name``: labels; ``unroll_list``: advice, never a change of meaning; ``submit_before_loop``: ordering advice;
    ``parallel``: iterations are independent (checked). Raises ``TypeError`` and ``ValueError`` for other arguments.

    >>> import numpy, pypto
    >>> @pypto.jit
    ... def total(x: pypto.Tensor([4, 8]), out: pypto.Tensor([1, 8])):
    ...     acc = pypto.zeros(1, 8)
    ...     for i in pypto.loop(4):
    ...         acc = acc + x[i : i + 1, :]
    ...     out[:] = acc
    """
    return _range("loop", bounds, keywords)


def loop_unroll(*bounds: Any, **keywords: Any) -> DeviceRange:
    """A loop over chunks: ``for i, size in loop_unroll(n, unroll_list=[4, 2])``; ``size`` is the number of iterations in the chunk.

    Factors are those given and 1, largest first, each covering as many whole chunks as remain; the body is traced once per factor, and
    ``size`` is a plain int in it. Arguments as for ``loop``.
    """
    return _range("loop_unroll", bounds, keywords)


def _range(function: str, bounds: tuple[Any, ...], keywords: dict[str, Any]) -> DeviceRange:
    if not 1 <= len(bounds) <= 3:
        raise LoopArguments(function=function, count=len(bounds))
    for name in keywords:
        if name not in _KEYWORDS:
            raise LoopKeyword(function=function, name=name)
    numbers = [_bound(function, bound) for bound in bounds]
    start, stop, step = (0, numbers[0], 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    if step == 0 and ir.is_constant(step):
        raise LoopStepZero(function=function)
    factors = _factors(function, keywords.get("unroll_list"))
    labels = [str(keywords.get(key) or "") for key in ("name", "idx_name")]
    flags = [bool(keywords.get(key)) for key in ("submit_before_loop", "parallel")]
    return DeviceRange(function, start, stop, step, factors, *labels, *flags)  # type: ignore[misc,arg-type]


def _bound(function: str, bound: Any) -> Scalar:
    scalar = None if isinstance(bound, float) else scalar_of(bound)
    if scalar is None or ir.kind_of(scalar) == "float":
        raise LoopBound(function=function, got=f"{type(bound).__name__} {bound!r}")
    return scalar


def _factors(function: str, given: Any) -> tuple[int, ...]:
    """Largest first, each once, 1 always among them."""
    if given is None:
        return (1,)
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise UnrollFactor(function=function, got=repr(given))
    numbers = [scalar_of(factor) for factor in given]
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or number <= 0:
            raise UnrollFactor(function=function, got=repr(given))
    return tuple(sorted({*numbers, 1}, reverse=True))  # type: ignore[type-var,arg-type]


def ceil_div(a: Scalar, b: Scalar) -> Scalar:
    return (
        ir.neg(ir.floordiv(ir.neg(a), b)) if ir.is_constant(a) and ir.is_constant(b) else ir.floordiv(ir.add(a, ir.sub(b, 1)), b)
    )


def trip_count(start: Scalar, stop: Scalar, step: Scalar) -> Scalar:
    """``len(range(start, stop, step))``."""
    if isinstance(step, int):
        distance = ir.sub(stop, start) if step > 0 else ir.sub(start, stop)
        return ir.maximum(ceil_div(distance, abs(step)), 0)
    up, down = ceil_div(ir.sub(stop, start), step), ceil_div(ir.sub(start, stop), ir.neg(step))
    return ir.maximum(ir.select(ir.compare("gt", step, 0), up, down), 0)


# -- questions about the index ------------------------------------------------------------------------------------------------------


def open_loop(function: str, index: Any) -> OpenLoop:
    """The open loop whose index ``index`` is."""
    listener = RECORDER.get()
    scalar = index.scalar if isinstance(index, SymbolicScalar) else index
    if isinstance(listener, Tracer):
        for candidate in reversed(listener.loops):
            if candidate.index is scalar:
                return candidate
    raise NotLoopIndex(function=function, got=f"`{index}`")


def is_loop_begin(index: Any) -> SymbolicScalar:
    """Whether ``index`` is (or its chunk contains) the first index of its loop. Raises ``ValueError`` for anything but an index."""
    found = open_loop("is_loop_begin", index)
    return SymbolicScalar(ir.compare("eq", found.index, found.start))


def is_loop_end(index: Any) -> SymbolicScalar:
    """Whether ``index`` is (or its chunk contains) the last index of its loop. Raises ``ValueError`` for anything but an index."""
    found = open_loop("is_loop_end", index)
    behind = ir.add(found.index, ir.mul(found.step, found.factor))
    if isinstance(found.step, int):
        return SymbolicScalar(ir.compare("ge" if found.step > 0 else "le", behind, found.stop))
    up, down = ir.compare("ge", behind, found.stop), ir.compare("le", behind, found.stop)
    return SymbolicScalar(ir.select(ir.compare("gt", found.step, 0), up, down))


def cond(scalar: Any, file: str | None = None, lineno: int | None = None) -> Any:
    """A condition for ``if``. In kernels it is the argument itself; in a ``with pypto.function(...)`` block it makes two paths."""
    if (file is None) != (lineno is None):
        raise LoopKeyword(function="cond", name="file" if file is not None else "lineno")
    decide = getattr(RECORDER.get(), "decide", None)
    return scalar if decide is None else decide(scalar)


def function(name: str, *tensors: Any) -> Any:
    """Open a block that records what is executed in it: ``with pypto.function("MAIN", a, b): …``."""
    from pypto.frontend.builder import FunctionBlock

    return FunctionBlock(name, tensors)
