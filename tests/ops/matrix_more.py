"""Cases of casts, powers, composites, matmul, movement, indexing and scans."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch

from ops import judges, values
from ops.harness import Case
from pypto import ops
from pypto.dtypes import BY_NUMPY, DataType
from pypto.enums import SaturationMode
from pypto.ops.dtype_sets import B16, BOOL, E4M3, E5M2, F16, F32, F64, FLOATS, I8, I32, I64, INTEGERS, NUMBERS, STORED
from pypto.tolerance import Bound, bound

Maker = Callable[[str, DataType, np.random.Generator], Iterator[Case]]


def axis_names(*arrays: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """Names of axes aligned from the right; axes of size 1 are not padded (they broadcast)."""
    rank = max(a.ndim for a in arrays)
    return tuple(tuple("" if n == 1 else f"axis{rank - a.ndim + i}" for i, n in enumerate(a.shape)) for a in arrays)


def own_axes(*arrays: np.ndarray) -> tuple[tuple[str, ...], ...]:
    """Every axis padded on its own."""
    return tuple(tuple(f"input{k}axis{i}" for i in range(a.ndim)) for k, a in enumerate(arrays))


def wide_if_float(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if BY_NUMPY[array.dtype].is_float else array


# -- casts --------------------------------------------------------------------------------------------------------------------


def cast(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    """To every other type by the default mode; modes have tests of their own."""
    for target in STORED:
        if target is dtype:
            continue
        x = np.concatenate([values.special(dtype), values.numbers(rng, dtype, (33,), -300, 300)])
        for satmode in SaturationMode:
            expected = cast_judge(x, target, satmode is SaturationMode.ON)
            limit = Bound(0.5 if target.is_float else 0.0)
            call = lambda t, target=target, satmode=satmode: ops.PUBLIC["cast"](t, target, satmode=satmode)
            yield Case(name, f"{target.label}-{satmode.name}", (x,), call, (expected,), (target,), limit, axes=axis_names(x))


def cast_judge(x: np.ndarray, target: DataType, saturate: bool) -> np.ndarray:
    """By Python's integers and float64."""
    source = BY_NUMPY[x.dtype]
    if target is BOOL:
        return wide_if_float(x) != 0
    if not target.is_float:
        convert = lambda v: to_integer(float(v) if source.is_float else int(v), target, saturate)
        return np.array([convert(v) for v in x], dtype=object).astype(target.numpy)
    through = x.astype(np.float32) if target.size < 4 else x
    exact = through.astype(np.float64)
    if saturate and source.is_float and target is not F64:
        import ml_dtypes

        largest = float(ml_dtypes.finfo(target.numpy).max)
        exact = np.where(np.isnan(exact), exact, np.clip(exact, -largest, largest))
    elif saturate and target in (F16, E4M3, E5M2):
        largest = {F16: 65504.0, E4M3: 448.0, E5M2: 57344.0}[target]
        exact = np.clip(exact, -largest, largest)
    if target is E4M3:  # no infinity: beyond 464, half way to the next number, NaN
        exact = np.where(np.abs(exact) > 464, np.nan, exact)
    return exact


def to_integer(value: float | int, target: DataType, saturate: bool) -> int:
    info = np.iinfo(target.numpy)
    if isinstance(value, float):
        if math.isnan(value) or (math.isinf(value) and not saturate):
            return 0
        if math.isinf(value):
            return info.max if value > 0 else info.min
        value = math.trunc(value)
    return min(max(value, info.min), info.max) if saturate else judges.wrapped(value, target.numpy)


# -- powers, clip, lrelu, composites ------------------------------------------------------------------------------------------


def power(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    function = ops.PUBLIC["pow"]
    shape = values.shape(rng)
    if dtype.is_float:
        a = values.numbers(rng, dtype, shape, 0.1, 4.0)
        b = values.numbers(rng, dtype, values.broadcastable(rng, shape, False), -3.0, 3.0)
        judge = judges.through_torch(torch.pow)
        yield Case(name, "tensors", (a, b), function, (judge(a, b),), (dtype,), bound("pow", dtype), axes=axis_names(a, b))
        for exponent in (0, 0.5, -0.5, 2, -2, 3, -1, 1, 2.25):
            expected = (np.power(a.astype(np.float64), exponent),)
            call = lambda t, e=exponent: function(t, e)
            yield Case(name, f"to{exponent}", (a,), call, expected, (dtype,), bound("pow", dtype), axes=axis_names(a))
        return
    a = values.salted(rng, dtype, shape)
    b = rng.integers(0, 9, shape).astype(dtype.numpy)
    expected = (judges.by_integers(lambda x, y: x**y)(a, b),)
    yield Case(name, "tensors", (a, b), function, expected, (dtype,), axes=axis_names(a, b))
    for exponent in (0, 1, 2, 3, 7, 33):
        expected = (judges.by_integers(lambda x, e=exponent: x**e)(a),)
        yield Case(name, f"to{exponent}", (a,), lambda t, e=exponent: function(t, e), expected, (dtype,), axes=axis_names(a))


def clip(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    x = values.salted(rng, dtype, values.shape(rng))
    for low, high in ((1, 5), (None, 3), (2, None), (5, 1), (None, None)):
        expected = wide_if_float(x)
        expected = expected if low is None else np.maximum(expected, np.array(low, expected.dtype))
        expected = expected if high is None else np.minimum(expected, np.array(high, expected.dtype))
        call = lambda t, a=low, b=high: ops.PUBLIC["clip"](t, a, b)
        yield Case(name, f"{low}-{high}", (x,), call, (expected,), (dtype,), axes=axis_names(x))


def lrelu(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    for slope in (0.01, 0.0, 2.5):
        x = values.salted(rng, dtype, values.shape(rng))
        wide, used = x.astype(np.float64), float(np.float32(slope))
        with np.errstate(invalid="ignore"):
            expected = np.where(wide >= 0, wide, used * wide)
        call = lambda t, s=slope: ops.PUBLIC["lrelu"](t, s)
        yield Case(name, str(slope), (x,), call, (expected,), (dtype,), bound("lrelu", dtype), axes=axis_names(x))


def softmax(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    for _ in range(2):
        x = values.numbers(rng, dtype, values.shape(rng))
        axis = int(rng.integers(-x.ndim, x.ndim))
        expected = torch.softmax(judges.torch_of(x), axis).numpy()
        limit = bound("softmax", dtype, x.shape[axis])
        call = lambda t, a=axis: ops.PUBLIC["softmax"](t, a)
        yield Case(name, f"axis{axis}", (x,), call, (expected,), (dtype,), limit, axes=own_axes(x))
    x = np.array([[-np.inf, -np.inf], [0, -np.inf], [np.inf, 0]], np.float32).astype(dtype.numpy)
    expected = torch.softmax(judges.torch_of(x), 1).numpy()
    call = lambda t: ops.PUBLIC["softmax"](t, 1)
    yield Case(name, "infinite", (x,), call, (expected,), (dtype,), bound("softmax", dtype, 2), axes=own_axes(x))


def rms_norm(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    x = values.numbers(rng, dtype, values.shape(rng))
    gamma = values.numbers(rng, dtype, x.shape[-1:])
    wide = x.astype(np.float64)
    norm = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)
    limit = bound("rms_norm", dtype, x.shape[-1])
    yield Case(name, "plain", (x,), ops.PUBLIC[name], (norm,), (dtype,), limit, axes=own_axes(x))
    axes = (tuple(f"axis{i}" for i in range(x.ndim - 1)) + ("",), ("",))
    yield Case(name, "gamma", (x, gamma), ops.PUBLIC[name], (norm * gamma.astype(np.float64),), (dtype,), limit, axes=axes)


# -- matmul -------------------------------------------------------------------------------------------------------------------

RESULTS = {F16: (F16, F32), B16: (B16, F32), F32: (F32,), I8: (I32,), E4M3: (F16, B16, F32), E5M2: (F16, B16, F32)}


def matmul(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    for out in RESULTS[dtype]:
        for turn in range(4):
            a_trans, b_trans = bool(turn & 1), bool(turn & 2)
            yield product(name, dtype, out, a_trans, b_trans, rng)


def product(name: str, dtype: DataType, out: DataType, a_trans: bool, b_trans: bool, rng: np.random.Generator) -> Case:
    """Sizes from one element to past a vector's width; batch axes equal or 1."""
    m, k, n = (int(rng.choice([1, 3, 8, 17, 33])) for _ in range(3))
    batch = tuple(int(b) for b in rng.integers(1, 4, int(rng.integers(0, 3))))
    heads = [tuple(1 if rng.random() < 0.3 else b for b in batch) for _ in range(2)]
    a = values.numbers(rng, dtype, (*heads[0], m, k), -2, 2)
    b = values.numbers(rng, dtype, (*heads[1], k, n), -2, 2)
    wide = [x.astype(np.float64 if dtype.is_float else np.int64) for x in (a, b)]
    expected, magnitude = np.matmul(*wide), np.matmul(*map(np.abs, wide))
    names = [tuple("" if s == 1 else f"batch{i}" for i, s in enumerate(head)) for head in heads]
    first = (*names[0], "k", "m") if a_trans else (*names[0], "m", "k")
    second = (*names[1], "n", "k") if b_trans else (*names[1], "k", "n")
    inputs = tuple(np.ascontiguousarray(np.swapaxes(x, -1, -2)) if t else x for x, t in ((a, a_trans), (b, b_trans)))
    call = lambda x, y: ops.PUBLIC["matmul"](x, y, out, a_trans=a_trans, b_trans=b_trans)
    label = f"{out.label}-{m}x{k}x{n}{'-a' * a_trans}{'-b' * b_trans}"
    return Case(name, label, inputs, call, (expected,), (out,), bound("matmul", out, k), magnitude, axes=(first, second))


# -- movement -----------------------------------------------------------------------------------------------------------------


def movement(judge: Callable[[np.random.Generator, np.ndarray], tuple[Callable[..., object], np.ndarray]]) -> Maker:
    def maker(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
        if dtype.is_float and dtype not in (*FLOATS, F64, E4M3, E5M2):
            return
        for label in ("one", "two"):
            x = values.salted(rng, dtype, values.shape(rng))
            call, expected = judge(rng, x)
            yield Case(name, label, (x,), call, (wide_if_float(expected),), (dtype,), axes=own_axes(x))

    return maker


def _permute(rng: np.random.Generator, x: np.ndarray) -> tuple[Callable[..., object], np.ndarray]:
    order = [int(i) for i in rng.permutation(x.ndim)]
    return lambda t: ops.PUBLIC["permute"](t, [i - x.ndim if i % 2 else i for i in order]), np.transpose(x, order)


def _transpose(rng: np.random.Generator, x: np.ndarray) -> tuple[Callable[..., object], np.ndarray]:
    first, second = (int(i) for i in rng.integers(0, x.ndim, 2))
    return lambda t: ops.PUBLIC["transpose"](t, first, second), np.swapaxes(x, first, second)


def _clone(rng: np.random.Generator, x: np.ndarray) -> tuple[Callable[..., object], np.ndarray]:
    return ops.PUBLIC["clone"], x


def _unsqueeze(rng: np.random.Generator, x: np.ndarray) -> tuple[Callable[..., object], np.ndarray]:
    axis = int(rng.integers(-x.ndim - 1, x.ndim + 1))
    return lambda t: ops.PUBLIC["unsqueeze"](t, axis), np.expand_dims(x, axis)


def _view(rng: np.random.Generator, x: np.ndarray) -> tuple[Callable[..., object], np.ndarray]:
    """Windows that may reach past the end."""
    offsets = [int(rng.integers(0, n)) for n in x.shape]
    shape = [int(rng.integers(1, n + 3)) for n in x.shape]
    place = tuple(slice(o, o + s) for o, s in zip(offsets, shape, strict=True))
    return lambda t: ops.PUBLIC["view"](t, shape, offsets), x[place]


def expand_clone(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    if dtype not in STORED:
        return
    full = values.shape(rng)
    x = values.salted(rng, dtype, values.broadcastable(rng, full, False))
    call = lambda t: ops.PUBLIC["expand_clone"](
        t, [f if o == 1 else s for f, o, s in zip(full, x.shape, t.type.shape, strict=True)]
    )
    yield Case(name, "axes", (x,), call, (wide_if_float(np.broadcast_to(x, full)),), (dtype,), axes=axis_names(x))


def reshape(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    """Splits and joins of axes; the leading axis partial."""
    if dtype not in STORED:
        return
    a, b, c = (int(i) for i in rng.integers(1, 7, 3))
    x = values.salted(rng, dtype, (a, b, c))
    for label, target in (("join", (-1, b * c)), ("split", (-1, b, 1, c)), ("same", (-1, b, c))):
        call = lambda t, target=target: ops.PUBLIC["reshape"](t, list(target))
        expected = (wide_if_float(x.reshape(target)),)
        yield Case(name, label, (x,), call, expected, (dtype,), axes=(("rows", "", ""),))


def concat(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    if dtype not in STORED:
        return
    full = values.shape(rng)
    axis = int(rng.integers(0, len(full)))
    parts = tuple(
        values.salted(rng, dtype, (*full[:axis], int(rng.integers(1, 5)), *full[axis + 1 :]))
        for _ in range(int(rng.integers(2, 5)))
    )
    common = [f"axis{i}" for i in range(len(full))]
    axes = [[*common[:axis], "", *common[axis + 1 :]] for _ in parts]
    axes[-1][axis] = "last"
    expected = (wide_if_float(np.concatenate(parts, axis)),)
    call = lambda *t: ops.PUBLIC["concat"](list(t), axis - len(full))
    yield Case(name, f"axis{axis}", parts, call, expected, (dtype,), axes=tuple(map(tuple, axes)))


# -- creation, scans, indexing --------------------------------------------------------------------------------------------------


def full(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    shape = values.shape(rng)
    value = True if dtype is BOOL else 3 if not dtype.is_float else 1.5
    call = lambda: ops.PUBLIC["full"](list(shape), value, dtype)
    yield Case(name, "value", (), call, (np.full(shape, value),), (dtype,))


def arange(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    for bounds in ((7,), (2, 9), (9, -3, -2), (0, 40, 3)):
        given = tuple(float(b) for b in bounds) if dtype is F32 else bounds
        expected = np.arange(*bounds).astype(np.float64 if dtype is F32 else np.int32)
        yield Case(name, str(bounds), (), lambda g=given: ops.PUBLIC["arange"](*g), (expected,), (dtype,), bound("arange", dtype))


def cumsum(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    for _ in range(2):
        x = values.numbers(rng, dtype, values.shape(rng))
        axis = int(rng.integers(-x.ndim, x.ndim))
        wide = x.astype(np.float64) if dtype.is_float else x.astype(np.int64)
        expected, magnitude = np.cumsum(wide, axis), np.cumsum(np.abs(wide), axis)
        result = dtype if dtype.is_float else I64
        limit = bound("cumsum", result, x.shape[axis])
        call = lambda t, a=axis: ops.PUBLIC["cumsum"](t, a)
        yield Case(name, f"axis{axis}", (x,), call, (expected,), (result,), limit, magnitude, axes=own_axes(x))


def triangle(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    for diagonal in (0, 2, -1):
        x = values.salted(rng, dtype, values.shape(rng, int(rng.integers(2, 5))))
        row, column = np.indices(x.shape[-2:])
        keep = column - row <= diagonal if name == "tril" else column - row >= diagonal
        expected = np.where(keep, wide_if_float(x), np.zeros((), wide_if_float(x).dtype))
        call = lambda t, d=diagonal: ops.PUBLIC[name](t, d)
        yield Case(name, f"diagonal{diagonal}", (x,), call, (expected,), (dtype,), axes=own_axes(x))


def topk(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    for largest in (True, False):
        x = values.salted(rng, dtype, values.shape(rng))
        k = int(rng.integers(1, x.shape[-1] + 1))
        rows = [ranked(row, largest)[:k] for row in x.reshape(-1, x.shape[-1])]
        place = np.array(rows).reshape(*x.shape[:-1], k)
        expected = (np.take_along_axis(wide_if_float(x), place, -1), place)
        call = lambda t, k=k, largest=largest: ops.PUBLIC["topk"](t, k, largest=largest)
        yield Case(name, f"k{k}-{largest}", (x,), call, expected, (dtype, I32), axes=own_axes(x))


def ranked(row: np.ndarray, largest: bool) -> list[int]:
    """Positions in order by Python's stable sort; NaN is the largest."""
    values = [float(v) if BY_NUMPY[row.dtype].is_float else int(v) for v in row]
    key = lambda i: (values[i] != values[i], 0 if values[i] != values[i] else values[i])
    return (
        sorted(range(len(values)), key=key, reverse=False)
        if not largest
        else sorted(sorted(range(len(values))), key=lambda i: tuple(-part for part in key(i)))
    )


def gather(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    for kind in (np.int32, np.int64):
        x = values.salted(rng, dtype, values.shape(rng))
        axis = int(rng.integers(-x.ndim, x.ndim))
        sizes = [int(rng.integers(1, n + 1)) for n in x.shape]
        sizes[axis] = int(rng.integers(1, 7))
        index = rng.integers(0, x.shape[axis], sizes).astype(kind)
        expected = (np.take_along_axis(wide_if_float(x)[tuple(slice(0, n) for n in around(x, sizes, axis))], index, axis),)
        call = lambda t, i, a=axis: ops.PUBLIC["gather"](t, a, i)
        names = (tuple(f"a{i}" for i in range(x.ndim)), ("",) * x.ndim)
        yield Case(name, f"axis{axis}", (x, index), call, expected, (dtype,), axes=names)


def around(x: np.ndarray, sizes: list[int], axis: int) -> list[int]:
    cut = list(sizes)
    cut[axis] = x.shape[axis]
    return cut


def index_select(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    for shape in ((5,), (2, 3)):
        x = values.salted(rng, dtype, values.shape(rng, int(rng.integers(1, 4))))
        axis = int(rng.integers(-x.ndim, x.ndim))
        index = rng.integers(0, x.shape[axis], shape).astype(np.int32)
        expected = (np.take(wide_if_float(x), index, axis),)
        call = lambda t, i, a=axis: ops.PUBLIC["index_select"](t, a, i)
        yield Case(name, f"axis{axis}", (x, index), call, expected, (dtype,), axes=own_axes(x, index))


def scatter_update(name: str, dtype: DataType, rng: np.random.Generator) -> Iterator[Case]:
    call = lambda t, i, s: ops.PUBLIC["scatter_update"](t, -2, i, s)
    x, source = values.salted(rng, dtype, (12, 5)), values.salted(rng, dtype, (6, 5))
    index = rng.permutation(12)[:6].reshape(2, 3).astype(np.int32)
    expected = wide_if_float(x).copy()
    expected[index.reshape(-1)] = wide_if_float(source)
    axes = (("rows", "columns"), ("index", ""), ("", "columns"))
    yield Case(name, "rank2", (x, index, source), call, (expected,), (dtype,), axes=(axes[0], ("", ""), axes[2]))
    x, source = values.salted(rng, dtype, (3, 4, 1, 5)), values.salted(rng, dtype, (2, 3, 1, 5))
    expected = wide_if_float(x).copy()
    expected.reshape(12, 5)[index.reshape(-1)] = wide_if_float(source).reshape(6, 5)
    yield Case(name, "rank4", (x, index.astype(np.int64), source), call, (expected,), (dtype,))


# Element types of rows that have none of their own (composites), or whose column lists more than can be judged here.
COMPOSITE_DTYPES: dict[str, tuple[DataType, ...]] = {
    "sigmoid": FLOATS,
    "softmax": FLOATS,
    "rms_norm": FLOATS,
    "clip": NUMBERS,
    "transpose": STORED,
    "unsqueeze": STORED,
    "permute": STORED,
    "clone": STORED,
    "view": STORED,
    "pow": (*FLOATS, *INTEGERS),
    "where": (BOOL,),
    "logical_and": (*NUMBERS, BOOL),
    "logical_or": (*NUMBERS, BOOL),
}

OTHERS: dict[str, Maker] = {
    "cast": cast,
    "pow": power,
    "clip": clip,
    "lrelu": lrelu,
    "softmax": softmax,
    "rms_norm": rms_norm,
    "matmul": matmul,
    "permute": movement(_permute),
    "transpose": movement(_transpose),
    "clone": movement(_clone),
    "unsqueeze": movement(_unsqueeze),
    "view": movement(_view),
    "reshape": reshape,
    "expand_clone": expand_clone,
    "concat": concat,
    "full": full,
    "arange": arange,
    "cumsum": cumsum,
    "tril": triangle,
    "triu": triangle,
    "topk": topk,
    "gather": gather,
    "index_select": index_select,
    "scatter_update": scatter_update,
}
