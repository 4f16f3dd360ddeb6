"""Choosing an engine for a block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pypto.options.scopes import scope

ENGINES = ("reference", "cpu")


@contextlib.contextmanager
def on_engine(engine: str, **more: object) -> Iterator[None]:
    """Kernels called in the block run on ``engine``; ``more`` are options of the family ``run`` (``strict=True``)."""
    with scope("engine", {"run.engine": engine, **{f"run.{name}": value for name, value in more.items()}}):
        yield
