"""Names of the language that also run in plain Python (tile API section 1.1), so that kernels can be rehearsed."""

from __future__ import annotations

import builtins
import contextlib
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from pypto_pro.errors.language import InlineDeprecated


def range(*bounds: int) -> builtins.range:
    """``range(stop)`` or ``range(start, stop, step=1)``: the iterator of a loop in a kernel; bounds may be run-time scalars there.

    >>> list(range(0, 6, 2))
    [0, 2, 4]
    """
    return builtins.range(*bounds)


@contextlib.contextmanager
def section_cube() -> Iterator[None]:
    """``with pl.section_cube():`` what follows belongs to the cube core."""
    yield


@contextlib.contextmanager
def section_vector() -> Iterator[None]:
    """``with pl.section_vector():`` what follows belongs to the vector cores."""
    yield


def struct(name: str, **fields: Any) -> SimpleNamespace:
    """A mutable record of scalars; a list makes an array field."""
    return SimpleNamespace(**fields)


def struct_array(count: int, name: str, **fields: Any) -> list[SimpleNamespace]:
    """``count`` records of one kind; an element is a reference."""
    return [SimpleNamespace(**fields) for _ in builtins.range(count)]


def make_tuple(**fields: Any) -> SimpleNamespace:
    """An immutable bundle with named fields: tiles, groups, tensors, scalars."""
    return SimpleNamespace(**fields)


def inline(function: Callable[..., Any]) -> Callable[..., Any]:
    """Deprecated: plain functions are inlined anyway."""
    warnings.warn("@pl.inline is deprecated: plain functions are inlined anyway", InlineDeprecated, stacklevel=2)
    return function
