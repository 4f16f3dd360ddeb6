"""Calls in a kernel: the language's functions, helpers to inline, methods of groups, and Python on what is known."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from pypto.cores.enums import PipeType
from pypto.cores.program import Constant, Instruction, System
from pypto.dtypes import DataType
from pypto.elements import element_value
from pypto_pro.errors.calls import (
    CompileTimeShape,
    ConstArguments,
    EnumExpected,
    MinMaxArguments,
    RangeAsValue,
    SectionAsCall,
    TileTypeArgument,
    UnknownCallee,
)
from pypto_pro.errors.expressions import ConstexprPlace
from pypto_pro.errors.language import RegisterLevel, SimtLevel
from pypto_pro.errors.tiles import NoGroup
from pypto_pro.frontend import binding, expressions, groups, helpers, instructions, pointers, records, scalars
from pypto_pro.frontend.binding import Arguments
from pypto_pro.frontend.values import (
    GroupHandle,
    Intrinsic,
    Method,
    Number,
    Static,
    Void,
    as_number,
    describe,
    is_number,
    static_number,
)
from pypto_pro.frontend.variables import plain
from pypto_pro.language import declarations
from pypto_pro.language import plain as plain_names
from pypto_pro.language.registers import REGISTER_LEVEL, Vf
from pypto_pro.language.tiles import TileType

INT32 = DataType.DT_INT32


def call(reader: Any, node: ast.Call) -> Any:
    """Any call expression."""
    callee = reader.callee(node.func)
    if isinstance(callee, Intrinsic):
        return call_intrinsic(reader, callee.path, node)
    if isinstance(callee, Method):
        return call_method(reader, callee, node)
    if isinstance(callee, Static):
        return call_python(reader, callee.value, node)
    raise UnknownCallee(got=describe(callee))


def call_intrinsic(reader: Any, path: str, node: ast.Call) -> Any:
    if path.startswith("simt"):
        raise SimtLevel(name=path.partition(".")[2])
    special = SPECIAL.get(path)
    if special is None:
        return instructions.call_operation(reader, path, node)
    if path in WITHOUT_EVALUATION:
        return special(reader, node)
    hint = reader.hint
    reader.hint = ""
    arguments = binding.evaluate(reader, f"pl.{path}", node)
    reader.hint = hint
    return special(reader, arguments)


def call_method(reader: Any, method: Method, node: ast.Call) -> Any:
    """``group.next()``, ``group.current()``, ``group.previous()``."""
    if not isinstance(method.of, GroupHandle):
        raise NoGroup(text=method.text, method=method.name)
    arguments = binding.evaluate(reader, f"{method.text}.{method.name}", node)
    arguments.limit(f"{method.text}.{method.name}", ())
    return expressions.slot(method.of, method.name)


def as_intrinsic(value: Any) -> Any:
    """A declaration of the language imported by name, as the name it is."""
    if not isinstance(value, Static):
        return value
    path = getattr(value.value, declarations.MARK, None) if isinstance(value.value, FunctionType) else None
    if path is not None:
        return Intrinsic(path)
    if isinstance(value.value, FunctionType) and value.value.__module__ == plain_names.__name__:
        return Intrinsic(value.value.__name__)
    return value


# -- Python's own -----------------------------------------------------------------------------------------------------------


def call_python(reader: Any, function: Any, node: ast.Call) -> Any:
    if getattr(function, REGISTER_LEVEL, None) == "simt.function":
        raise SimtLevel(name=function.__name__)
    if getattr(function, REGISTER_LEVEL, None) or function is Vf:
        raise RegisterLevel(name=getattr(function, "__name__", ""))
    if function is TileType:
        return tile_type(reader, node)
    if function in (min, max):
        return minimum_or_maximum(reader, binding.evaluate(reader, function.__name__, node))
    if hasattr(function, "pypto_function"):
        raise UnknownCallee(got=f"the kernel '{function.__name__}': kernels are launched from the host")
    if isinstance(function, FunctionType):
        return helpers.inline(reader, function, node)
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
        return helpers.inline(reader, function.__func__, node, (Static(function.__self__),))
    if function is breakpoint:
        return stop_here(reader, node)
    arguments = binding.evaluate(reader, getattr(function, "__name__", "call"), node)
    return _native(function, arguments)


def _native(function: Any, arguments: Arguments) -> Any:
    """A builtin on known values runs here; ``int``, ``float``, ``bool``, ``abs`` also work on run-time scalars."""
    values = [*arguments.positional, *arguments.keywords.values()]
    if callable(function) and all(isinstance(value, Static) for value in values):
        positional = [value.value for value in arguments.positional]
        named = {name: value.value for name, value in arguments.keywords.items()}
        try:
            return Static(plain(function(*positional, **named)))
        except Exception as error:
            raise UnknownCallee(got=f"`{ast.unparse(arguments.node)}` here: {type(error).__name__}: {error}")
    found = CONVERSIONS.get(function) if isinstance(function, type) or function is abs else None
    number = as_number(arguments.positional[0]) if len(values) == 1 and arguments.positional else None
    if found is None or number is None:
        advice = ADVICE.get(getattr(function, "__name__", ""))
        raise UnknownCallee(got=f"{getattr(function, '__name__', function)} with run-time arguments", advice=advice)
    return found(number)


def stop_here(reader: Any, node: ast.Call) -> Void:
    """``breakpoint()``: the simulator stops here, at the true iteration."""
    reader.emit(Instruction("breakpoint", PipeType.S, place=reader.frame.span(node)))
    return Void("breakpoint()")


ADVICE = {
    "print": 'pl.printf("%d\n", x) prints scalars, pl.dump_data(tile) prints tiles and tensors',
    "len": "use tensor.shape[axis] or tile.valid_shape[axis]",
    "sum": "pl.sum(out, tile, tmp) adds up the rows of a tile",
}


def _absolute(number: Number) -> Any:
    return scalars.binary("max", number, scalars.unary("negate", number))


CONVERSIONS: dict[Any, Callable[[Number], Any]] = {
    int: lambda number: scalars.convert(number, DataType.DT_INT64),
    float: lambda number: scalars.convert(number, DataType.DT_FP32),
    bool: scalars.truth,
    abs: _absolute,
}


TILE_ENUMS = {"dtype": "DataType", "target_memory": "MemorySpace", "layout": "TensorLayout"}


def tile_type(reader: Any, node: ast.Call) -> Static:
    """``pl.TileType(…)``: made here, from what is known."""
    reader.take_hint("")
    arguments = binding.evaluate(reader, "TileType", node)
    names = list(TileType.__dataclass_fields__)
    arguments.limit("TileType", names)
    given = {**dict(zip(names, arguments.positional, strict=False)), **arguments.keywords}
    for name, value in given.items():
        if not isinstance(value, Static) and name in ("shape", "valid_shape"):
            raise CompileTimeShape(name=name, got=describe(value))
        if not isinstance(value, Static):
            known = static_number(value)
            if known is None:
                raise TileTypeArgument(name=name, got=describe(value))
            given[name] = Static(known)
    for name in ("shape", "dtype"):
        arguments.value(name, names.index(name))
    for name, kind in TILE_ENUMS.items():
        if name in given and is_number(given[name].value):
            raise EnumExpected(call="pl.TileType", name=name, enum=kind, got=describe(given[name]))
    for name in ("shape", "valid_shape"):
        _check_extents(name, given.get(name))
    return Static(TileType(**{name: value.value for name, value in given.items()}))


def _check_extents(name: str, value: Any) -> None:
    if value is None or not isinstance(value.value, (tuple, list)):
        return
    for item in value.value:
        if isinstance(item, bool) or not isinstance(item, int):
            raise CompileTimeShape(name=name, got=repr(item))


# -- functions of the language ------------------------------------------------------------------------------------------------


def minimum_or_maximum(reader: Any, arguments: Arguments) -> Any:
    name = arguments.call.removeprefix("pl.")
    if arguments.keywords or len(arguments.positional) != 2:
        raise MinMaxArguments(call=name, got=f"{len(arguments.positional)} arguments and {len(arguments.keywords)} keywords")
    first, second = (_same_category(name, value) for value in arguments.positional)
    found = scalars.binary(name, first, second)
    if found is None:
        raise MinMaxArguments(call=name, got=" and ".join(map(describe, arguments.positional)))
    return found


def _same_category(name: str, value: Any) -> Any:
    if as_number(value) is None:
        raise MinMaxArguments(call=name, got=describe(value))
    return value


def typed_constant(reader: Any, node: ast.Call) -> Number:
    """``pl.const(5, pl.DT_INT32)``."""
    if len(node.args) != 2 or node.keywords:
        raise ConstArguments(reason=f"got {len(node.args)} and {len(node.keywords)} keywords")
    literal = node.args[0].operand if isinstance(node.args[0], ast.UnaryOp) else node.args[0]
    if not isinstance(literal, ast.Constant) or not is_number(literal.value):
        raise ConstArguments(reason=f"`{ast.unparse(node.args[0])}` is not a literal")
    value, dtype = reader.expression(node.args[0]), reader.expression(node.args[1])
    if not isinstance(dtype, Static) or not isinstance(dtype.value, DataType):
        raise ConstArguments(reason=f"`{ast.unparse(node.args[1])}` is not a dtype")
    kind = float if dtype.value.is_float else bool if dtype.value is DataType.DT_BOOL else int
    return Number(Constant(element_value(kind(value.value), dtype.value), dtype.value), dtype.value)


def _system(name: str) -> Callable[..., Number]:
    def variable(reader: Any, arguments: Arguments) -> Number:
        reader.take_hint("")
        arguments.limit(f"pl.get_{name}", ())
        return Number(System(name), INT32)

    return variable


def _section(reader: Any, node: ast.Call) -> Any:
    raise SectionAsCall(call=ast.unparse(node.func))


def _range(reader: Any, node: ast.Call) -> Any:
    raise RangeAsValue()


def _constexpr(reader: Any, node: ast.Call) -> Any:
    raise ConstexprPlace()


def _register(reader: Any, node: ast.Call) -> Any:
    raise RegisterLevel(name="get_spr")


SPECIAL: dict[str, Callable[..., Any]] = {
    "TileType": tile_type,
    "make_tile": groups.make_tile,
    "make_tile_group": groups.make_tile_group,
    "make_tensor": pointers.make_tensor,
    "make_ptr": pointers.make_ptr,
    "addptr": pointers.addptr,
    "struct": records.struct,
    "struct_array": records.struct_array,
    "make_tuple": records.make_tuple,
    "const": typed_constant,
    "min": minimum_or_maximum,
    "max": minimum_or_maximum,
    "constexpr": _constexpr,
    "get_spr": _register,
    "range": _range,
    "section_cube": _section,
    "section_vector": _section,
    "get_block_idx": _system("block_idx"),
    "get_block_num": _system("block_num"),
    "get_subblock_idx": _system("subblock_idx"),
    "get_subblock_num": _system("subblock_num"),
}
WITHOUT_EVALUATION = frozenset(
    (
        "TileType",
        "const",
        "constexpr",
        "get_spr",
        "range",
        "section_cube",
        "section_vector",
        "struct",
        "struct_array",
        "make_tuple",
        "make_tile",
        "make_tile_group",
    )
)
