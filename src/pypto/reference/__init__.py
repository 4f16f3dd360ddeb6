"""The numpy engine: the definition of what a program means. Plain and slow."""

from __future__ import annotations

from pypto.reference.engine import run
from pypto.reference.evaluate import evaluate

__all__ = ["evaluate", "run"]
