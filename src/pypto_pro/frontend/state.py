"""State of reading one kernel for one core: names of the core program, frames of inlined functions, statements collected so far."""

from __future__ import annotations

import keyword
from dataclasses import dataclass, field, replace
from typing import Any

from pypto.cores.enums import CoreType
from pypto.cores.program import Assign, Expression, Name, Statement
from pypto.cores.types import Scalar, Type
from pypto.diagnostics import Span
from pypto.frontend.python import Code
from pypto_pro.frontend.scalars import join
from pypto_pro.frontend.values import category, expression_of, renamed, type_of

RESERVED = frozenset(("self", "None", "True", "False"))


@dataclass
class Unit:
    """The core program under construction. ``types`` grows with every name."""

    target: CoreType
    chip: Any
    types: dict[str, Type] = field(default_factory=dict)
    homes: dict[tuple, str] = field(default_factory=dict)
    sections: set[CoreType] = field(default_factory=set)
    functions: list[Any] = field(default_factory=list)  # being inlined, outermost first
    field_types: dict[tuple[str, str], Any] = field(default_factory=dict)  # struct fields that hold more than their first value
    temporaries: int = 0
    operations: set[str] = field(default_factory=set)
    strict_ssa: bool = False
    kernel: str = ""
    branches: int = 0  # run-time branches around the statement, those of callers included
    skipped: dict[str, tuple[int, str]] = field(default_factory=dict)  # names bound in the other core's sections

    def fresh(self, name: str) -> str:
        """``name``, or ``name_1`` … where it is taken."""
        taken, number, made = self.types, 0, name
        while made in taken or keyword.iskeyword(made) or made in RESERVED:
            number += 1
            made = f"{name}_{number}"
        return made

    def declare(self, name: str, type: Type) -> None:
        """Records what ``name`` holds; a scalar may become wider."""
        known = self.types.get(name)
        if isinstance(known, Scalar) and isinstance(type, Scalar):
            type = Scalar(join(known.dtype, type.dtype))
        self.types[name] = type


@dataclass
class LoopContext:
    """The loop being read: what is bound where it is left or continued."""

    breaks: list[dict[str, Any]] = field(default_factory=list)
    continues: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Frame:
    """A function being read: the kernel itself, or a helper at one call."""

    code: Code
    globals: dict[str, Any]
    cells: dict[str, Any]
    key: tuple = ()
    caller: Span | None = None
    helper: bool = False
    env: dict[str, Any] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)
    bound_at: dict[str, Span | None] = field(default_factory=dict)  # first places, for strict_ssa
    loops: list[LoopContext] = field(default_factory=list)
    depth: int = 0  # of run-time branches and loops around the statement
    returned: list[Any] = field(default_factory=list)
    flag: str = ""  # variable that says that a return was met in a loop

    def span(self, node: Any) -> Span:
        """The place of ``node``, with the calls that led here."""
        found = self.code.span(node)
        return found if self.caller is None else replace(found, caller=self.caller)


class State:
    """What every part of the reader uses: the current frame, the current block, and naming."""

    def __init__(self, unit: Unit, frame: Frame) -> None:
        self.unit = unit
        self.frame = frame
        self.block: list[Statement] = []
        self.hint = ""

    # -- statements -----------------------------------------------------------------------------------------------------------

    def emit(self, statement: Statement) -> None:
        self.block.append(statement)

    def home(self, name: str, value: Any) -> str:
        """The variable of the core program that holds ``name`` while it is of the category of ``value``."""
        return self._variable((self.frame.key, name, category(value)), name, value)

    def temporary_for(self, hint: str, value: Any) -> str:
        """A new variable; the same one when a loop's body is read again."""
        self.unit.temporaries += 1
        return self._variable((self.frame.key, hint, self.unit.temporaries, category(value)), hint, value)

    def _variable(self, key: tuple, name: str, value: Any) -> str:
        """The variable that is known by ``key``, made when it is first asked for."""
        found = self.unit.homes.get(key)
        if found is None:
            found = self.unit.homes[key] = self.unit.fresh(name)
        type = type_of(value)
        if type is not None:
            self.unit.declare(found, type)
        return found

    def take_hint(self, default: str) -> str:
        """The name of the target of the assignment being read; only the outermost call takes it."""
        hint, self.hint = self.hint or default, ""
        return hint

    def assign(self, name: str, expression: Expression, place: Span | None) -> None:
        if expression != Name(name):
            self.emit(Assign(name, expression, place))

    def hold(self, value: Any, hint: str, place: Span | None) -> Any:
        """The value in a variable of its own, so that what happens later does not change it."""
        name = self.temporary_for(hint, value)
        self.assign(name, expression_of(value), place)
        return renamed(value, name)
