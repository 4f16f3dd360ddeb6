"""``store_fp`` and ``move_fp``: what ``store`` and ``move`` with a scale tile mean (tile API section 1.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pypto.cores.enums import PipeType
from pypto.errors.tiles import TileExpected
from pypto.ops.tile.checks import kind_of, operand
from pypto.ops.tile.table import StaticCall, TileOperation, positional, register

SCALE_AT = 2


class Adapted:
    """A call seen as one of the row it stands for: the third operand is its keyword ``scale``."""

    def __init__(self, call: Any, operation: str) -> None:
        self.call, self.operation = call, operation
        self.operands = (*call.operands[:SCALE_AT], *call.operands[SCALE_AT + 1 :])
        self.attributes = {**call.attributes, "scale": call.operands[SCALE_AT]}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.call, name)


def _check(row: TileOperation) -> Callable[[StaticCall], None]:
    def check(call: StaticCall) -> None:
        scale = call.tile(SCALE_AT)
        if scale is None:
            raise TileExpected(operation=call.operation, argument="fp_tile", kind=kind_of(operand(call, SCALE_AT)))
        operands = (*call.operands[:SCALE_AT], *call.operands[SCALE_AT + 1 :])
        types = {**call.attribute_types, "scale": scale}
        assert row.check is not None
        row.check(replace(call, operation=row.name, operands=operands, attribute_types=types))

    return check


def _on(function: Callable[[Any], Any], name: str) -> Callable[[Any], Any]:
    return lambda call: function(Adapted(call, name))


def register_scaled(row: TileOperation, name: str, example: str) -> None:
    """A row like ``row`` with the scale tile as its third positional operand."""
    plain = [parameter for parameter in row.positional if parameter.name != "offset"]
    parameters = (*plain[:SCALE_AT], positional("fp_tile", "tile"), *plain[SCALE_AT:])
    modes = tuple(parameter for parameter in row.keywords.values() if parameter.name == "acc_to_vec_mode")
    assert row.touches is not None
    assert row.work is not None
    register(
        TileOperation(
            name,
            f"``{row.name}`` with one encoded scale per column.",
            (*parameters, *modes),
            (*row.roles[:SCALE_AT], "R", *("-" for _ in plain[SCALE_AT:])),
            PipeType.FIX,
            _on(row.run, row.name),
            check=_check(row),
            touches=_on(row.touches, row.name),
            work=_on(row.work, row.name),
            hidden=True,
            example=example,
        )
    )
