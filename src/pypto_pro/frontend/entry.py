"""A kernel's function → ``TileProgram``: read once for the cube core and once for the vector cores.

A core without a section of its own in a kernel that has sections gets no program. A kernel without any section belongs to the core that
can run its operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pypto.cores.enums import CoreType
from pypto.cores.program import CoreProgram, Name, Parameter, TileProgram
from pypto.cores.types import INDEX, Pointer, Scalar, Struct, Tensor, Tile, Type
from pypto.errors.base import UserError
from pypto.errors.tiles import WrongCore
from pypto.frontend.python import Code
from pypto_pro.errors.programs import BothCores, MissingCore
from pypto_pro.frontend.helpers import read_body
from pypto_pro.frontend.reader import Reader
from pypto_pro.frontend.records import WiderField
from pypto_pro.frontend.signature import KernelParameter, Signature
from pypto_pro.frontend.state import Frame, Unit
from pypto_pro.frontend.tidy import tidy
from pypto_pro.frontend.values import Number, PointerHandle, Static, StructHandle, TensorHandle, TileHandle

CROSS_CORE = frozenset(("set_cross_core", "wait_cross_core"))


@dataclass(frozen=True)
class Source:
    """What a kernel is read from: its code, the names it sees, its parameters with the shapes they are compiled for."""

    code: Code
    globals: Mapping[str, Any]
    cells: Mapping[str, Any]
    signature: Signature
    shapes: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    chip: Any = None
    chip_name: str = "950"
    strict_ssa: bool = False
    values: bool = False  # whether the function may return values (``pl.function``)
    owner: Any = None  # ``self`` of a program class


@dataclass(frozen=True)
class Reading:
    """One core's program, or why there is none; and what was met on the way."""

    program: CoreProgram | None
    sections: frozenset[CoreType]
    operations: frozenset[str]
    error: UserError | None = None

    @property
    def cause(self) -> BaseException | None:
        """The check that a wrapped error came from."""
        return self.error.__cause__ if self.error is not None else None


def parse_kernel(source: Source) -> TileProgram:
    """The program of a kernel; raises the parser classes with the place in the user's text."""
    attempts = {core: _attempt(source, core) for core in (CoreType.VECTOR, CoreType.CUBE)}
    sections = frozenset().union(*(attempt.sections for attempt in attempts.values()))
    wanted = sections or {_core_of_operations(source, attempts)}
    for core in attempts:
        if core in wanted and attempts[core].error is not None:
            raise attempts[core].error  # type: ignore[misc]
    programs = {core: attempts[core].program if core in wanted else None for core in attempts}
    _check_cross_core(source, programs, frozenset().union(*(a.operations for a in attempts.values())))
    parameters = tuple(Parameter(one.name, parameter_type(one, source.shapes)) for one in source.signature.parameters)
    return TileProgram(
        source.code.name,
        parameters,
        programs[CoreType.CUBE],
        programs[CoreType.VECTOR],
        source.chip_name,
        source.code.span(source.code.node),
    )


def _check_cross_core(source: Source, programs: Mapping[CoreType, Any], operations: frozenset[str]) -> None:
    if not operations & CROSS_CORE:
        return
    for core, name in ((CoreType.VECTOR, "vector"), (CoreType.CUBE, "cube")):
        if programs[core] is None:
            raise MissingCore(kernel=source.code.name, core=name, span=source.code.span(source.code.node))


def _core_of_operations(source: Source, attempts: Mapping[CoreType, Reading]) -> CoreType:
    """A kernel without sections belongs to the core that can run all of it; one that moves no tile to the vector core."""
    able = [core for core, attempt in attempts.items() if not isinstance(attempt.cause, WrongCore)]
    if not able:
        raise BothCores(kernel=source.code.name, span=source.code.span(source.code.node))
    return able[0]


def _attempt(source: Source, core: CoreType) -> Reading:
    """Reads the kernel for one core; again where a field of the pipeline's context needs a wider type."""
    widened: dict[tuple[str, str], Any] = {}
    while True:
        unit = Unit(core, source.chip, field_types=dict(widened), strict_ssa=source.strict_ssa, kernel=source.code.name)
        try:
            program = read_core(source, unit)
        except WiderField as wider:
            widened[wider.key] = wider.dtype
        except UserError as error:
            return Reading(None, frozenset(unit.sections), frozenset(unit.operations), error)
        else:
            return Reading(program, frozenset(unit.sections), frozenset(unit.operations))


def read_core(source: Source, unit: Unit) -> CoreProgram:
    """What one core runs."""
    frame = Frame(source.code, dict(source.globals), {**source.cells, **source.constants}, helper=source.values)
    reader = Reader(unit, frame)
    if source.owner is not None:
        frame.env["self"] = Static(source.owner)
    for parameter in source.signature.parameters:
        _declare(reader, parameter, source)
    if source.values:
        read_body(reader, frame)
    else:
        reader.statements(source.code.node.body)  # type: ignore[arg-type]
    statements, types = tidy(tuple(reader.block), unit.types)
    return CoreProgram(unit.target, statements, types)


def _declare(reader: Reader, parameter: KernelParameter, source: Source) -> None:
    value = parameter_value(parameter, source.shapes)
    reader.home(parameter.name, value)
    reader.frame.env[parameter.name] = value
    reader.frame.stored.add(parameter.name)


def parameter_value(parameter: KernelParameter, shapes: Mapping[str, tuple]) -> Any:
    """A parameter as the body sees it."""
    type = parameter_type(parameter, shapes)
    name = Name(parameter.name)
    if isinstance(type, Tensor):
        return TensorHandle(name, type)
    if isinstance(type, Tile):
        return TileHandle(name, type)
    if isinstance(type, Pointer):
        return PointerHandle(name, type, parameter.name)
    if isinstance(type, Struct):
        return StructHandle(name, type)
    return Number(name, type.dtype if isinstance(type, Scalar) else INDEX)


def parameter_type(parameter: KernelParameter, shapes: Mapping[str, tuple]) -> Type:
    """Its type in the core program, with the extents it is compiled for."""
    if parameter.kind == "tiling" and parameter.fields is not None:
        return parameter.fields
    if parameter.dtype is None:
        raise TypeError(parameter)
    if parameter.kind == "tile":
        return Tile(parameter.shape, parameter.dtype)
    if parameter.kind == "tensor":
        return Tensor(tuple(shapes[parameter.name]), parameter.dtype, parameter.layout)
    return Pointer(parameter.dtype) if parameter.kind == "pointer" else Scalar(parameter.dtype)
