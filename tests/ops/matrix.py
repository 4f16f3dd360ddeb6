"""The table-driven test of the op table: ``cases(operation, dtype, rng)`` for every row and every element type.

Any engine can be put through it: ``for case in cases(...): harness.check(case, engine, rng)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ops import judges, values
from ops.harness import Case
from ops.matrix_more import COMPOSITE_DTYPES, OTHERS, axis_names, wide_if_float
from pypto import ops
from pypto.dtypes import BY_NUMPY, DataType
from pypto.ops.dtype_sets import BOOL, F32, I32
from pypto.ops.table import OPERATIONS
from pypto.tolerance import bound

Maker = Callable[[str, DataType, np.random.Generator], Iterator[Case]]


def cases(operation: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    """Cases of one operation on one element type."""
    yield from MAKERS[operation](operation, dtype, rng)


def covered() -> list[tuple[str, DataType]]:
    """Every (operation, element type) that has cases."""
    return [(name, dtype) for name in MAKERS for dtype in dtypes_of(name)]


def dtypes_of(name: str) -> tuple[DataType, ...]:
    return COMPOSITE_DTYPES.get(name) or OPERATIONS[name].dtypes


def result_dtype(name: str, dtype: DataType) -> DataType:
    if name in ("exp2", "expm1", "div") and not dtype.is_float:
        return F32
    return BOOL if name in judges.COMPARISON else dtype


# -- elementwise --------------------------------------------------------------------------------------------------------------


def unary(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    judge = judges.UNARY.get(name)
    result = result_dtype(name, dtype)
    inputs = {"special": values.special(dtype), "random": values.salted(rng, dtype, values.shape(rng))}
    if dtype.is_float:
        inputs["wide"] = (values.numbers(rng, dtype, (37,), -1, 1).astype(np.float32) * 10.0 ** rng.uniform(-4, 3, 37)).astype(
            dtype.numpy
        )
    for label, x in inputs.items():
        expected = (judge(x),)
        yield Case(name, label, (x,), ops.PUBLIC[name], expected, (result,), bound(name, result), axes=axis_names(x))


def bitwise_not(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    x = values.salted(rng, dtype, values.shape(rng))
    yield Case(name, "random", (x,), ops.PUBLIC[name], (judges.by_integers(lambda a: ~a)(x),), (dtype,), axes=axis_names(x))


def binary(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    judge = judges.BINARY.get(name) or judges.COMPARISON[name]
    result = result_dtype(name, dtype)
    lower_rank = name not in judges.COMPARISON
    specials = values.special(dtype)
    pairs = [("special", specials[:, None], specials[None, :])]
    for label in ("same", "left", "right"):
        full = values.shape(rng)
        a = values.salted(rng, dtype, full if label != "left" else values.broadcastable(rng, full, lower_rank))
        b = values.salted(rng, dtype, full if label != "right" else values.broadcastable(rng, full, lower_rank))
        pairs.append((label, a, b))
    limit = bound(name, result)
    for label, a, b in pairs:
        yield Case(name, label, (a, b), ops.PUBLIC[name], (judge(a, b),), (result,), limit, axes=axis_names(a, b))
    yield from scalars(name, dtype, rng, judge, result)


def scalars(
    name: str, dtype: DataType, rng: np.random.Generator, judge: Callable[..., np.ndarray], result: DataType
) -> Iterator[Case]:
    """A number on either side."""
    x = values.salted(rng, dtype, values.shape(rng))
    number = float(rng.integers(1, 7)) + 0.5 if dtype.is_float else int(rng.integers(1, 7))
    element = np.array(number).astype(dtype.numpy)
    function = ops.PUBLIC[name]
    limit = bound(name, result)
    right = (judge(x, element),)
    yield Case(name, "scalar", (x,), lambda t: function(t, number), right, (result,), limit, axes=axis_names(x))
    left = (judge(np.broadcast_to(element, x.shape), x),)
    yield Case(name, "scalar-left", (x,), lambda t: function(number, t), left, (result,), limit, axes=axis_names(x))


def where(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    for data in (
        DataType.DT_FP32,
        DataType.DT_FP16,
        DataType.DT_BF16,
        I32,
        DataType.DT_INT8,
        DataType.DT_UINT8,
        DataType.DT_INT64,
    ):
        full = values.shape(rng)
        c = values.salted(rng, BOOL, values.broadcastable(rng, full, False))
        a = values.salted(rng, data, full)
        b = values.salted(rng, data, values.broadcastable(rng, full, False))
        chosen = np.where(c, wide_if_float(a), wide_if_float(b))
        yield Case(name, data.label, (c, a, b), ops.PUBLIC[name], (chosen,), (data,), axes=axis_names(c, a, b))


def logical(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    full = values.shape(rng)
    a, b = values.salted(rng, dtype, full), values.salted(rng, BOOL, values.broadcastable(rng, full, False))
    truth = {"logical_and": np.logical_and, "logical_or": np.logical_or}[name]
    expected = truth(wide_if_float(a) != 0, b)
    yield Case(name, "mixed", (a, b), ops.PUBLIC[name], (expected,), (BOOL,), axes=axis_names(a, b))


def predicate(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    test = {"logical_not": lambda x: x == 0, "isnan": np.isnan, "isfinite": np.isfinite}[name]
    for label, x in (("special", values.special(dtype)), ("random", values.salted(rng, dtype, values.shape(rng)))):
        yield Case(name, label, (x,), ops.PUBLIC[name], (test(wide_if_float(x)),), (BOOL,), axes=axis_names(x))


# -- reductions ---------------------------------------------------------------------------------------------------------------


def reduction(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    for keepdim in (False, True):
        full = values.shape(rng)
        axis = int(rng.integers(-len(full), len(full)))
        salted = name not in ("sum", "prod") and dtype.is_float
        x = values.salted(rng, dtype, full) if salted else values.numbers(rng, dtype, full, 0.5, 1.5)
        yield from reduced(name, dtype, x, axis, keepdim, f"axis{axis}-keep{keepdim}")
    if dtype.is_float:
        x = np.array([1, np.inf, 2, np.nan, -np.inf, 3], np.float32).astype(dtype.numpy).reshape(2, 3)
        yield from reduced(name, dtype, x, -1, False, "special")


def reduced(name: str, dtype: DataType, x: np.ndarray, axis: int, keepdim: bool, label: str) -> Iterator[Case]:
    result = I32 if name.startswith("arg") else dtype
    expected = reduction_judge(name, x, axis)
    if keepdim or x.ndim == 1:
        expected = np.expand_dims(expected, axis)
    magnitude = np.abs(wide_if_float(x)).sum(axis, keepdims=keepdim or x.ndim == 1) if name == "sum" else 0.0
    limit = bound(name, result, x.shape[axis])
    call = lambda t: ops.PUBLIC[name](t, axis, keepdim)
    yield Case(name, label, (x,), call, (expected,), (result,), limit, magnitude, axes=unpadded_to_min(x, axis))


def unpadded_to_min(x: np.ndarray, axis: int) -> tuple[tuple[str, ...], ...]:
    return (tuple(f"axis{i}" for i in range(x.ndim)),)


def reduction_judge(name: str, x: np.ndarray, axis: int) -> np.ndarray:
    if not BY_NUMPY[x.dtype].is_float and name in ("sum", "prod"):
        return judges.integer_total(x, axis, name == "prod")
    if x.dtype == np.uint64:
        return {"amax": np.max, "amin": np.min, "argmax": np.argmax, "argmin": np.argmin}[name](x, axis=axis)
    tensor = judges.torch_of(x)
    found = getattr(tensor, name)(dim=axis).numpy()
    return found if BY_NUMPY[x.dtype].is_float and not name.startswith("arg") else found.astype(np.int64)


# -- the table ----------------------------------------------------------------------------------------------------------------

MAKERS: dict[str, Maker] = {
    **dict.fromkeys(judges.UNARY, unary),
    **dict.fromkeys(judges.BINARY, binary),
    **dict.fromkeys(judges.COMPARISON, binary),
    "bitwise_not": bitwise_not,
    "where": where,
    "logical_and": logical,
    "logical_or": logical,
    "logical_not": predicate,
    "isnan": predicate,
    "isfinite": predicate,
    **dict.fromkeys(("sum", "prod", "amax", "amin", "argmax", "argmin"), reduction),
    **OTHERS,
}
