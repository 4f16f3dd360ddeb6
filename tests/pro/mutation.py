"""Programs with one synchronisation deleted, and what the simulator says about them.

A deletion is *reported* when the natural run ends with an error of synchronisation: a race, a deadlock, an event left over, a token
given back that was not taken, undefined bytes. It is *redundant* when the happens-before of the run needs no such edge: the statement
runs, there is no finding in the natural order, then none under eight adversarial schedules, and the values are the same. Anything else
is a *miss*.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
from kernels.case import Case, launch

from pypto.cores.enums import PipeType
from pypto.cores.program import Constant, CoreProgram, If, Instruction, Loop, Repeat, TileProgram, walk
from pypto.errors.base import UserError
from pypto.sim.run import simulate

SYNCHRONISATION = frozenset("mutex_lock mutex_unlock set_cross_core wait_cross_core sync_src sync_dst sync_all".split())
SEEDS = range(8)
STOP = (Instruction("pto_assert", PipeType.S, (Constant(False),)),)
REPORTED = frozenset("DataRace Deadlock UnpairedSync UnlockNotHeld UndefinedRead FlagSetTwice TooManySets".split())


@dataclass(frozen=True)
class Recorded:
    """A launch: program and arguments by name, as the simulator got them."""

    program: TileProgram
    values: dict[str, Any]
    blocks: int

    def run(self, program: TileProgram, seed: int | None = None) -> dict[str, np.ndarray]:
        """The arguments after a run of ``program`` on copies of them."""
        values = copies(self.values)
        simulate(program, values, block_dim=self.blocks, seed=seed, timing=False)
        return values


def copies(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def recorded(case: Case, preload: Any = None) -> Recorded:
    found: list[Recorded] = []

    def run(compiled: Any, values: dict[str, Any], blocks: int) -> None:
        found.append(Recorded(compiled.program, copies(values), blocks))

    with mock.patch("pypto_pro.runtime.kernel.run", run):
        launch(case, preload)
    return found[0]


def changed(body: tuple, target: Instruction, by: tuple = ()) -> tuple:
    """A body in which other statements, or none, stand for one instruction (the very object, not its equals)."""
    kept = []
    for statement in body:
        if statement is target:
            kept += by
            continue
        if isinstance(statement, (Loop, Repeat)):
            statement = replace(statement, body=changed(statement.body, target, by))
        elif isinstance(statement, If):
            statement = replace(
                statement, then=changed(statement.then, target, by), otherwise=changed(statement.otherwise, target, by)
            )
        kept.append(statement)
    return tuple(kept)


Mutant = tuple[str, TileProgram, TileProgram]


def mutants(program: TileProgram) -> Iterator[Mutant]:
    """Every deletion of one static set, wait, lock or unlock: what was deleted, the program, and one that stops there instead."""
    for side, core in sides(program):
        for statement in walk(core.body):
            if isinstance(statement, Instruction) and statement.operation in SYNCHRONISATION:
                yield mutant(program, side, statement)


def pairs(program: TileProgram) -> Iterator[Mutant]:
    """Every deletion of a lock together with its unlock, which alone each would be noticed by the other."""
    for side, core in sides(program):
        for body in bodies(core.body):
            for index, statement in enumerate(body):
                if isinstance(statement, Instruction) and statement.operation == "mutex_lock":
                    yield mutant(program, side, statement, unlock_of(statement, body[index:]))


def sides(program: TileProgram) -> list[tuple[str, CoreProgram]]:
    return [(side, core) for side in ("cube", "vector") if (core := getattr(program, side)) is not None]


def bodies(body: tuple) -> Iterator[tuple]:
    yield body
    for statement in body:
        for inner in ("body", "then", "otherwise"):
            yield from bodies(getattr(statement, inner, ()))


def unlock_of(lock: Instruction, behind: tuple) -> Instruction:
    wanted = ("mutex_unlock", lock.operands, lock.pipe)
    return next(one for one in behind if isinstance(one, Instruction) and (one.operation, one.operands, one.pipe) == wanted)


def mutant(program: TileProgram, side: str, *deleted: Instruction) -> Mutant:
    core = getattr(program, side)
    body = core.body
    for one in deleted:
        body = changed(body, one)
    first = deleted[0]
    line = first.place.line if first.place else 0
    text = f"{side} {' and '.join(one.operation for one in deleted)} {first.pipe.name} line {line}"
    stopping = changed(core.body, first, STOP)
    return text, replace(program, **{side: replace(core, body=body)}), replace(program, **{side: replace(core, body=stopping)})


def verdict(launched: Recorded, program: TileProgram, stopping: TileProgram, expected: dict[str, np.ndarray]) -> str:
    """The class of the report, ``redundant``, or ``MISSED`` with what happened."""
    try:
        found = launched.run(program)
    except UserError as error:
        name = type(error).__name__
        return name if name in REPORTED else f"MISSED: {name}"
    if not same(found, expected):
        return "MISSED: other values without a finding"
    if not runs(launched, stopping):
        return "MISSED: never runs, the case is too small"
    return "redundant" if all(quiet(launched, program, seed, expected) for seed in SEEDS) else "MISSED: found by a seed only"


def runs(launched: Recorded, stopping: TileProgram) -> bool:
    """Whether the deleted statement was reached at all: where it never runs, nothing is proven."""
    try:
        launched.run(stopping)
    except UserError as error:
        return "Assertion" in type(error).__name__
    return False


def quiet(launched: Recorded, program: TileProgram, seed: int, expected: dict[str, np.ndarray]) -> bool:
    try:
        return same(launched.run(program, seed), expected)
    except UserError:
        return False


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    arrays = [(value, other[name]) for name, value in one.items() if isinstance(value, np.ndarray)]
    return all(value.tobytes() == again.tobytes() for value, again in arrays)
