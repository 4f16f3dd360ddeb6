"""What the passes over a program find wrong with it, and what its text may be wrong with."""

from __future__ import annotations

from pypto.errors.base import UserError


class ProgramSyntaxError(UserError, SyntaxError):
    """Program text that does not follow the grammar of ``pypto.ir.text``."""

    code = 0xF00002
    message = "line {line} of the program text: {reason}: {text}"
    help = "`pypto show file.py::kernel` prints programs in this form"


class ParallelWritesOverlap(UserError, RuntimeError):
    """Two iterations of a loop marked parallel write the same elements."""

    code = 0xF21009
    message = "iterations {first} and {second} of the parallel loop '{loop}' both write '{tensor}'[{shared}] ({bytes})"
    help = "drop parallel=True, or let every iteration write its own rows"
