"""Simulating a compiled kernel: output as it comes, errors with the bundle, and the choice of a preload."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pypto.cores.program import TileProgram, walk
from pypto.errors.base import InternalError, UserError
from pypto.sim.run import simulate
from pypto_pro.errors.launching import ReadBeforeBound
from pypto_pro.frontend.tidy import names_read, without_inner
from pypto_pro.runtime.compilation import Compiled
from pypto_pro.runtime.simulation import settings


class Printer:
    """Shows what kernels print while they run."""

    def printed(self, text: str) -> None:
        sys.stdout.write(text)


def run(compiled: Compiled, values: Mapping[str, Any], block_dim: int, observer: Any = None) -> Any:
    """Simulates a program with the settings that hold now; gives the result. Tensors are written in place."""
    now = settings()
    try:
        return simulate(
            compiled.program,
            values,
            block_dim=block_dim,
            check=now.check,
            seed=now.seed,
            timing=now.timing,
            assertions="stop" if now.stop_on_assert else "continue",
            observer=observer or Printer(),
        )
    except InternalError as error:
        if isinstance(error.__cause__, UnboundLocalError):  # the scalar unit is a Python generator with a variable per name
            raise _unbound(compiled.program, error.__cause__) from error
        raise


def _unbound(program: TileProgram, error: UnboundLocalError) -> ReadBeforeBound:
    """A variable that no path has bound, at the first statement that reads it."""
    name = str(error).partition("'")[2].partition("'")[0].removeprefix("n_")
    for core in program.cores:
        for statement in walk(core.body):
            place = getattr(statement, "place", None)
            if place is not None and name in names_read((without_inner(statement),)):
                return ReadBeforeBound(name=name, span=place)
    return ReadBeforeBound(name=name)


# -- preload="auto" -----------------------------------------------------------------------------------------------------------

CANDIDATES = (0, 1, 2, 3, 4)


class Silent:
    """Trial runs print nothing."""

    def printed(self, text: str) -> None: ...


def fastest_preload(compile_for: Callable[[int], Compiled], values: Mapping[str, Any], block_dim: int) -> int:
    """The preload with the fewest simulated cycles for these arguments, on copies of them; raises where none can be compiled."""
    best: tuple[float, int] | None = None
    refused: UserError | None = None
    for preload in CANDIDATES:
        try:
            cycles = cycles_of(compile_for(preload), values, block_dim)
        except UserError as error:  # too deep for the slots, or too few event ids
            refused = refused or error
            continue
        if best is None or cycles < best[0]:
            best = (cycles, preload)
    if best is None:
        assert refused is not None
        raise refused
    return best[1]


def cycles_of(compiled: Compiled, values: Mapping[str, Any], block_dim: int) -> float:
    """Simulated cycles of a launch on copies of its arguments."""
    copies = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()}
    return simulate(compiled.program, copies, block_dim=block_dim, check=False, observer=Silent()).cycles
