"""A recorder whose handles are ir values: for tests, examples and passes that build programs with the public functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pypto.diagnostics import Span
from pypto.ir.program import Storage, TensorType, Value
from pypto.ir.symbols import Expression
from pypto.ops.build import Builder
from pypto.ops.table import RECORDER


class DirectRecorder:
    """Appends to ``builder``; a tensor is a ``Value`` (or a ``Storage`` where an op updates one)."""

    def __init__(self, name: str = "program") -> None:
        self.builder = Builder(name)
        self.span: Span | None = None

    def record(self, name: str, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
        result = self.builder.op(name, *operands, **attributes)
        return list(result) if isinstance(result, tuple) else result

    def type_of(self, handle: Value | Storage) -> TensorType:
        return handle.type

    def is_tensor(self, thing: Any) -> bool:
        return isinstance(thing, (Value, Storage))

    def scalar(self, thing: Any) -> Any:
        return thing if isinstance(thing, (bool, int, float, Expression)) else None


@contextmanager
def recording(recorder: Any) -> Iterator[Any]:
    """Let ``recorder`` hear the op functions called in this block."""
    token = RECORDER.set(recorder)
    try:
        yield recorder
    finally:
        RECORDER.reset(token)
