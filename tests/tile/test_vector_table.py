"""Every vector row over its element types, layouts and valid extents, against formulas in float64 or unbounded integers."""

from __future__ import annotations

import numpy as np
import pytest

from pypto.cores.enums import TensorLayout
from pypto.errors.base import UserError
from pypto.errors.tile_vectors import VectorLayoutRefused
from pypto.ops.tile.table import find, rows
from tile.vector_cases import Operand, check, execute
from tile.vector_values import (
    B16,
    F16,
    F32,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    NO_8,
    NO_64,
    SHAPE,
    STORED,
    VALID,
    D,
    expected,
    same,
    values,
    wrap,
)


def truncated(a, b):
    """Integer division toward zero, zero for a zero divisor; float division."""
    if a.dtype != object:
        return a / b
    return np.array([0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in pairs(a, b)], object)


def floored(a, b):
    if a.dtype != object:
        return np.array([np.mod(x, y) for x, y in pairs(a, b)])
    return np.array([0 if y == 0 else x % y for x, y in pairs(a, b)], object)


def pairs(a, b):
    return zip(np.ravel(a), np.ravel(np.broadcast_to(b, np.shape(a))), strict=True)


def shaped(function):
    return lambda a, b: np.reshape(function(a, b), np.shape(a))


def larger(a, b):
    return np.where(a > b, a, b)


def smaller(a, b):
    return np.where(a < b, a, b)


BITS = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}
ADD, SUB, MUL = (lambda a, b: a + b), (lambda a, b: a - b), (lambda a, b: a * b)
DIV, REM = shaped(truncated), shaped(floored)

# name: formula, element types (tile API section 3.3); then what else the operands are
BINARY = {
    "add": (ADD, INTEGERS | FLOATS),
    "sub": (SUB, INTEGERS | FLOATS),
    "mul": (MUL, NO_8 | FLOATS),
    "div": (DIV, NO_8 | {F16, F32}),
    "rem": (REM, NO_8 | {F16, F32}),
    "maximum": (larger, INTEGERS | FLOATS),
    "minimum": (smaller, INTEGERS | FLOATS),
    "and_": (BITS["and"], NO_64),
    "or_": (BITS["or"], NO_64),
}
SCALAR = {
    "adds": (ADD, INTEGERS | FLOATS),
    "subs": (SUB, INTEGERS | FLOATS),
    "muls": (MUL, NO_8 | FLOATS),
    "divs": (DIV, NO_8 | {F16, F32}),
    "rems": (REM, NO_8 | {F16, F32}),
    "maxs": (larger, INTEGERS | FLOATS),
    "mins": (smaller, INTEGERS | FLOATS),
    "ands": (BITS["and"], NO_64),
    "ors": (BITS["or"], NO_64),
}
UNARY = {
    "neg": (lambda x: -x, NO_8 | FLOATS),
    "abs": (lambda x: abs(x), {D.DT_INT8, D.DT_INT16, D.DT_INT32, F16, F32}),
    "exp": (np.exp, {F16, F32}),
    "log": (np.log, {F16, F32}),
    "sqrt": (np.sqrt, {F16, F32}),
    "rsqrt": (lambda x: 1 / np.sqrt(x), {F16, F32}),
    "recip": (lambda x: 1 / x, {F16, F32}),
    "relu": (lambda x: np.where(x > 0, x, 0), {F16, F32, D.DT_INT32}),
    "not_": (lambda x: ~x, NO_64),
}


def accepted(name, make):
    """Element types and layouts that the static check lets through."""
    types, layouts = set(), set()
    for dtype in STORED:
        for layout in LAYOUTS:
            try:
                check(name, make(dtype, layout), {})
            except VectorLayoutRefused:
                continue
            except UserError:
                break
            types.add(dtype)
            layouts.add(layout)
    return types, [layout for layout in LAYOUTS if layout in layouts]


def operand(dtype, layout, valid, seed, positive=False):
    return Operand(SHAPE, dtype, values(dtype, valid, seed, positive), layout=layout)


def target(dtype, layout, valid):
    return Operand(SHAPE, dtype, valid=valid, layout=layout)


def cases(name, make):
    """Every combination that the row accepts."""
    types, layouts = accepted(name, make)
    return types, [(dtype, layout, valid) for dtype in sorted(types, key=int) for layout in layouts for valid in VALID]


@pytest.mark.parametrize("name", BINARY)
def test_two_tiles(name):
    formula, dtypes = BINARY[name]
    types, every = cases(name, lambda dtype, layout: tuple(Operand(SHAPE, dtype, layout=layout) for _ in range(3)))
    assert types == dtypes and {layout for _, layout, _ in every} == set(LAYOUTS)
    for dtype, layout, valid in every:
        lhs, rhs = operand(dtype, layout, valid, 1), operand(dtype, layout, valid, 2)
        out, *_ = execute(name, target(dtype, layout, valid), lhs, rhs)
        same(out.read(), expected(formula, dtype, lhs.values, rhs.values))


SCALAR_RIGHT = [name for name in BINARY if name != "rem"]


@pytest.mark.parametrize("name", [*SCALAR, *SCALAR_RIGHT])
def test_tile_and_scalar(name):
    formula, dtypes = SCALAR.get(name) or BINARY[name]
    types, every = cases(name, lambda dtype, layout: (*[Operand(SHAPE, dtype, layout=layout) for _ in range(2)], 3))
    assert types == dtypes
    for dtype, layout, valid in every:
        number = 0.3 if dtype.is_float else 3
        lhs = operand(dtype, layout, valid, 1)
        out, *_ = execute(name, target(dtype, layout, valid), lhs, number)
        held = np.array(number, np.float32).astype(dtype.numpy) if dtype.is_float else number
        same(out.read(), expected(formula, dtype, lhs.values, held))


@pytest.mark.parametrize("name", UNARY)
def test_one_tile(name):
    formula, dtypes = UNARY[name]
    types, every = cases(name, lambda dtype, layout: tuple(Operand(SHAPE, dtype, layout=layout) for _ in range(2)))
    assert types == dtypes
    for dtype, layout, valid in every:
        src = operand(dtype, layout, valid, 1, positive=name in ("log", "sqrt", "rsqrt"))
        out, *_ = execute(name, target(dtype, layout, valid), src)
        same(out.read(), expected(formula, dtype, src.values))


@pytest.mark.parametrize("name", [*(one for one in BINARY if one != "rem"), *UNARY])
def test_in_place(name):
    """``out`` may be an input."""
    dtype = F32 if F32 in (BINARY.get(name) or UNARY[name])[1] else D.DT_INT32
    first = operand(dtype, TensorLayout.ND, (5, 7), 1, positive=True)
    others = [operand(dtype, TensorLayout.ND, (5, 7), 2, positive=True)] if name in BINARY else []
    out, *_ = execute(name, first, first, *others)
    formula = (BINARY.get(name) or UNARY[name])[0]
    same(out.read(), expected(formula, dtype, first.values, *[one.values for one in others]))


@pytest.mark.parametrize("name", ["shl", "shr", "shls", "shrs"])
def test_shifts(name):
    scalar = name.endswith("s")
    third = (lambda dtype, layout: 3) if scalar else (lambda dtype, layout: Operand(SHAPE, dtype, layout=layout))
    types, every = cases(
        name, lambda dtype, layout: (*[Operand(SHAPE, dtype, layout=layout) for _ in range(2)], third(dtype, layout))
    )
    assert types == INTEGERS and {layout for _, layout, _ in every} == {TensorLayout.ND}
    for dtype, layout, valid in every:
        lhs = operand(dtype, layout, valid, 1)
        amounts = np.random.default_rng(2).integers(0, dtype.bits, valid).astype(dtype.numpy)
        right = 3 if scalar else Operand(SHAPE, dtype, amounts, layout=layout)
        out, *_ = execute(name, target(dtype, layout, valid), lhs, right)
        formula = (lambda a, b: a * 2**b) if name.startswith("shl") else (lambda a, b: a // 2**b)
        same(out.read(), expected(formula, dtype, lhs.values, 3 if scalar else amounts))


@pytest.mark.parametrize("name", ["xor", "xors"])
def test_exclusive_or(name):
    def tiles(dtype, layout, right):
        return (
            target(dtype, layout, None),
            target(dtype, layout, None),
            right,
            Operand(SHAPE, dtype, layout=layout, valid=(1, 1)),
        )

    types, every = cases(
        name,
        lambda dtype, layout: tiles(dtype, layout, 3 if name == "xors" else Operand(SHAPE, dtype, layout=layout, valid=(2, 2))),
    )
    assert types == NO_64
    for dtype, layout, valid in every:
        lhs = operand(dtype, layout, valid, 1)
        right = 3 if name == "xors" else operand(dtype, layout, valid, 2)
        scratch = Operand(SHAPE, dtype, layout=layout, valid=valid)
        out, *_ = execute(name, Operand(SHAPE, dtype, valid=valid, layout=layout), lhs, right, scratch)
        same(out.read(), expected(BITS["xor"], dtype, lhs.values, 3 if name == "xors" else right.values))


# ------------------------------------------------------------------------------------------------- reductions and broadcasts

ACROSS = {
    "sum": NO_8 - {D.DT_UINT16, D.DT_UINT32} | {F16, F32},
    "prod": NO_8 - {D.DT_UINT16, D.DT_UINT32} | {F16, F32},
    "max": NO_64 | {F16, F32},
    "min": NO_64 | {F16, F32},
    "argmax": {F16, F32},
    "argmin": {F16, F32},
}
DOWN = dict.fromkeys(("sum", "prod", "max", "min"), INTEGERS | FLOATS) | dict.fromkeys(("argmax", "argmin"), NO_64 | FLOATS)
REDUCED = {
    "sum": lambda x, axis: np.add.reduce(x, axis),
    "prod": lambda x, axis: np.multiply.reduce(x, axis),
    "max": lambda x, axis: np.max(x, axis),
    "min": lambda x, axis: np.min(x, axis),
    "argmax": lambda x, axis: np.argmax(x, axis),
    "argmin": lambda x, axis: np.argmin(x, axis),
}
CALLS = [(f"{prefix}_{kind}", kind, dim, {}) for prefix, dim in (("row", 0), ("col", 1)) for kind in REDUCED]
CALLS += [
    (f"{prefix}_reduce", kind, dim, {"op_type": code})
    for prefix, dim in (("row", 0), ("col", 1))
    for code, kind in enumerate(("sum", "max", "min", "prod"))
]
CALLS += [
    (name, kind, dim, {"dim": dim})
    for name, kind in (("sum", "sum"), ("argmax", "argmax"), ("argmin", "argmin"), ("maximum", "max"), ("minimum", "min"))
    for dim in (0, 1)
]


@pytest.mark.parametrize("name, kind, dim, keywords", CALLS)
def test_reductions(name, kind, dim, keywords):
    shape = (SHAPE[0], 1) if dim == 0 else (1, SHAPE[1])
    layout = TensorLayout.DN if dim == 0 else TensorLayout.ND
    types = set()
    for dtype in STORED:
        result = D.DT_INT32 if kind.startswith("arg") else dtype
        tiles = [Operand(shape, result, layout=layout), Operand(SHAPE, dtype), Operand(SHAPE, dtype, valid=(1, 1))]
        try:
            check(name, tuple(tiles), keywords)
        except UserError:
            continue
        types.add(dtype)
        for source_layout in LAYOUTS:
            for rows_, columns in ((16, 32), (5, 32), (16, 7), (1, 1)):
                src = operand(dtype, source_layout, (rows_, columns), 3)
                valid = (rows_, 1) if dim == 0 else (1, columns)
                out, *_ = execute(name, Operand(shape, result, valid=valid, layout=layout), src, tiles[2], **keywords)
                wanted = REDUCED[kind](src.values.astype(np.float64 if dtype.is_float else object), 1 - dim).reshape(valid)
                wanted = (
                    wanted.astype(np.float32).astype(dtype.numpy)
                    if dtype.is_float and not kind.startswith("arg")
                    else wrap(wanted, result)
                )
                same(out.read(), wanted)
    assert types == (ACROSS if dim == 0 else DOWN)[kind]


@pytest.mark.parametrize("name, wanted", [("row_sum", 0.0), ("row_prod", 1.0), ("row_max", -np.inf), ("row_min", np.inf)])
def test_reductions_of_nothing(name, wanted):
    src = Operand(SHAPE, F32, np.zeros((4, 0), np.float32))
    out, *_ = execute(name, Operand((16, 1), F32, valid=(4, 1), layout=TensorLayout.DN), src, Operand(SHAPE, F32))
    assert out.read().tolist() == [[wanted]] * 4
    nothing = Operand(SHAPE, F32, np.zeros((0, 32), np.float32))
    execute(name, Operand((16, 1), F32, valid=(0, 1), layout=TensorLayout.DN), nothing, Operand(SHAPE, F32))


def test_the_first_extremum_counts():
    src = Operand(SHAPE, F32, np.array([[1, 3, 3, 0], [0, -2, -2, 5], [1, np.nan, 7, np.nan]], np.float32))
    for name, wanted in (("row_argmax", [1, 3, 1]), ("row_argmin", [3, 1, 1])):
        out, *_ = execute(name, Operand((16, 1), D.DT_UINT32, valid=(3, 1), layout=TensorLayout.DN), src, Operand(SHAPE, F32))
        assert out.read().ravel().tolist() == wanted


SPREAD = {
    "add": ADD,
    "sub": SUB,
    "mul": MUL,
    "div": DIV,
    "max": larger,
    "min": smaller,
    "expdif": lambda a, b: np.exp((a - b).astype(np.float32).astype(np.float64)),
}
SPREADS = [(f"{prefix}_expand_{kind}", kind, dim, {}) for prefix, dim in (("row", 0), ("col", 1)) for kind in SPREAD]
SPREADS += [
    (f"{prefix}_expand_binop", kind, dim, {"op_type": code})
    for prefix, dim in (("row", 0), ("col", 1))
    for code, kind in enumerate(("add", "sub", "mul", "div", "max", "min"))
]
SPREADS += [(f"expand_{kind}", kind, dim, {"dim": dim}) for kind in ("max", "min", "mul", "sub", "div") for dim in (0, 1)]


@pytest.mark.parametrize("name, kind, dim, keywords", SPREADS)
def test_broadcasts(name, kind, dim, keywords):
    shape, layout = ((16, 1), TensorLayout.DN) if dim == 0 else ((1, 32), TensorLayout.ND)
    types = set()
    for dtype in STORED:
        try:
            check(
                name, (Operand(SHAPE, dtype), Operand(SHAPE, dtype, valid=(1, 2)), Operand(shape, dtype, layout=layout)), keywords
            )
        except UserError:
            continue
        types.add(dtype)
        for source_layout in LAYOUTS:
            for valid in VALID:
                src = operand(dtype, source_layout, valid, 1)
                vec = Operand(shape, dtype, values(dtype, (valid[0], 1) if dim == 0 else (1, valid[1]), 2), layout=layout)
                out, *_ = execute(name, target(dtype, source_layout, valid), src, vec, **keywords)
                same(out.read(), expected(SPREAD[kind], dtype, src.values, np.broadcast_to(vec.values, valid)))
    assert types == (FLOATS if kind == "expdif" else NO_64 | FLOATS)


@pytest.mark.parametrize("name, dim", [("row_expand", 0), ("col_expand", 1)])
def test_repeats(name, dim):
    for dtype in (D.DT_INT8, B16, F32):
        for valid in VALID:
            src = Operand(SHAPE, dtype, values(dtype, valid, 1))
            out, *_ = execute(name, target(dtype, TensorLayout.ND, valid), src)
            one = src.values[:, :1] if dim == 0 else src.values[:1]
            same(out.read(), np.broadcast_to(one, valid) if all(valid) else src.values)


def test_every_row_is_covered():
    """Rows of this file and its neighbours: a new row needs a test."""
    import tile.test_vector_others as others

    families = (
        "elementwise",
        "fused",
        "reductions",
        "comparison",
        "gathering",
        "sorting",
        "conversion",
        "padding",
        "quantisation",
    )
    here = {*BINARY, *SCALAR, *UNARY, "shl", "shr", "shls", "shrs", "xor", "xors", "row_expand", "col_expand"}
    here |= {name for name, *_ in CALLS} | {name for name, *_ in SPREADS}
    for row in rows():
        if row.run.__module__.rsplit(".", 1)[-1] in (*families, "vector_running"):
            assert row.name in here | others.COVERED, row.name
            assert row.summary.endswith(".") and row.example.startswith(f"pl.{row.name}(")
    assert find("add").hidden is False and find("adds").hidden is True
