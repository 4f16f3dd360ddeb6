"""Vector rows that are not maps or reductions: fused, compared, selected, gathered, sorted, cast, padded, filled, quantised."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pypto.cores.enums import FillPadMode, MemorySpace, QuantMode, RoundMode, TensorLayout, TilePad
from pypto.dtypes import DataType
from pypto.errors.base import UserError
from tile.vector_cases import Operand, check, execute
from tile.vector_values import FLOATS, INTEGERS, NO_8, NO_64, STORED, VALID, expected, same, values, wrap

D = DataType
F16, B16, F32 = D.DT_FP16, D.DT_BF16, D.DT_FP32
ND, DN, NZ = TensorLayout.ND, TensorLayout.DN, TensorLayout.NZ
SHAPE = (16, 32)

COVERED = {
    *("add_relu", "sub_relu", "add_relu_cast", "sub_relu_cast", "mul_cast", "mul_add_dst", "fused_mul_add", "fused_mul_add_relu"),
    *("addc", "subc", "addsc", "subsc", "axpy", "partadd", "partmul", "partmax", "partmin"),
    *("eq", "ne", "lt", "le", "gt", "ge", "cmp", "cmps", "select", "sel", "sels"),
    *("gather", "gatherb", "gathermask", "scatter", "histogram", "sort32", "mrgsort", "mrgsort2"),
    *("cast", "fillpad", "fillpad_expand", "fillpad_inplace", "transpose", "ub_copy", "reshape", "expands", "full", "fill_index"),
    *("quant", "dequant"),
}


def tile(dtype, valid, seed=0, layout=ND, shape=SHAPE, **facts):
    return Operand(shape, dtype, values(dtype, valid, seed), layout=layout, **facts)


def blank(dtype, valid, layout=ND, shape=SHAPE, **facts):
    return Operand(shape, dtype, valid=valid, layout=layout, **facts)


def element_types(name, make, **keywords):
    """Element types that the static check accepts."""
    found = set()
    for dtype in STORED:
        try:
            check(name, make(dtype), keywords)
        except UserError:
            continue
        found.add(dtype)
    return found


# ------------------------------------------------------------------------------------------------------------------ fused


def relu(x):
    return np.where(x > 0, x, 0)


STEPS = {  # first step, kept in lhs; second step; of lhs, rhs, out
    "add_relu": (lambda a, b, o: a + b, lambda t, b, o: relu(t)),
    "sub_relu": (lambda a, b, o: a - b, lambda t, b, o: relu(t)),
    "mul_add_dst": (lambda a, b, o: a * b, lambda t, b, o: t + o),
    "fused_mul_add": (lambda a, b, o: a * o, lambda t, b, o: t + b),
    "fused_mul_add_relu": (lambda a, b, o: o * a, lambda t, b, o: relu(t + b)),
}


@pytest.mark.parametrize("name", STEPS)
def test_lhs_is_overwritten(name):
    first, second = STEPS[name]
    types = element_types(name, lambda dtype: tuple(Operand(SHAPE, dtype) for _ in range(3)))
    assert types == (NO_8 | FLOATS if "mul" in name else {D.DT_INT16, D.DT_INT32} | FLOATS)
    for dtype in types:
        for layout in (ND, DN, NZ):
            for valid in VALID:
                out, lhs, rhs = (tile(dtype, valid, seed, layout) for seed in range(3))
                views = execute(name, out, lhs, rhs)
                kept = expected(first, dtype, lhs.values, rhs.values, out.values)
                same(views[1].read(), kept)
                same(views[0].read(), _result(second, dtype, kept, rhs.values, out.values))


def _result(second, dtype, kept, rhs, out):
    if second is STEPS["fused_mul_add_relu"][1]:  # the sum is rounded before it is cut
        return expected(relu, dtype, expected(lambda t, b: t + b, dtype, kept, rhs))
    return expected(second, dtype, kept, rhs, out)


@pytest.mark.parametrize("name", ["add_relu_cast", "sub_relu_cast", "mul_cast"])
def test_kept_and_cast(name):
    step = {"add": lambda a, b: relu(a + b), "sub": lambda a, b: relu(a - b), "mul": lambda a, b: a * b}[name[:3]]
    for target, mode in ((F16, RoundMode.CAST_RINT), (F16, RoundMode.CAST_ROUND), (D.DT_INT8, RoundMode.CAST_TRUNC)):
        for valid in VALID:
            lhs, rhs = tile(F32, valid, 1), tile(F32, valid, 2)
            views = execute(name, blank(target, valid), lhs, rhs, target_type=target, mode=mode)
            kept = expected(step, F32, lhs.values, rhs.values)
            same(views[1].read(), kept)
            converted, *_ = execute("cast", blank(target, valid), Operand(SHAPE, F32, kept), mode=mode)
            same(views[0].read(), converted.read())


@pytest.mark.parametrize("name", ["addc", "subc", "addsc", "subsc"])
def test_three_terms(name):
    scalar = name.endswith("sc")
    formula = (lambda a, b, c: a + b + c) if name.startswith("add") else (lambda a, b, c: a - b - c)
    for dtype in INTEGERS:
        for valid in VALID:
            lhs, rhs, third = (tile(dtype, valid, seed) for seed in range(3))
            out, *_ = execute(name, blank(dtype, valid), lhs, 3 if scalar else rhs, third)
            same(out.read(), expected(formula, dtype, lhs.values, np.array(3) if scalar else rhs.values, third.values))
    lhs, rhs, third = (Operand(SHAPE, B16, np.full((2, 3), number).astype(B16.numpy)) for number in (256.0, 1.0, 1.0))
    out, *_ = execute(name, blank(B16, (2, 3)), lhs, 1.0 if scalar else rhs, third)
    assert out.read().astype(float).tolist() == [[258.0 if name.startswith("add") else 254.0] * 3] * 2  # rounded once


@pytest.mark.parametrize("out_type, src_type", [(F32, F32), (F16, F16), (F32, F16)])
def test_axpy(out_type, src_type):
    for valid in VALID:
        out, src = tile(out_type, valid, 1), tile(src_type, valid, 2)
        view, *_ = execute("axpy", out, src, 0.3)
        product = src.values.astype(np.float32) * np.float32(0.3).astype(src_type.numpy).astype(np.float32)
        same(view.read(), (out.values.astype(np.float32) + product).astype(out_type.numpy))


@pytest.mark.parametrize(
    "name, function", [("partadd", np.add), ("partmul", np.multiply), ("partmax", np.maximum), ("partmin", np.minimum)]
)
def test_partial(name, function):
    for dtype in (D.DT_INT32, F16, F32):
        for first, second in (((5, 7), (3, 7)), ((3, 4), (5, 7)), ((5, 7), (5, 7)), ((5, 7), (0, 7)), ((0, 7), (0, 7))):
            valid = max(first, second)
            one, other = tile(dtype, first, 1), tile(dtype, second, 2)
            out, *_ = execute(name, blank(dtype, valid), one, other)
            wanted = (one if first == valid else other).values.copy()
            common = tuple(slice(min(pair)) for pair in zip(first, second, strict=True))
            with np.errstate(all="ignore"):
                wanted[common] = function(
                    one.values[common].astype(np.float32 if dtype.is_float else dtype.numpy), other.values[common]
                ).astype(dtype.numpy)
            same(out.read(), wanted)
    out, *_ = execute(name, blank(F32, (0, 0)), tile(F32, (2, 2)), tile(F32, (0, 0)))  # nothing to do


# ------------------------------------------------------------------------------------------------------------- comparison

COMPARED = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


def packed(truth):
    return np.packbits(truth, axis=1, bitorder="little")


def close(dtype, valid):
    """Two arrays with equal elements here and there."""
    first, second = values(dtype, valid, 1), values(dtype, valid, 2)
    return first, np.where(np.random.default_rng(3).random(valid) < 0.3, first, second)


@pytest.mark.parametrize("name", COMPARED)
def test_comparisons(name):
    code = list(COMPARED).index(name)
    types = element_types(name, lambda dtype: (Operand(SHAPE, D.DT_UINT8), Operand(SHAPE, dtype), Operand(SHAPE, dtype)))
    assert types == INTEGERS | FLOATS
    for dtype in types:
        for layout in (ND, DN, NZ):
            for valid in VALID:
                first, second = close(dtype, valid)
                lhs, rhs = Operand(SHAPE, dtype, first, layout=layout), Operand(SHAPE, dtype, second, layout=layout)
                wanted = packed(COMPARED[name](first.astype(np.float32) if dtype.is_float else first, second))
                for operation, keywords in ((name, {}), ("cmp", {"cmp_mode": code})):
                    mask, *_ = execute(operation, blank(D.DT_UINT8, valid), lhs, rhs, **keywords)
                    same(mask.read_block(0, 0, *wanted.shape), wanted)


@pytest.mark.parametrize("name", COMPARED)
def test_comparisons_with_a_number(name):
    code = list(COMPARED).index(name)
    for dtype in INTEGERS | FLOATS:
        data = values(dtype, (5, 13), 1)
        data[1, 2] = 3
        wanted = packed(
            COMPARED[name](
                data.astype(np.float32) if dtype.is_float else data, np.float32(3) if dtype.is_float else dtype.numpy.type(3)
            )
        )
        for operation, keywords in ((name, {}), ("cmps", {"cmp_mode": code})):
            mask, *_ = execute(operation, blank(D.DT_UINT8, (5, 13)), Operand(SHAPE, dtype, data), 3, **keywords)
            same(mask.read_block(0, 0, 5, 2), wanted)


def test_nan_compares_unequal():
    data = np.array([[np.nan, 1.0]], np.float32)
    for name, wanted in (("eq", 2), ("ne", 1), ("lt", 0), ("ge", 2)):
        mask, *_ = execute(name, blank(D.DT_UINT8, (1, 2)), Operand(SHAPE, F32, data), Operand(SHAPE, F32, data))
        assert int(mask.read_block(0, 0, 1, 1)[0, 0]) == wanted


@pytest.mark.parametrize("name, scalar", [("select", False), ("sel", False), ("select", True), ("sels", True)])
def test_selection(name, scalar):
    right = (lambda dtype: 3) if scalar else (lambda dtype: Operand(SHAPE, dtype))
    types = element_types(
        name,
        lambda dtype: (
            Operand(SHAPE, dtype),
            Operand(SHAPE, D.DT_UINT8),
            Operand(SHAPE, dtype),
            right(dtype),
            Operand(SHAPE, dtype),
        ),
    )
    assert types == INTEGERS | (FLOATS - {B16} if scalar else FLOATS)
    for dtype in types:
        for layout in (ND, DN, NZ):
            for valid in VALID:
                truth = np.random.default_rng(5).random(valid) < 0.5
                lhs, rhs = tile(dtype, valid, 1, layout), tile(dtype, valid, 2, layout)
                mask = Operand(SHAPE, D.DT_UINT8, packed(truth))
                out, *_ = execute(name, blank(dtype, valid, layout), mask, lhs, 3 if scalar else rhs, blank(dtype, valid))
                same(out.read(), np.where(truth, lhs.values, dtype.numpy.type(3) if scalar else rhs.values))


# -------------------------------------------------------------------------------------------------------------- gathering


def test_gather_by_index():
    for dtype in INTEGERS | FLOATS:
        index_type = D.DT_INT32 if dtype.size == 8 else D.DT_UINT16
        for valid in VALID:
            src = tile(dtype, (16, 32), 1)
            indices = np.random.default_rng(2).integers(0, 512, valid).astype(index_type.numpy)
            idx = Operand(SHAPE, index_type, indices)
            out, *_ = execute("gather", blank(dtype, valid), src, idx, blank(index_type, valid))
            same(out.read(), src.values.reshape(-1)[indices])


def test_gather_of_matches():
    data = np.array([[5, 1, 7, 5, 9], [5, 5, 0, 0, 0], [1, 2, 3, 4, 4]], np.float32)
    limits = np.array([[5], [4], [4]], np.float32)
    out_shape, src = (16, 32), Operand(SHAPE, F32, data)
    for mode, wanted in ((4, [[2, 4], [0, 1], []]), (0, [[0, 3], [], [3, 4]])):
        for bound in (Operand((16, 8), F32, limits), 5.0):
            if bound == 5.0:
                wanted = [[2, 4], [], []] if mode == 4 else [[0, 3], [0, 1], []]
            counts = Operand((16, 8), D.DT_UINT32, valid=(3, 1))
            views = execute(
                "gather",
                Operand(out_shape, D.DT_UINT32, valid=(3, 5)),
                src,
                bound,
                counts,
                blank(F32, (3, 5)),
                cmp_mode=mode,
                offset=100,
            )
            assert views[3].read().ravel().tolist() == [len(row) for row in wanted]
            for row, columns in enumerate(wanted):
                assert views[0].read_block(row, 0, 1, len(columns)).ravel().tolist() == [100 + column for column in columns]


def test_gather_of_blocks():
    for dtype in (D.DT_INT8, F16, F32, D.DT_INT64):
        for valid in ((16, 32), (5, 32), (16, 7), (1, 1), (0, 32)):
            src = tile(dtype, (16, 32), 1)
            blocks = -(-valid[1] * dtype.size // 32)
            starts = np.random.default_rng(2).integers(0, 16 * dtype.size, (valid[0], blocks)).astype(np.uint32) * 32
            out, *_ = execute("gatherb", blank(dtype, valid), src, Operand((16, 32), D.DT_UINT32, starts))
            whole = src.values.tobytes()
            rows = [b"".join(whole[start : start + 32] for start in row) for row in starts.tolist()]
            wanted = np.frombuffer(b"".join(rows), dtype.numpy).reshape(valid[0], blocks * 32 // dtype.size)[:, : valid[1]]
            same(out.read(), wanted)


@pytest.mark.parametrize(
    "mode, pattern",
    [
        (1, slice(0, None, 2)),
        (2, slice(1, None, 2)),
        (3, slice(0, None, 4)),
        (4, slice(1, None, 4)),
        (5, slice(2, None, 4)),
        (6, slice(3, None, 4)),
        (7, slice(None)),
    ],
)
def test_gather_by_pattern(mode, pattern):
    for dtype in (D.DT_UINT8, F16, D.DT_INT64):
        for valid in ((16, 32), (5, 32), (16, 7), (0, 32)):
            src = tile(dtype, valid, 1)
            wanted = src.values[:, pattern]
            out, *_ = execute("gathermask", blank(dtype, wanted.shape), src, pattern_mode=mode)
            same(out.read(), wanted)


def test_scatter():
    for dtype in INTEGERS | FLOATS:
        index_type = D.DT_INT16 if dtype.size <= 2 else D.DT_UINT32
        for valid in VALID:
            src, out = tile(dtype, valid, 1), tile(dtype, (16, 32), 4)
            indices = np.random.default_rng(2).permutation(512)[: valid[0] * valid[1]].reshape(valid).astype(index_type.numpy)
            view, *_ = execute("scatter", out, src, Operand(SHAPE, index_type, indices))
            wanted = out.values.copy()
            wanted.reshape(-1)[indices.reshape(-1)] = src.values.reshape(-1)
            same(view.read(), wanted)


def test_histogram():
    random = np.random.default_rng(1)
    for dtype in (D.DT_UINT16, D.DT_UINT32):
        for valid in ((16, 32), (5, 20), (1, 1), (0, 32)):
            data = random.integers(0, 4, valid).astype(dtype.numpy) << (8 * (dtype.size - 1))
            data |= random.integers(0, 256, valid).astype(dtype.numpy)
            prefixes = random.integers(0, 4, (valid[0], 1)).astype(np.uint8)
            idx = Operand((32, 1), D.DT_UINT8, prefixes, layout=DN)
            if dtype.size == 4:
                idx = Operand((3, 32), D.DT_UINT8, np.vstack([prefixes.T, np.zeros((2, valid[0]), np.uint8)]))
            for top in (True, False):
                dst, *_ = execute(
                    "histogram",
                    Operand((16, 256), D.DT_UINT32, valid=(valid[0], 256)),
                    Operand(SHAPE, dtype, data),
                    idx,
                    is_msb=top,
                )
                for row in range(valid[0]):
                    high = data[row] >> (8 * (dtype.size - 1))
                    chosen = high if top else data[row][high == prefixes[row, 0]] & 255
                    assert dst.read()[row].tolist() == np.bincount(chosen.astype(int), minlength=256).tolist()


# ---------------------------------------------------------------------------------------------------------------- sorting


def split(stored, dtype):
    """Values and indices of a row of records."""
    words = np.ascontiguousarray(stored).view(np.uint8).reshape(-1, 8)
    return words[:, : dtype.size].copy().view(dtype.numpy).ravel(), words[:, 4:].copy().view(np.uint32).ravel()


@pytest.mark.parametrize("dtype", [F16, F32])
def test_sort_groups(dtype):
    width = 8 // dtype.size
    for rows, columns, shared in ((16, 64, True), (5, 64, False), (3, 40, True), (1, 1, True), (0, 64, True), (2, 0, True)):
        data = np.random.default_rng(1).integers(-5, 5, (rows, columns)).astype(dtype.numpy)  # many equal ones
        indices = np.arange((1 if shared else rows) * columns, dtype=np.uint32).reshape(1 if shared else rows, columns) + 7
        groups = -(-columns // 32)
        dst = Operand((16, 64 * width), dtype, valid=(rows, 32 * groups * width))
        scratch = Operand((16, 64), dtype)
        found, *_ = execute("sort32", dst, Operand((16, 64), dtype, data), Operand((16, 64), D.DT_UINT32, indices), scratch)
        for row in range(rows):
            got, places = split(found.read()[row], dtype)
            for group in range(groups):
                part = slice(32 * group, 32 * group + 32)
                order = sorted(range(len(data[row][part])), key=lambda i: (-float(data[row][part][i]), i))
                filled = 32 - len(order)
                assert got[part].tolist() == [data[row][part][i] for i in order] + [-np.inf] * filled
                assert places[part].tolist() == [indices[0 if shared else row][part][i] for i in order] + [0] * filled


def sorted_run(dtype, count, seed):
    numbers = -np.sort(-np.random.default_rng(seed).integers(-9, 9, count)).astype(dtype.numpy)
    words = np.zeros((count, 8), np.uint8)
    words[:, : dtype.size] = numbers[:, None].view(np.uint8)
    words[:, 4:] = (np.arange(count, dtype=np.uint32) + 1000 * seed)[:, None].view(np.uint8)
    return words


def merged(runs, dtype):
    """Bytes of all records, greatest first, earlier runs first among equals."""
    records = [bytes(record) for run in runs for record in run]
    return b"".join(sorted(records, key=lambda record: -float(np.frombuffer(record[: dtype.size], dtype.numpy)[0])))


def stored(runs, dtype):
    return np.frombuffer(b"".join(run.tobytes() for run in runs), dtype.numpy)[None, :]


@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize("sizes", [[32] * 4, [32] * 8, [32, 32], [32, 32, 32, 32, 20]])
def test_merge_of_blocks(dtype, sizes):
    runs = [sorted_run(dtype, size, seed) for seed, size in enumerate(sizes)]
    source = stored(runs, dtype)
    wanted = b"".join(merged(runs[at : at + 4], dtype) for at in range(0, len(runs), 4))
    shape = (1, source.shape[1])
    dst, *_ = execute(
        "mrgsort", Operand(shape, dtype, valid=shape), Operand(shape, dtype, source), block_len=32 * 8 // dtype.size
    )
    assert dst.read().tobytes() == wanted


@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize("sizes", [(32, 32), (10, 40, 3), (8, 8, 8, 8)])
def test_merge_of_tiles(dtype, sizes):
    width = 8 // dtype.size
    runs = [sorted_run(dtype, size, seed) for seed, size in enumerate(sizes)]
    first, second, *extra = (Operand((1, 64 * width), dtype, stored([run], dtype)) for run in runs)
    wanted = merged(runs, dtype)
    for kept in (sum(sizes), 7):
        dst = Operand((1, 128 * width), dtype, valid=(1, kept * width))
        views = execute("mrgsort2", first, second, dst, Operand((1, 128 * width), dtype), *extra)
        assert views[2].read().tobytes() == wanted[: 8 * kept]
    views = execute(
        "mrgsort2", first, second, Operand((1, 128 * width), dtype), Operand((1, 128 * width), dtype), *extra, exhausted=True
    )
    lasts = [max(at for at in range(0, len(wanted), 8) if wanted[at : at + 8] == bytes(run[-1])) for run in runs]
    assert views[2].read().tobytes()[: min(lasts) + 8] == wanted[: min(lasts) + 8]


# ------------------------------------------------------------------------------------------------------- pads, fills, copies


@pytest.mark.parametrize("pad", [TilePad.zero, TilePad.max, TilePad.min])
def test_padding(pad):
    for dtype in INTEGERS | FLOATS | {D.DT_FP8E4M3, D.DT_FP8E5M2}:
        limits = ml_dtypes.finfo(dtype.numpy) if dtype.is_float else np.iinfo(dtype.numpy)
        number = {TilePad.zero: 0, TilePad.max: limits.max, TilePad.min: limits.min}[pad]
        for layout in (ND, DN, NZ):
            for valid in VALID:
                src = Operand(SHAPE, dtype, values(dtype, valid, 1), layout=layout)
                for shape, name, keywords in (
                    (SHAPE, "fillpad", {}),
                    ((32, 64), "fillpad", {"mode": FillPadMode.EXPAND}),
                    ((32, 64), "fillpad_expand", {}),
                ):
                    out, *_ = execute(name, Operand(shape, dtype, layout=layout, pad=pad), src, **keywords)
                    wanted = np.full(shape, number, dtype.numpy)
                    wanted[: valid[0], : valid[1]] = src.values
                    same(out.read_block(0, 0, *shape), wanted)


@pytest.mark.parametrize("name, keywords", [("fillpad", {"mode": FillPadMode.INPLACE}), ("fillpad_inplace", {})])
def test_padding_in_place(name, keywords):
    for valid in VALID:
        both = Operand(SHAPE, F32, values(F32, valid, 1), pad=TilePad.zero)
        out, *_ = execute(name, both, both, **keywords)
        wanted = np.zeros(SHAPE, np.float32)
        wanted[: valid[0], : valid[1]] = both.values
        same(out.read_block(0, 0, *SHAPE), wanted)


def test_padding_in_l1():
    src = Operand(SHAPE, F16, values(F16, (5, 7), 1), layout=NZ, space=MemorySpace.Mat)
    out, *_ = execute("fillpad", Operand(SHAPE, F16, layout=NZ, space=MemorySpace.Mat, pad=TilePad.zero), src)
    assert out.read_block(5, 0, 11, 32).astype(float).sum() == 0


@pytest.mark.parametrize("name", ["expands", "full"])
def test_fill(name):
    for dtype in INTEGERS | FLOATS:
        for layout in (ND, DN, NZ):
            for valid in VALID:
                for number, wanted in ((3, 3), (2.75, 2.75 if dtype.is_float else 2), (-1, -1)):
                    out, *_ = execute(name, blank(dtype, valid, layout), number)
                    held = np.array(wanted, np.float32).astype(dtype.numpy) if dtype.is_float else wrap([wanted], dtype)[0]
                    same(out.read(), np.full(valid, held, dtype.numpy))
    out, *_ = execute(name, blank(D.DT_INT32, (1, 3)), float("nan"))
    assert out.read().tolist() == [[0, 0, 0]]
    execute(name, Operand((16, 16), F16, valid=(16, 16), layout=NZ, space=MemorySpace.Mat), 0.0)


def test_fill_index():
    for dtype in (D.DT_INT32, D.DT_INT16, D.DT_UINT16, D.DT_UINT32):
        for columns in (32, 7, 1, 0):
            for start in (0, 5, -3):
                out, *_ = execute("fill_index", Operand((1, 32), dtype, valid=(1, columns)), start)
                same(out.read(), wrap(np.arange(start, start + columns)[None, :], dtype))


def test_copies():
    for dtype in INTEGERS | FLOATS | {D.DT_FP8E4M3}:
        for layout in (ND, DN, NZ):
            for valid in VALID:
                src = Operand(SHAPE, dtype, values(dtype, valid, 1), layout=layout)
                out, *_ = execute("ub_copy", blank(dtype, valid, layout), src)
                same(out.read(), src.values)


def test_transpose():
    types = element_types("transpose", lambda dtype: (Operand((32, 32), dtype), Operand((32, 32), dtype)))
    assert {*NO_64, *FLOATS, D.DT_FP8E4M3, D.DT_FP8E5M2} <= types and not types & {D.DT_INT64, D.DT_UINT64}
    for dtype in NO_64 | FLOATS:
        for valid in ((32, 64), (5, 64), (32, 7), (1, 1), (0, 32)):
            src = Operand((32, 64), dtype, values(dtype, valid, 1))
            out, *_ = execute("transpose", Operand((64, 32), dtype, valid=valid[::-1]), src)
            same(out.read(), src.values.T)


def test_reshape():
    src = Operand(SHAPE, F32, values(F32, SHAPE, 1))
    out, *_ = execute("reshape", Operand((8, 64), F32), src, (8, 64), checked=False)
    same(out.read(), src.values.reshape(8, 64))
    out, *_ = execute("reshape", Operand((16, 32), D.DT_INT32), src, (16, 32), checked=False)
    same(out.read(), src.values.view(np.int32))


# ----------------------------------------------------------------------------------------------------------- quantisation


def test_quantisation():
    for valid in VALID:
        random = np.random.default_rng(1)
        src = Operand(SHAPE, F32, (random.standard_normal(valid) * 60).astype(np.float32))
        scale = Operand((16, 1), F32, random.choice([0.5, 1.0, 3.0], (valid[0], 1)).astype(np.float32), layout=DN)
        offset = Operand((16, 1), F32, random.choice([0.0, 10.0, 128.0], (valid[0], 1)).astype(np.float32), layout=DN)
        product = np.rint((src.values * scale.values).astype(np.float32))
        out, *_ = execute("quant", blank(D.DT_INT8, valid), src, scale)
        same(out.read(), np.clip(product, -128, 127).astype(np.int8))
        out, *_ = execute("quant", blank(D.DT_UINT8, valid), src, scale, mode=QuantMode.ASYM, offset=offset)
        same(out.read(), np.clip(product + offset.values, 0, 255).astype(np.uint8))
        for dtype in (D.DT_INT8, D.DT_INT16):
            whole = tile(dtype, valid, 3)
            out, *_ = execute("dequant", blank(F32, valid), whole, scale, offset)
            same(out.read(), (whole.values.astype(np.float32) - offset.values) * scale.values)


def test_quantisation_rounds_to_even_and_knows_nan():
    src = Operand(SHAPE, F32, np.array([[0.5, 1.5, 2.5, np.nan, np.inf, -np.inf]], np.float32))
    out, *_ = execute("quant", blank(D.DT_INT8, (1, 6)), src, Operand((16, 1), F32, np.ones((1, 1), np.float32), layout=DN))
    assert out.read().tolist() == [[0, 2, 2, 0, 127, -128]]
