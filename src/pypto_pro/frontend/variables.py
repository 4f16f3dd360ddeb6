"""Python variables of a kernel: binding them, keeping them in the core program, and joining them where paths meet.

A variable bound to something static stays static on straight paths. Its value is stored in the core program as well, so that paths that
disagree find it there; stores that nobody reads are dropped at the end (``tidy``).
"""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from pypto.cores.program import Constant, Name, names_read
from pypto.diagnostics import Span
from pypto.dtypes import DataType
from pypto_pro import language
from pypto_pro.errors.expressions import ClosureType, OtherSection, TypesDiffer, UnknownName
from pypto_pro.errors.statements import Redefinition
from pypto_pro.errors.tiles import MergedIds
from pypto_pro.frontend.scalars import join
from pypto_pro.frontend.state import State
from pypto_pro.frontend.values import (
    HANDLES,
    Bundle,
    Conflict,
    Number,
    Static,
    TileHandle,
    as_number,
    category,
    describe,
    elements,
    expression_of,
    is_number,
    renamed,
    same,
)
from pypto_pro.language.tiles import TileType
from pypto_pro.language.typing import MemRef, Ptr, Scalar, ShapePolicy, Tensor, Tile
from pypto_pro.language.unused import UnusedType

LONGEST_STORED = 64  # longer constant tuples are tables: they are indexed, never rebound

CALLABLES = (FunctionType, BuiltinFunctionType, MethodType, type)
PLAIN = (ModuleType, bool, int, float, str, type, FunctionType, enum.Enum)
OTHERS = (ModuleType, enum.Enum, DataType, TileType, MemRef, Ptr, Scalar, ShapePolicy, Tensor, Tile, UnusedType)


# -- reading a name ---------------------------------------------------------------------------------------------------------


def look_up(state: State, name: str) -> Any:
    """The value of a name: local, of the functions around, global, builtin."""
    frame = state.frame
    if name in frame.env:
        return usable(frame.env[name])
    if name in frame.code.bound:
        raise unknown(state, name)
    for scope in (frame.cells, frame.globals):
        if name in scope:
            return outside(name, scope[name])
    builtins = frame.globals.get("__builtins__", {})
    table = builtins if isinstance(builtins, dict) else vars(builtins)
    if name in table:
        return Static(table[name])
    if name == "pl":
        return Static(language)
    raise unknown(state, name)


def usable(value: Any) -> Any:
    if isinstance(value, Conflict):
        raise value.error()
    return value


def unknown(state: State, name: str) -> UnknownName | OtherSection:
    elsewhere = state.unit.skipped.get(name)
    if elsewhere is not None:
        return OtherSection(name=name, line=elsewhere[0], section=elsewhere[1])
    near = difflib.get_close_matches(name, [*state.frame.env, *state.frame.globals], n=1)
    return UnknownName(name=name, nearest=f"did you mean '{near[0]}'?" if near else "bind it before it is used")


def outside(name: str, value: Any) -> Static:
    """A value from outside the kernel; raises for kinds that kernels do not see."""
    if not visible(value):
        raise ClosureType(name=name, got=type(value).__name__)
    return Static(plain(value))


def visible(value: Any) -> bool:
    if value is None or is_number(value) or isinstance(value, (*OTHERS, *CALLABLES)):
        return True
    if isinstance(value, (list, tuple)):
        return all(visible(item) or isinstance(item, str) for item in value)
    return callable(value) or hasattr(value, "__index__")


def plain(value: Any) -> Any:
    """numpy's numbers as Python's, lists as tuples (a kernel sees them as they are now)."""
    if isinstance(value, list):
        return tuple(plain(item) for item in value)
    if isinstance(value, PLAIN):
        return value
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()
    return value


# -- binding ----------------------------------------------------------------------------------------------------------------


def bind(state: State, name: str, value: Any, place: Span | None) -> None:
    """``name = value`` in the current frame; stored in the core program as well."""
    if state.unit.strict_ssa:
        if name in state.frame.bound_at:
            raise Redefinition(name=name, previous_span=state.frame.bound_at[name], span=place)
        state.frame.bound_at[name] = place
    if isinstance(value, Bundle):
        parts = [part_name(value, name, index) for index in range(len(value.items))]
        value = Bundle(tuple(apart(state, parts, value.items, place)), value.names)
    state.frame.env[name] = store(state, name, value, place)
    state.frame.stored.add(name)


def apart(state: State, names: Sequence[str], values: Sequence[Any], place: Span | None) -> list[Any]:
    """Values for several variables that do not read each other's: ``a, b = b, a`` must not read what it has just written."""
    pairs = zip(names, values, strict=True)
    homes = {state.home(part, leaf) for name, value in pairs for part, leaf in leaves(value, name)}
    return [_held_apart(state, value, homes, place) for value in values]


def _held_apart(state: State, value: Any, homes: set[str], place: Span | None) -> Any:
    if isinstance(value, Bundle):
        return Bundle(tuple(_held_apart(state, item, homes, place) for item in value.items), value.names)
    if not is_stored(value) or not homes & set(names_read((expression_of(value),))):
        return value
    return state.hold(value, "item", place)


def leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The elements of a tuple that have a variable of their own, with its name; tuples in it included."""
    parts = elements(value)
    if parts is None and is_stored(value):
        yield name, value
    for index, part in enumerate(parts or ()):
        yield from leaves(part, part_name(value, name, index))


def is_stored(value: Any) -> bool:
    """Whether the core program has variables for such values."""
    return as_number(value) is not None or isinstance(value, HANDLES)


def store(state: State, name: str, value: Any, place: Span | None) -> Any:
    """Puts a value into the variable of ``name``; gives back how it is known from now on."""
    number = as_number(value)
    if number is not None:
        home = state.home(name, value)
        state.assign(home, number.expression, place)
        return value if isinstance(number.expression, Constant) else renamed(value, home)
    if isinstance(value, HANDLES):
        home = state.home(name, value)
        state.assign(home, value.expression, place)
        return renamed(value, home)
    parts = elements(value)
    if parts is None or len(parts) > LONGEST_STORED:
        return value
    stored = [store(state, part_name(value, name, index), part, place) for index, part in enumerate(parts)]
    return Bundle(tuple(stored), value.names) if isinstance(value, Bundle) else value


def part_name(value: Any, name: str, index: int) -> str:
    names = value.names if isinstance(value, Bundle) else None
    return f"{name}_{names[index]}" if names else f"{name}_{index}"


def ensure_stored(state: State, names: Iterable[str], place: Span | None) -> None:
    """The core program holds these variables from here on (parameters of inlined functions may not be stored yet)."""
    frame = state.frame
    for name in names:
        if name in frame.env and name not in frame.stored and not isinstance(frame.env[name], Conflict):
            bind(state, name, frame.env[name], place)


def general(state: State, name: str, value: Any) -> Any:
    """A stored value as what the core program holds: no longer a constant."""
    number = as_number(value)
    if number is not None:
        return Number(Name(state.home(name, value)), number.dtype)
    parts = elements(value)
    if parts is None or len(parts) > LONGEST_STORED or not all(as_number(p) or isinstance(p, HANDLES) for p in parts):
        return value
    names = value.names if isinstance(value, Bundle) else None
    return Bundle(tuple(general(state, part_name(value, name, i), part) for i, part in enumerate(parts)), names)


# -- where paths meet ---------------------------------------------------------------------------------------------------------


def merge(state: State, paths: list[dict[str, Any]]) -> dict[str, Any]:
    """What is bound after paths that meet. A name bound on some of them only is what it is there."""
    if len(paths) == 1:
        return dict(paths[0])
    names = dict.fromkeys(name for path in paths for name in path)
    found = {}
    for name in names:
        values = [path[name] for path in paths if name in path]
        merged = merge_values(state, name, values)
        # bound on some paths only: no constant, so that reading it where it was not bound is noticed
        found[name] = merged if len(values) == len(paths) else general(state, name, merged)
    return found


def merge_values(state: State, name: str, values: list[Any]) -> Any:
    first = values[0]
    for other in values[1:]:
        first = first if same(first, other) else merge_two(state, name, first, other)
    return first


def merge_two(state: State, name: str, first: Any, second: Any) -> Any:
    if isinstance(first, Conflict) or isinstance(second, Conflict):
        return first if isinstance(first, Conflict) else second
    left, right = general(state, name, first), general(state, name, second)
    if same(left, right):
        return left
    if isinstance(left, Bundle) and isinstance(right, Bundle):
        return _merge_bundles(state, name, left, right)
    if category(left) is None or category(left) != category(right):
        return _conflict(name, first, second)
    if isinstance(left, Number) and isinstance(right, Number):
        return Number(left.expression, join(left.dtype, right.dtype)) if left.expression == right.expression else left
    if isinstance(left, TileHandle) and isinstance(right, TileHandle):
        return _merge_tiles(name, left, right)
    return renamed(left, state.home(name, left))


def _merge_bundles(state: State, name: str, left: Bundle, right: Bundle) -> Any:
    if left.names != right.names or len(left.items) != len(right.items):
        return _conflict(name, left, right)
    items = [
        merge_values(state, part_name(left, name, i), [a, b])
        for i, (a, b) in enumerate(zip(left.items, right.items, strict=True))
    ]
    return Bundle(tuple(items), left.names)


def _merge_tiles(name: str, left: TileHandle, right: TileHandle) -> Any:
    if left.ids != right.ids:
        return Conflict(lambda: MergedIds(name=name, first=left.ids, second=right.ids))
    return TileHandle(left.expression, left.type, left.address if left.address == right.address else None, left.ids)


def _conflict(name: str, first: Any, second: Any) -> Conflict:
    texts = describe(first), describe(second)
    if texts[0] == texts[1] and isinstance(first, HANDLES) and isinstance(second, HANDLES):
        texts = str(first.type), str(second.type)
    return Conflict(lambda: TypesDiffer(name=name, first=texts[0], second=texts[1]))
