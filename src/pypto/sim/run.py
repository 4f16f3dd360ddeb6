"""``simulate``: one launch of a tile program on a modelled chip."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pypto.chips import Chip
from pypto.chips import chip as find_chip
from pypto.cores.program import TileProgram
from pypto.errors.base import UserError
from pypto.errors.simulation import BlockCount
from pypto.sim.capacity import check_memories
from pypto.sim.machine import Machine
from pypto.sim.report import Report
from pypto.sim.result import Simulation


def simulate(
    program: TileProgram,
    arguments: Mapping[str, Any],
    *,
    block_dim: int = 1,
    chip: Chip | str | Path | None = None,
    check: bool | str = True,
    timing: bool = True,
    seed: int | None = None,
    permissive: bool = False,
    observer: Any = None,
    assertions: str = "stop",
) -> Simulation:
    """Runs a program; tensors are written in place.

    ``arguments``: by parameter name; tensors are numpy arrays (or None), pointers flat arrays (or None), scalars numbers, structs
    mappings. ``chip``: name, path of a chip file, or None for the program's own. ``check``: True raises the first hazard, ``"collect"``
    gathers them in ``findings``, False looks for none (bounds and deadlocks are always found). ``timing`` False leaves out cycles and
    trace. ``seed``: an adversarial schedule with random durations; values of a right program do not change. ``permissive``: tiles
    may reach beyond their memory. ``assertions``: ``"stop"`` or ``"continue"`` at a ``pto_assert`` that fails. ``observer`` may have
    methods ``printed(text)``, ``called(pipe, call)``, ``breakpoint(call, names)``.

    Raises the classes of ``pypto.errors.simulation``, those of the operations, and what the arguments deserve. An error has the
    attribute ``simulation``: the result as far as it went.
    """
    if not isinstance(block_dim, int) or isinstance(block_dim, bool) or block_dim < 1:
        raise BlockCount(got=block_dim)
    model = find_chip(program.chip if chip is None else chip)
    needed = check_memories(program, model, permissive=permissive)
    report = Report(collect=check == "collect")
    machine = Machine(
        program,
        model,
        block_dim,
        report,
        check=bool(check),
        timing=timing,
        seed=seed,
        observer=observer,
        assertions_continue=assertions == "continue",
        needed=needed,
    )
    try:
        with np.errstate(all="ignore"), garbage_of_its_own():  # infinities and NaN are values here
            machine.run(arguments)
        report.finish()
    except UserError as error:
        report.finish(stopped_by=error)
        error.simulation = _result(machine)  # type: ignore[attr-defined]
        raise
    return _result(machine)


@contextmanager
def garbage_of_its_own() -> Iterator[None]:
    """Collections of garbage look at what the run makes only: a run makes many objects, and the process may hold many more."""
    if gc.get_freeze_count():  # somebody has frozen the heap and wants it to stay so
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _result(machine: Machine) -> Simulation:
    return Simulation(
        machine.program,
        machine.chip,
        cycles=machine.end if machine.timed else 0.0,
        blocks=machine.blocks,
        printed="".join(text for _, _, text in sorted(machine.output)),
        unpriced=machine.prices.unpriced,
        findings=machine.report.findings,
        records=machine.trace,
        gaps=machine.gaps,
        lanes=machine.lanes,
    )
