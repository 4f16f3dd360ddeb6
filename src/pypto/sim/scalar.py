"""A core program as a Python generator: the scalar unit.

It computes numbers and handles in Python variables (``n_<name>``), issues instructions to pipes and stands still (``yield``) where the
machine would. ``source_of`` shows the text; ``compiled`` keeps one per program.

>>> from pypto.cores.program import Assign, Constant, CoreProgram
>>> from pypto.cores.enums import CoreType
>>> print(source_of(CoreProgram(CoreType.VECTOR, (Assign("i", Constant(3)),))).splitlines()[-1].strip())
n_i = 3
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pypto.cores import program as p
from pypto.cores.enums import PipeType
from pypto.diagnostics import Span
from pypto.dtypes import DataType
from pypto.errors.base import InternalError
from pypto.ops.tile.table import TileOperation, find
from pypto.sim.calls import Site
from pypto.sim.expressions import code, is_expression, text
from pypto.sim.steps import STEPS, operate, operate_in_phase, operate_on_scalar_unit
from pypto.sim.values import (
    converted,
    element,
    is_null,
    quotient,
    ratio,
    remainder,
    set_element,
    single,
    steps,
    wrapped,
)

HELPERS: dict[str, Any] = {
    one.__name__: one for one in (element, set_element, quotient, remainder, ratio, single, wrapped, converted, is_null, steps)
}
BREAKPOINT = TileOperation("breakpoint", "Python's own: stops the simulator.", (), (), PipeType.S, lambda call: None)
FILE = "<scalar unit>"  # of the generator, in tracebacks
HELPERS["element_types"] = DataType.__members__


@dataclass(frozen=True)
class Compiled:
    """``start(unit, arguments)`` makes the generator; ``sites`` are its instructions, ``places`` where its lines come from."""

    program: p.CoreProgram
    start: Callable[..., Iterator[None]]
    sites: tuple[Site, ...]
    source: str
    places: dict[int, Span]

    def place_of(self, error: BaseException) -> Span | None:
        """Where in the user's text the scalar unit was when it raised."""
        step, line = error.__traceback__, 0
        while step is not None:
            if step.tb_frame.f_code.co_filename == FILE:
                line = step.tb_lineno
            step = step.tb_next
        return self.places.get(line)


class _Writer:
    """Text of one generator, with the objects that it refers to by name."""

    def __init__(self, program: p.CoreProgram) -> None:
        self.program = program
        self.lines: list[str] = []
        self.places: list[Span | None] = []
        self.place: Span | None = None
        self.indent = 1
        self.loops: list[tuple[str, str]] = []  # name for people, code of the iteration
        self.sites: list[Site] = []
        self.names: dict[str, Any] = dict(HELPERS)
        self.pipes: set[str] = set()

    def write(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)
        self.places.append(self.place)

    def refer(self, kind: str, value: Any) -> str:
        """A name for an object that has no text."""
        name = f"{kind}{len(self.names)}"
        self.names[name] = value
        return name

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.write(head)
        self.indent += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.write("pass")
        self.indent -= 1

    @contextmanager
    def loop(self, head: str, name: str, iteration: str) -> Iterator[None]:
        self.loops.append((name, iteration))
        with self.block(head):
            yield
        self.loops.pop()

    def body(self, statements: tuple[p.Statement, ...]) -> None:
        for statement in statements:
            self.place = getattr(statement, "place", None) or self.place
            _STATEMENTS[type(statement)](self, statement)

    def iteration(self) -> str:
        return _tuple([turn for _, turn in self.loops])


def _tuple(parts: list[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _value(value: Any, writer: _Writer) -> str:
    """Code of an operand or attribute: an expression, a tuple of them, or a plain object."""
    if is_expression(value):
        return code(value)
    if isinstance(value, tuple) and any(is_expression(one) for one in value):
        return _tuple([_value(one, writer) for one in value])
    if value is None or isinstance(value, (bool, int)):
        return repr(value)
    if isinstance(value, list):
        value = tuple(value)
    return writer.refer("k", value)


# -- statements ---------------------------------------------------------------------------------------------------------------


def _assign(writer: _Writer, statement: p.Assign) -> None:
    writer.write(f"n_{statement.name} = {code(statement.value)}")


def _declare_tile(writer: _Writer, statement: p.DeclareTile) -> None:
    writer.write(f"n_{statement.name} = unit.declare_tile({writer.refer('d', statement)})")


def _declare_group(writer: _Writer, statement: p.DeclareGroup) -> None:
    writer.write(f"n_{statement.name} = unit.declare_group({writer.refer('d', statement)})")


def _declare_struct(writer: _Writer, statement: p.DeclareStruct) -> None:
    fields = ", ".join(f"{name!r}: {_value(value, writer)}" for name, value in statement.fields)
    writer.write(f"n_{statement.name} = unit.declare_struct({writer.refer('d', statement)}, lambda: {{{fields}}})")


def _declare_tensor(writer: _Writer, statement: p.DeclareTensor) -> None:
    shape = "None" if statement.shape is None else _tuple([code(one) for one in statement.shape])
    strides = "None" if statement.strides is None else _tuple([code(one) for one in statement.strides])
    arguments = f"{code(statement.base)}, {shape}, {strides}, {code(statement.offset)}"
    writer.write(f"n_{statement.name} = unit.declare_tensor({writer.refer('d', statement)}, {arguments})")


def _set_field(writer: _Writer, statement: p.SetField) -> None:
    target, value = f"{code(statement.struct)}.{statement.name}", _value(statement.value, writer)
    if statement.index is not None:
        writer.write(f"set_element({target}, {code(statement.index)}, {value}, {statement.name!r})")
    elif isinstance(statement.value, tuple):
        writer.write(f"{target}[:] = {value}")
    else:
        writer.write(f"{target} = {value}")


def _instruction(writer: _Writer, statement: p.Instruction) -> None:
    site = _site(writer, statement)
    operands = _tuple([_value(one, writer) for one in statement.operands])
    arguments = f"{site}, {operands}, {_attributes(writer, statement.attributes)}, {writer.iteration()}"
    special = _SPECIAL.get(statement.operation)
    if special is not None:
        special(writer, statement, arguments)
    elif statement.operation in ("mutex_lock", "mutex_unlock"):
        _with_tickets(writer, statement, arguments)
    elif statement.pipe is PipeType.S:
        _on_scalar_unit(writer, f"scalar.call({arguments})", statement.result)
    else:
        _issue(writer, statement.pipe, arguments)


def _site(writer: _Writer, statement: p.Instruction) -> str:
    row = BREAKPOINT if statement.operation == BREAKPOINT.name else find(statement.operation)
    if row is None:
        raise InternalError(f"no tile operation is called {statement.operation}", step="simulator")
    step = STEPS.get(statement.operation)
    if step is None:
        plain = operate_on_scalar_unit if statement.pipe is PipeType.S else operate
        step = operate_in_phase if statement.attributes.get("phase") is not None else plain
    texts = [text(one) for one in statement.operands]
    site = Site(len(writer.sites), statement, row, step, [name for name, _ in writer.loops], texts)
    writer.sites.append(site)
    return writer.refer("s", site)


def _attributes(writer: _Writer, attributes: Mapping[str, Any]) -> str:
    if not any(_moves(value) for value in attributes.values()):
        return writer.refer("a", {name: _plain(value) for name, value in attributes.items()})
    writer.sites[-1].varying = True
    return "{" + ", ".join(f"{name!r}: {_value(value, writer)}" for name, value in attributes.items()) + "}"


def _moves(value: Any) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    return any(is_expression(one) and not isinstance(one, p.Constant) for one in parts)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_plain(one) for one in value)
    return value.value if isinstance(value, p.Constant) else value


def _issue(writer: _Writer, pipe: PipeType, arguments: str) -> None:
    writer.pipes.add(pipe.name)
    writer.write(f"if issue_{pipe.name}({arguments}): yield")


def _with_tickets(writer: _Writer, statement: p.Instruction, arguments: str) -> None:
    """Locks are counted in the order of the text, so their tokens are found when they are issued."""
    pipe = statement.attributes["pipe"] if isinstance(statement.attributes.get("pipe"), PipeType) else statement.pipe
    maker = "tickets" if statement.operation == "mutex_lock" else "tokens"
    arguments = f"*unit.{maker}({arguments})"
    if pipe is PipeType.S:
        _on_scalar_unit(writer, f"scalar.call({arguments})", None)
    else:
        _issue(writer, pipe, arguments)


def _on_scalar_unit(writer: _Writer, call: str, result: str | None) -> None:
    writer.write(f"call = {call}")
    writer.write("while scalar.pending(call): yield")
    if result is not None:
        writer.write(f"n_{result} = call.value")


def _drain(writer: _Writer, statement: p.Instruction, arguments: str) -> None:
    writer.write(f"call = scalar.call({arguments})")
    writer.write("while unit.draining(call): yield")


def _drain_and_run(writer: _Writer, statement: p.Instruction, arguments: str) -> None:
    _drain(writer, statement, arguments)
    writer.write("while scalar.pending(call): yield")


def _meet(writer: _Writer, statement: p.Instruction, arguments: str) -> None:
    _drain(writer, statement, arguments)
    writer.write("unit.arrive(call)")
    writer.write("while unit.meeting(call): yield")


def _trap(writer: _Writer, statement: p.Instruction, arguments: str) -> None:
    writer.write(f"unit.trap(scalar.call({arguments}))")
    writer.write("return")


def _breakpoint(writer: _Writer, statement: p.Instruction, arguments: str) -> None:
    writer.write(f"unit.breakpoint(scalar.call({arguments}), locals())")


def _directly(method: str) -> Callable[[_Writer, p.Instruction, str], None]:
    def written(writer: _Writer, statement: p.Instruction, arguments: str) -> None:
        writer.write(f"unit.{method}(scalar.call({arguments}))")

    return written


_SPECIAL: dict[str, Callable[[_Writer, p.Instruction, str], None]] = {
    "bar_all": _drain,
    "dump_data": _drain_and_run,
    "sync_all": _meet,
    "trap": _trap,
    "breakpoint": _breakpoint,
    "set_validshape": _directly("set_valid"),
    "set_stride": _directly("set_stride"),
    "ssbuf_store": _directly("store_words"),
    "ssbuf_load": _directly("load_words"),
    "pto_assert": _directly("check_assertion"),
}


def _loop(writer: _Writer, statement: p.Loop) -> None:
    bounds = ", ".join(code(one) for one in (statement.start, statement.stop, statement.step))
    variable = f"n_{statement.variable}"
    with writer.loop(f"for {variable} in steps({bounds}):", statement.variable, variable):
        writer.body(statement.body)


def _repeat(writer: _Writer, statement: p.Repeat) -> None:
    turn = f"turn{len(writer.lines)}"
    writer.write(f"{turn} = -1")
    with writer.loop("while True:", "turn", turn):
        writer.write(f"{turn} += 1")
        writer.write(f"if {turn}:")
        writer.write("    unit.turn()")
        writer.write("    yield")
        writer.body(statement.body)


def _if(writer: _Writer, statement: p.If) -> None:
    with writer.block(f"if {code(statement.condition)}:"):
        writer.body(statement.then)
    if statement.otherwise:
        with writer.block("else:"):
            writer.body(statement.otherwise)


_STATEMENTS: dict[type, Callable[[_Writer, Any], None]] = {
    p.Assign: _assign,
    p.DeclareTile: _declare_tile,
    p.DeclareGroup: _declare_group,
    p.DeclareStruct: _declare_struct,
    p.DeclareTensor: _declare_tensor,
    p.SetField: _set_field,
    p.Instruction: _instruction,
    p.Loop: _loop,
    p.Repeat: _repeat,
    p.If: _if,
    p.Break: lambda writer, statement: writer.write("break"),
    p.Continue: lambda writer, statement: writer.write("continue"),
    p.Return: lambda writer, statement: writer.write("return"),
}


# -- the whole ----------------------------------------------------------------------------------------------------------------


def _generate(program: p.CoreProgram) -> tuple[_Writer, str, dict[int, Span]]:
    writer = _Writer(program)
    writer.body(program.body)
    head = ["def scalar_unit(unit, arguments):", "    scalar = unit.scalar"]
    head += [f"    issue_{pipe} = unit.pipe({pipe!r}).issue" for pipe in sorted(writer.pipes)]
    head += ["    for name in (): yield name"]  # a generator, also without instructions
    head += [f"    if {name!r} in arguments: n_{name} = arguments[{name!r}]" for name in sorted(set(p.names_read(program.body)))]
    places = {number: place for number, place in enumerate(writer.places, start=len(head) + 1) if place is not None}
    return writer, "\n".join([*head, *writer.lines]) + "\n", places


def source_of(program: p.CoreProgram) -> str:
    """The generator's text."""
    return _generate(program)[1]


_CACHE: dict[int, Compiled] = {}
_CACHE_LIMIT = 256


def compiled(program: p.CoreProgram) -> Compiled:
    """The generator of a program, made once."""
    found = _CACHE.get(id(program))
    if found is not None and found.program is program:
        return found
    writer, source, places = _generate(program)
    scope: dict[str, Any] = dict(writer.names)
    exec(compile(source, FILE, "exec"), scope)
    found = Compiled(program, scope["scalar_unit"], tuple(writer.sites), source, places)
    if len(_CACHE) >= _CACHE_LIMIT:
        _CACHE.pop(next(iter(_CACHE)))
    _CACHE[id(program)] = found
    return found
