"""Runs a program statement by statement with numpy. What this engine gives is what the program means.

``run(program, arrays, scalars)``: ``arrays`` maps tensor parameters to arrays that are read and written in place, ``scalars``
maps run-time scalars to numbers. Loops visit exactly ``range(start, stop, step)``, whatever is marked parallel; every offset and
index is checked; the first error in program order is raised with the statement's place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import at
from pypto.elements import element_array
from pypto.errors.base import InternalError, UserError
from pypto.errors.runtime import (
    AccumulatorOverflow,
    CarriedExtentChanges,
    DivisionByZeroInRun,
    LoopStepZeroInRun,
    NegativeExtent,
    ScalarNotFiniteInRun,
    ScalarTooLargeInRun,
    ValidShapeOutOfBounds,
)
from pypto.ir.program import (
    PASS_FACTS,
    Block,
    If,
    Literal,
    Loop,
    Op,
    Operand,
    Program,
    Result,
    Statement,
    Storage,
    TensorType,
    Value,
)
from pypto.ir.symbols import FUNCTIONS, Expression, Number, Scalar, Symbol, evaluate
from pypto.ops.numerics import exact
from pypto.ops.table import OPERATIONS, Kind, Operation
from pypto.reference.memory import Held, Memory
from pypto.reference.printing import line


def run(
    program: Program,
    arrays: Mapping[Storage, np.ndarray],
    scalars: Mapping[Symbol, Number] | None = None,
    *,
    poison: bool = True,
    checked: bool = False,
    output: Callable[[str], None] = print,
) -> None:
    """Run ``program`` on ``arrays`` in place.

    ``poison`` fills undefined data with NaN or a pattern (else zeros); ``checked`` also reports int32 accumulators that wrap;
    ``output`` takes the lines that ``pypto.print`` prints. Raises catalogue errors for what only a run can find.
    """
    machine = Machine(program, arrays, scalars or {}, poison=poison, checked=checked, output=output)
    with np.errstate(all="ignore"):
        machine.block(program.body)


def word(number: Number) -> Number:
    """An integer of a program, which has 64 bits."""
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        raise ScalarTooLargeInRun()
    return number


def _in_a_word(function: Callable[..., Number]) -> Callable[..., Number]:
    return lambda *arguments: word(function(*arguments))


_GROWING = ("add", "sub", "mul", "neg", "floordiv", "int")
MACHINE_FUNCTIONS = {**FUNCTIONS, **{name: _in_a_word(FUNCTIONS[name]) for name in _GROWING}}


class Machine:
    """The state of one run: what every symbol, value and storage stands for."""

    def __init__(
        self,
        program: Program,
        arrays: Mapping[Storage, np.ndarray],
        scalars: Mapping[Symbol, Number],
        *,
        poison: bool,
        checked: bool,
        output: Callable[[str], None],
    ) -> None:
        self.poison, self.checked, self.output = poison, checked, output
        self.symbols: dict[Symbol, Number] = dict(scalars)
        self.values: dict[Value, Held] = {}
        self.storages = {storage: Memory.parameter(storage.name, array) for storage, array in arrays.items()}
        for symbol, (storage, axis) in program.dimensions.items():
            self.symbols[symbol] = int(arrays[storage].shape[axis])
        for storage, array in arrays.items():
            if self.extents(storage.type.shape) != array.shape or array.dtype != storage.type.dtype.numpy:
                raise InternalError(f"{storage.name} is {array.dtype}{array.shape}, expected {storage.type}", step="reference")

    # -- scalars ---------------------------------------------------------------------------------------------------------------

    def number(self, scalar: Scalar) -> Number:
        try:
            return evaluate(scalar, self.symbols, MACHINE_FUNCTIONS)
        except UserError:
            raise
        except ZeroDivisionError:
            raise DivisionByZeroInRun() from None
        except (OverflowError, ValueError):
            raise ScalarNotFiniteInRun() from None
        except KeyError as missing:
            raise InternalError(f"symbol {missing} is used before it is defined", step="reference") from None

    def extents(self, sizes: Sequence[Scalar]) -> tuple[int, ...]:
        """Sizes of a shape, none negative."""
        found = tuple(int(self.number(size)) for size in sizes)
        for axis, extent in enumerate(found):
            if extent < 0:
                raise NegativeExtent(extent=extent, axis=axis)
        return found

    def evaluated(self, thing: Any) -> Any:
        """An attribute with every expression replaced by its number."""
        if isinstance(thing, Expression):
            return self.number(thing)
        if isinstance(thing, (tuple, list)):
            return type(thing)(self.evaluated(item) for item in thing)
        return thing

    def scalar_of(self, operand: Operand) -> Number:
        return self.number(operand.value if isinstance(operand, Literal) else operand)  # type: ignore[arg-type]

    # -- blocks ----------------------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> list[Held | Number]:
        for statement in block.statements:
            with at(statement.span):
                self.statement(statement)
        return [self.operand(y) for y in block.yields]

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Loop):
            self.loop(statement)
        elif isinstance(statement, If):
            taken = statement.then if self.number(statement.condition) else statement.orelse
            self.bind(statement.results, self.block(taken))
        elif statement.name in EFFECTS:
            EFFECTS[statement.name](self, statement)
        else:
            self.row(OPERATIONS[statement.name], statement)

    def loop(self, loop: Loop) -> None:
        start, stop, step = (int(self.number(bound)) for bound in (loop.start, loop.stop, loop.step))
        if step == 0:
            raise LoopStepZeroInRun()
        carried = [self.operand(c.initial) for c in loop.carried]
        for index in range(start, stop, step):
            self.symbols[loop.index] = index
            self.bind([c.argument for c in loop.carried], carried)
            carried = self.block(loop.body)
        self.bind([c.result for c in loop.carried], carried)

    def bind(self, names: Sequence[Result], things: Sequence[Held | Number]) -> None:
        """Let symbols and values stand for ``things``; a value must have the extents that its type says."""
        for name, thing in zip(names, things, strict=True):
            if isinstance(name, Symbol):
                self.symbols[name] = thing  # type: ignore[assignment]
        for name, thing in zip(names, things, strict=True):
            if isinstance(name, Value):
                assert isinstance(thing, Held)
                self.check_extents(name.type, thing)
                self.values[name] = thing

    def check_extents(self, type: TensorType, held: Held) -> None:
        shape, valid = self.extents(type.shape), self.extents(type.valid)
        if shape != held.array.shape or valid != held.valid:
            raise CarriedExtentChanges(first=list(valid), second=list(held.valid))

    def operand(self, operand: Operand) -> Any:
        """A held value, or a number."""
        return self.values[operand] if isinstance(operand, Value) else self.scalar_of(operand)

    # -- rows of the op table ----------------------------------------------------------------------------------------------------

    def row(self, row: Operation, op: Op) -> None:
        attributes = {key: self.evaluated(value) for key, value in op.attributes.items() if key not in PASS_FACTS}
        results = [r for r in op.results if isinstance(r, Value)]
        shapes = [self.extents(r.type.shape) for r in results]
        extents = [self.extents(r.type.valid) for r in results]
        arrays = [self.array(o, row) for o in op.operands]
        if row.kind is Kind.ELEMENTWISE:
            arrays = [cropped(a, o, extents[0]) for a, o in zip(arrays, op.operands, strict=True)]
        elif row.kind is Kind.MATMUL:
            arrays = matmul_parts(arrays, op.operands, extents[0])
            self.check_accumulator(arrays, attributes)
        if row.sized:
            attributes["extent"] = extents[0]
        found = row.compute(*arrays, **attributes)  # type: ignore[misc]
        regions = found if isinstance(found, (tuple, list)) else [found]
        for result, region, shape, extent in zip(results, regions, shapes, extents, strict=True):
            self.values[result] = self.result(op.name, result.type, np.asarray(region), shape, extent)

    def result(self, name: str, type: TensorType, region: np.ndarray, shape: tuple[int, ...], extent: tuple[int, ...]) -> Held:
        if region.shape != extent or region.dtype != type.dtype.numpy:
            expected = f"{type.dtype.numpy}{extent}"
            raise InternalError(f"{name} computed {region.dtype}{region.shape}, its rule says {expected}", step="reference")
        return Held.of(region, shape, self.poison)

    def array(self, operand: Operand, row: Operation) -> np.ndarray:
        if isinstance(operand, Literal):
            return element_array(self.number(operand.value), operand.dtype)
        if isinstance(operand, Value):
            held = self.values[operand]
            return held.array if row.whole else held.region
        if isinstance(operand, Storage):
            return self.storages[operand].array
        return np.asarray(self.scalar_of(operand))

    def check_accumulator(self, arrays: Sequence[np.ndarray], attributes: Mapping[str, Any]) -> None:
        """Checked mode: int32 sums must not wrap."""
        if not self.checked or arrays[0].dtype != np.int8:
            return
        a, b = (
            np.swapaxes(x, -1, -2) if attributes.get(flag) else x for x, flag in zip(arrays, ("a_trans", "b_trans"), strict=False)
        )
        sums = np.matmul(a.astype(np.int64), b.astype(np.int64))
        if sums.size and (sums.max() >= 2**31 or sums.min() < -(2**31)):
            raise AccumulatorOverflow(magnitude=int(np.abs(sums).max()))


def cropped(array: np.ndarray, operand: Operand, extent: tuple[int, ...]) -> np.ndarray:
    """The part of a valid region that takes part in an elementwise op: broadcast axes whole, others up to the result's extent."""
    if not isinstance(operand, Value) or array.ndim == 0:
        return array
    place = []
    for size, held, limit in zip(operand.type.shape, array.shape, extent[len(extent) - array.ndim :], strict=True):
        broadcast = not isinstance(size, Expression) and size == 1
        place.append(slice(0, held if broadcast and limit else limit))
    return array[tuple(place)]


def matmul_parts(arrays: list[np.ndarray], operands: Sequence[Operand], extent: tuple[int, ...]) -> list[np.ndarray]:
    """Batch axes of the matrices, and columns of bias and scales, cut to the result's extent."""
    batch = extent[:-2]
    parts = [cropped(a, o, (*batch, *a.shape[-2:])) for a, o in zip(arrays[:2], operands[:2], strict=True)]
    for extra in arrays[2:]:
        parts.append(extra[..., : extent[-1]])
    return parts


# -- effects ------------------------------------------------------------------------------------------------------------------


def _allocate(machine: Machine, op: Op) -> None:
    storage: Storage = op.result
    shape = machine.extents(storage.type.shape)
    machine.storages[storage] = Memory.local(storage.name, shape, storage.type.dtype.numpy, machine.poison)


def _alias(machine: Machine, op: Op) -> None:
    storage: Storage = op.result
    base = machine.storages[op.operands[0]]  # type: ignore[index]
    machine.storages[storage] = base.reshaped(storage.name, machine.extents(storage.type.shape))


def _load(machine: Machine, op: Op) -> None:
    value: Value = op.result
    memory = machine.storages[op.operands[0]]  # type: ignore[index]
    shape, valid = machine.extents(value.type.shape), machine.extents(value.type.valid)
    for axis, (extent, size) in enumerate(zip(valid, shape, strict=True)):
        if extent > size:
            raise ValidShapeOutOfBounds(operation="view", extent=extent, axis=axis, size=size)
    region = memory.load(machine.evaluated(tuple(op.attributes["offsets"])), valid)
    machine.values[value] = Held.of(region, shape, machine.poison)


def _store(machine: Machine, op: Op) -> None:
    memory = machine.storages[op.operands[0]]  # type: ignore[index]
    offsets = machine.evaluated(tuple(op.attributes["offsets"]))
    memory.store(offsets, _region(machine, op.operands[1], memory, offsets))


def _region(machine: Machine, source: Operand, memory: Memory, offsets: Sequence[int]) -> np.ndarray:
    """The valid part of a value; a literal fills everything from the offsets on."""
    if isinstance(source, Value):
        return machine.values[source].region
    assert isinstance(source, Literal)
    rest = [size - offset for size, offset in zip(memory.array.shape, offsets, strict=True)]
    return np.full(rest, element_array(machine.number(source.value), source.dtype))


def _accumulate(machine: Machine, op: Op) -> None:
    memory = machine.storages[op.operands[0]]  # type: ignore[index]
    offsets = machine.evaluated(tuple(op.attributes["offsets"]))
    region = _region(machine, op.operands[1], memory, offsets)
    memory.store(offsets, exact(np.add)(memory.load(offsets, region.shape), region))


def _read(machine: Machine, op: Op) -> None:
    source = op.operands[0]
    held = machine.values[source] if isinstance(source, Value) else machine.storages[source]  # type: ignore[index]
    element = held.element([int(i) for i in machine.evaluated(tuple(op.attributes["indices"]))])
    symbol: Symbol = op.result
    convert = {"int": int, "float": float, "bool": bool}[symbol.kind]
    machine.symbols[symbol] = word(convert(element))


def _write(machine: Machine, op: Op) -> None:
    storage, scalar = op.operands
    assert isinstance(storage, Storage)
    indices = [int(i) for i in machine.evaluated(tuple(op.attributes["indices"]))]
    machine.storages[storage].set_element(indices, element_array(machine.scalar_of(scalar), storage.type.dtype))


def _print(machine: Machine, op: Op) -> None:
    things = [machine.storages[o].array if isinstance(o, Storage) else machine.operand(o) for o in op.operands]
    machine.output(line(op.attributes.get("text", ()), things))


def _check(machine: Machine, op: Op) -> None:
    if machine.scalar_of(op.operands[0]):
        return
    error = op.attributes["error"]
    if not isinstance(error, UserError):
        raise error() if isinstance(error, type) else error
    facts = {key: machine.evaluated(value) for key, value in error.facts.items()}
    raise type(error)(span=error.span or op.span, chain=error.chain, notes=error.notes, advice=error.advice, **facts)


EFFECTS: dict[str, Callable[[Machine, Op], None]] = {
    "allocate": _allocate,
    "alias": _alias,
    "load": _load,
    "store": _store,
    "accumulate": _accumulate,
    "read": _read,
    "write": _write,
    "print": _print,
    "check": _check,
}
