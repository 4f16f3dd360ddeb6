"""Simulating a compiled kernel: output as it comes, errors with the bundle, and the choice of a preload."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any, Union

from pypto.cores.program import TileProgram, names_read, walk
from pypto.errors.base import InternalError, UserError
from pypto.sim.arguments import copied
from pypto.sim.run import simulate
from pypto_pro.errors.launching import ReadBeforeBound
from pypto_pro.frontend.tidy import without_inner
from pypto_pro.runtime import bundle
from pypto_pro.runtime.compilation import Compiled
from pypto_pro.runtime.simulation import settings


class Printer:
    """Shows what kernels print while they run."""

    def printed(self, text: str) -> None:
        sys.stdout.write(text)


def run(compiled: Compiled, values: Mapping[str, Any], block_dim: int, observer: Any = None) -> Any:
    """Simulates a program with the settings that hold now; gives the result. Tensors are written in place."""
    now = settings()
    given = bundle.before(values)
    try:
        return simulate(
            compiled.program,
            values,
            block_dim=block_dim,
            check=now.check,
            seed=now.seed,
            timing=now.timing,
            assertions="stop" if now.stop_on_assert else "continue",
            permissive=now.permissive,
            observer=observer or Printer(),
        )
    except UserError as error:
        bundle.save(error, compiled, given, block_dim, now)
        raise
    except InternalError as error:
        if isinstance(error.__cause__, UnboundLocalError):  # the scalar unit is a Python generator with a variable per name
            raise _unbound(compiled.program, error.__cause__) from error
        bundle.save(error, compiled, given, block_dim, now)
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
Preload = Union[int, tuple[int, ...]]


class Silent:
    """Trial runs print nothing."""

    def printed(self, text: str) -> None: ...


def cycles_of(compiled: Compiled, values: Mapping[str, Any], block_dim: int) -> float:
    """Simulated cycles on copies of the arguments."""
    return simulate(compiled.program, copied(values), block_dim=block_dim, check=False, observer=Silent()).cycles


class Trials:
    """Simulated cycles by preload, on copies of the arguments; infinite where the kernel is refused (too few slots or event ids)."""

    def __init__(self, compile_for: Callable[[Preload], Compiled], values: Mapping[str, Any], block_dim: int) -> None:
        self.compile_for, self.values, self.block_dim = compile_for, values, block_dim
        self.found: dict[Preload, float] = {}
        self.refusal: UserError | None = None
        self.loops = 1

    def cycles(self, preload: Preload) -> float:
        if preload not in self.found:
            self.found[preload] = self._simulated(preload)
        return self.found[preload]

    def _simulated(self, preload: Preload) -> float:
        try:
            compiled = self.compile_for(preload)
        except UserError as error:
            self.refusal = self.refusal or error
            return math.inf
        self.loops = max(self.loops, len(compiled.transformed.loops))
        return cycles_of(compiled, self.values, self.block_dim)


def fastest_preload(compile_for: Callable[[Preload], Compiled], values: Mapping[str, Any], block_dim: int) -> Preload:
    """The preload with the fewest simulated cycles for these arguments: one number for all loops, then each loop's own.

    Raises what the first refusal says where no preload can be compiled.
    """
    trials = Trials(compile_for, values, block_dim)
    best: Preload = min(CANDIDATES, key=trials.cycles)
    if trials.refusal is not None and trials.cycles(best) == math.inf:
        raise trials.refusal
    if trials.loops == 1:
        return best
    chosen = (best,) * trials.loops
    for loop in range(trials.loops):
        others = [(*chosen[:loop], number, *chosen[loop + 1 :]) for number in CANDIDATES]
        chosen = min([chosen, *others], key=trials.cycles)  # type: ignore[assignment, arg-type]
    return chosen  # type: ignore[return-value]
