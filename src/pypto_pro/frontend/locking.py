"""Automatic locking: ``lock`` puts buffer tokens around every operation on tiles that carry them (tile API section 4.3).

    pl.add(out.next(), x, y)             _pl_lock_0 = out.next()
                                         mutex_lock(_pl_lock_0, x, y, pipe=V)
                                         add(_pl_lock_0, x, y)
                                         mutex_unlock(_pl_lock_0, x, y, pipe=V)

A token makes operations of different pipes on one buffer follow the order of the program. One pipe is in order with itself, so
tokens that only one pipe of a core would take are left out. Tiles that may share a token are taken together, so that no token is
taken twice; which tokens a tile has is looked up where it runs, so that a tile chosen there locks what was really chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pypto.chips import chip
from pypto.cores.enums import AccPhase, MemorySpace, PipeType, STPhase
from pypto.cores.program import (
    Assign,
    Constant,
    CoreProgram,
    DeclareGroup,
    DeclareTile,
    Expression,
    If,
    Instruction,
    Item,
    Loop,
    Name,
    Operation,
    Repeat,
    Slot,
    Statement,
    TileProgram,
    Window,
    walk,
)
from pypto.cores.types import Group, Tile, Type
from pypto.errors.tiles import MutexNotOnChip
from pypto.ops.tile.table import find

PREFIX = "_pl_lock_"
PHASED = frozenset(("matmul", "matmul_acc", "matmul_mx", "matmul_mx_acc", "store", "store_tile"))
UNIT_FLAGS = (AccPhase.Partial, AccPhase.Final, STPhase.Partial, STPhase.Final)

Ids = tuple[int, ...]


def lock(program: TileProgram) -> TileProgram:
    """The program with its tokens taken and given back. Raises ``MutexNotOnChip`` where the chip has none."""
    tokens = bool(chip(program.chip).identifiers["mutex"])
    cube, vector = (
        None if core is None else _Locker(core, program.chip, tokens).locked() for core in (program.cube, program.vector)
    )
    return replace(program, cube=cube, vector=vector)


# -- what tokens an expression may carry --------------------------------------------------------------------------------------


class Tokens:
    """Possible tokens of every name of a core program: sets of id tuples, one for each tile that a name may be."""

    def __init__(self, body: tuple[Statement, ...]) -> None:
        self.names: dict[str, frozenset[Ids]] = {}
        self.slots: dict[str, tuple[Ids, ...]] = {}
        assigned = [statement for statement in walk(body) if isinstance(statement, Assign)]
        for statement in walk(body):
            if isinstance(statement, DeclareTile):
                self.names[statement.name] = frozenset((statement.ids,))
            elif isinstance(statement, DeclareGroup):
                self.slots[statement.name] = statement.ids or ((),) * len(statement.addresses)
                self.names[statement.name] = frozenset(self.slots[statement.name])
        while any(self._learn(statement) for statement in assigned):
            pass

    def _learn(self, statement: Assign) -> bool:
        before = self.names.get(statement.name, frozenset())
        after = before | self.of(statement.value)
        self.names[statement.name] = after
        return after != before

    def of(self, expression: Any) -> frozenset[Ids]:
        """Id tuples that the tile of an expression may have; empty for what is no tile."""
        if isinstance(expression, Name):
            return self.names.get(expression.name, frozenset())
        if isinstance(expression, Slot):
            return self._of_slot(expression)
        return frozenset().union(*map(self.of, _parts(expression)))

    def _of_slot(self, slot: Slot) -> frozenset[Ids]:
        if slot.how == "at" and isinstance(slot.group, Name) and isinstance(slot.index, Constant):
            tiles = self.slots.get(slot.group.name)
            if tiles is not None and 0 <= slot.index.value < len(tiles):
                return frozenset((tiles[int(slot.index.value)],))
        return self.of(slot.group)


# -- the pass -----------------------------------------------------------------------------------------------------------------


@dataclass
class Locked:
    """Operands of one instruction that may share a token."""

    tiles: list[Expression] = field(default_factory=list)
    possible: set[Ids] = field(default_factory=set)
    known: bool = True  # each of the tiles has one id tuple only

    @property
    def ids(self) -> frozenset[int]:
        return frozenset(number for ids in self.possible for number in ids)

    def add(self, tile: Expression, possible: frozenset[Ids]) -> None:
        self.tiles.append(tile)
        self.possible |= possible
        self.known = self.known and len(possible) == 1

    def join(self, other: Locked) -> None:
        self.tiles += other.tiles
        self.possible |= other.possible
        self.known = self.known and other.known


class _Locker:
    """One core program."""

    def __init__(self, core: CoreProgram, chip_name: str, tokens: bool) -> None:
        self.core, self.chip_name, self.available = core, chip_name, tokens
        self.tokens = Tokens(core.body)
        self.types: dict[str, Type] = dict(core.types)
        self.made = 0
        self.shared = self._shared()

    def _shared(self) -> frozenset[int]:
        """Tokens that more than one pipe of this core would take."""
        pipes: dict[int, set[PipeType]] = {}
        for statement in walk(self.core.body):
            if isinstance(statement, Instruction):
                for tile in self._tiles(statement):
                    for ids in self.tokens.of(tile):
                        for number in ids:
                            pipes.setdefault(number, set()).add(statement.pipe)
        return frozenset(number for number, found in pipes.items() if len(found) > 1)

    def locked(self) -> CoreProgram:
        body = self._body(self.core.body)
        return replace(self.core, body=body, types=self.types)

    def _body(self, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(one for statement in body for one in self._statement(statement))

    def _statement(self, statement: Statement) -> Iterator[Statement]:
        if isinstance(statement, (Loop, Repeat)):
            yield replace(statement, body=self._body(statement.body))
        elif isinstance(statement, If):
            yield replace(statement, then=self._body(statement.then), otherwise=self._body(statement.otherwise))
        elif isinstance(statement, Instruction):
            yield from self._instruction(statement)
        else:
            yield statement

    def _tiles(self, instruction: Instruction) -> list[Expression]:
        """Operands that automatic locking covers: positional tiles with tokens."""
        row = find(instruction.operation)
        if row is None or not row.locks:
            return []
        skipped = instruction.operation in PHASED and instruction.attributes.get("phase") in UNIT_FLAGS
        found: list[Expression] = []
        for operand in instruction.operands:
            if operand is None or isinstance(operand, tuple) or not any(self.tokens.of(operand)):
                continue
            kind = _type(operand, self.types) if skipped else None
            if not (isinstance(kind, Tile) and kind.space is MemorySpace.Acc):
                found.append(operand)
        return found

    def _instruction(self, instruction: Instruction) -> Iterator[Statement]:
        groups = [group for group in self._groups(self._tiles(instruction)) if group.ids & self.shared]
        if not groups:
            yield instruction
            return
        if not self.available:
            raise MutexNotOnChip(operation=instruction.operation, chip=self.chip_name, span=instruction.place)
        names: dict[int, Name] = {}
        for position, operand in enumerate(instruction.operands):
            if operand is not None and not isinstance(operand, (tuple, Name)) and self.tokens.of(operand):
                names[position] = self._bind(operand)
                yield Assign(names[position].name, operand, instruction.place)
        bound = replace(instruction, operands=tuple(names.get(at, operand) for at, operand in enumerate(instruction.operands)))
        groups = [group for group in self._groups(self._tiles(bound)) if group.ids & self.shared]
        for group in groups:
            yield self._token("mutex_lock", instruction, group)
        yield bound
        for group in groups:
            yield self._token("mutex_unlock", instruction, group)

    def _bind(self, expression: Expression) -> Name:
        name = f"{PREFIX}{self.made}"
        self.made += 1
        self.tokens.names[name] = self.tokens.of(expression)
        kind = _type(expression, self.types)
        if kind is not None:
            self.types[name] = kind
        return Name(name)

    def _groups(self, tiles: list[Expression]) -> list[Locked]:
        """Tiles that may share a token, together; every tile once."""
        found: list[Locked] = []
        seen: list[Expression] = []
        for tile in tiles:
            if tile in seen:
                continue
            seen.append(tile)
            new = Locked()
            new.add(tile, self.tokens.of(tile))
            for other in [group for group in found if group.ids & new.ids]:
                found.remove(other)
                other.join(new)
                new = other
            found.append(new)
        return found

    def _token(self, operation: str, instruction: Instruction, group: Locked) -> Instruction:
        attributes: dict[str, Any] = {"pipe": instruction.pipe}
        if group.known:
            attributes["mutex_ids"] = tuple(sorted(group.ids))
        return Instruction(operation, instruction.pipe, tuple(group.tiles), attributes, place=instruction.place)


def _parts(expression: Any) -> tuple[Any, ...]:
    """Expressions of which an expression takes its tile."""
    if isinstance(expression, Slot):
        return (expression.group,)
    if isinstance(expression, Window):
        return (expression.tile,)
    if isinstance(expression, Operation) and expression.operator == "choose":
        return expression.operands[1:]
    if isinstance(expression, Item) and isinstance(expression.of, tuple):
        return expression.of
    return ()


def _type(expression: Any, types: Mapping[str, Type]) -> Type | None:
    """The tile type of an expression, where names tell it; a window of constant bounds has a shape of its own."""
    if isinstance(expression, Name):
        kind = types.get(expression.name)
        return kind.tile if isinstance(kind, Group) else kind
    for part in _parts(expression):
        if (found := _type(part, types)) is not None:
            return _window_type(found, expression) if isinstance(expression, Window) else found
    return None


def _window_type(parent: Type, window: Window) -> Type:
    bounds = (window.row, window.row_end, window.column, window.column_end)
    if not isinstance(parent, Tile) or not all(isinstance(bound, Constant) for bound in bounds):
        return parent
    row, row_end, column, column_end = (int(bound.value) for bound in bounds)  # type: ignore[union-attr]
    return replace(parent, shape=(row_end - row, column_end - column), valid=None)
