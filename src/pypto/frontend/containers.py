"""Lists, dictionaries and objects that code under a branch or in a device loop changes.

Their slots are not names, so they are not carried or merged. Putting something new into them is fine (the tensors inside are checked
when used); changing a slot that was there before would silently happen once, so it is an error that names the slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from pypto.errors.frontend import ContainerChanged
from pypto.frontend.frames import MISSING, Frame
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tensor import Tensor

DEPTH = 3  # containers in containers in a local name
_OPAQUE = (Tensor, SymbolicScalar, ModuleType, FunctionType, MethodType, BuiltinFunctionType, type)


class Snapshot:
    """What one container held."""

    def __init__(self, container: Any, label: str) -> None:
        self.container = container
        self.label = label
        self.before = dict(slots(container))

    def changed(self) -> str | None:
        """The label of the first slot that holds another tensor or number than before."""
        now = dict(slots(self.container))
        for key, old in self.before.items():
            new = now.get(key, MISSING)
            if new is not old and (_matters(old) or _matters(new)) and not _equal(old, new):
                return f"{self.label}.{key}" if hasattr(self.container, "__dict__") else f"{self.label}[{key!r}]"
        return None


def slots(container: Any) -> Any:
    if isinstance(container, list):
        return enumerate(container)
    return (container if isinstance(container, dict) else container.__dict__).items()


def _matters(value: Any) -> bool:
    return isinstance(value, (Tensor, SymbolicScalar, int, float))


def _equal(a: Any, b: Any) -> bool:
    return isinstance(a, (int, float)) and type(a) is type(b) and a == b


def _is_container(value: Any) -> bool:
    if isinstance(value, (list, dict)):
        return True
    return (
        hasattr(value, "__dict__")
        and not isinstance(value, _OPAQUE)
        and type(value).__module__.partition(".")[0] not in ("pypto", "torch", "numpy", "enum")
    )


def reachable(frame: Frame) -> Iterator[tuple[Any, str]]:
    """Containers in the local names of a frame and of those around it."""
    seen: set[int] = set()
    scope: Frame | None = frame
    while scope is not None:
        for name, value in scope.locals.items():
            yield from _inside(value, name, DEPTH, seen)
        scope = scope.parent


def _inside(value: Any, label: str, depth: int, seen: set[int]) -> Iterator[tuple[Any, str]]:
    if isinstance(value, tuple):
        for position, part in enumerate(value):
            yield from _inside(part, f"{label}[{position}]", depth, seen)
    if not depth or id(value) in seen or not _is_container(value):
        return
    seen.add(id(value))
    yield value, label
    for key, part in list(slots(value)):
        if not isinstance(part, _OPAQUE):
            inner = f"{label}.{key}" if hasattr(value, "__dict__") else f"{label}[{key!r}]"
            yield from _inside(part, inner, depth - 1, seen)


@contextmanager
def watched(frame: Frame, where: str) -> Iterator[None]:
    """Raise ``ContainerChanged`` when the block changes a slot that was there before."""
    before = [Snapshot(container, label) for container, label in reachable(frame)]
    yield
    for snapshot in before:
        slot = snapshot.changed()
        if slot is not None:
            raise ContainerChanged(what=slot, where=where)
