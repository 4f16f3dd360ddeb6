"""Tensor program → better tensor program. ``PASSES`` lists the passes in the order ``compiler.py`` runs them."""

from __future__ import annotations

from collections.abc import Callable

from pypto.graph import definedness, dependence, simplify, storage, valid
from pypto.ir.program import Program

PASSES: tuple[tuple[str, Callable[[Program], Program]], ...] = (
    ("simplify", simplify.simplify),
    ("valid", valid.valid),
    ("definedness", definedness.definedness),
    ("storage", storage.storage),
    ("dependence", dependence.dependence),
)
