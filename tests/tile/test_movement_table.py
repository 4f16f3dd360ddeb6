"""Transfers over element types, layouts and valid extents, against numpy; nothing outside the valid extent changes."""

from __future__ import annotations

import numpy as np
import pytest

from pypto.cores.enums import AccToVecMode, AtomicType, MemorySpace, ReluPreMode, TensorLayout
from pypto.dtypes import DataType
from pypto.errors.tile_matrix import ScaleUnsigned
from pypto.errors.tiles import PackedWindow, ValidExtentsUncovered, WindowLeavesTensor, WindowLeavesTile
from pypto.ops.tile.checks import TRANSFERABLE
from pypto.ops.tile.moves import split
from tile.calls import VALID, outside, poisoned, run, same, tensor, tile, values_of

S, L, D = MemorySpace, TensorLayout, DataType
FP32, FP16, BF16, INT8, INT32 = D.DT_FP32, D.DT_FP16, D.DT_BF16, D.DT_INT8, D.DT_INT32
BYTES = sorted((dtype for dtype in TRANSFERABLE if dtype.facts.bits >= 8 and "X2" not in dtype.name), key=lambda one: one.value)
HOMES = [(S.Vec, L.ND), (S.Vec, L.DN), (S.Vec, L.NZ), (S.Mat, L.NZ), (S.Mat, L.ZN)]
SHAPE = (32, 64)


def random_tile(shape, dtype, space=S.Vec, layout=None, valid=None, seed=1):
    return tile(shape, dtype, space, layout, valid=valid, values=values_of(shape, dtype, seed))


# -- global memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("valid", VALID)
@pytest.mark.parametrize("dtype", BYTES, ids=lambda one: one.label)
@pytest.mark.parametrize("space,layout", HOMES, ids=lambda one: one.name)
def test_load_takes_the_valid_extent(space, layout, dtype, valid):
    rows, columns = VALID[valid](*SHAPE)
    source = values_of((40, 70), dtype)
    target = tile(SHAPE, dtype, space, layout, valid=(rows, columns))
    before = outside(target, 0, 0, rows, columns)
    call = run("load", target, tensor(source, dtype), [3, 2])
    assert same(target.read(), source[3 : 3 + rows, 2 : 2 + columns])
    assert same(outside(target, 0, 0, rows, columns), before)
    assert call.touched[-1].rows == rows and call.touched[-1].columns == columns


@pytest.mark.parametrize("valid", VALID)
@pytest.mark.parametrize("dtype", BYTES, ids=lambda one: one.label)
@pytest.mark.parametrize("layout", [L.ND, L.DN, L.NZ], ids=lambda one: one.name)
def test_store_gives_the_valid_extent(layout, dtype, valid):
    rows, columns = VALID[valid](*SHAPE)
    source = random_tile(SHAPE, dtype, layout=layout, valid=(rows, columns))
    target = poisoned((40, 70), dtype)
    expected = target.read_window([0, 0], (0, 1), 40, 70).copy()
    expected[8 : 8 + rows, 6 : 6 + columns] = source.read()
    run("store", target, source, [8, 6])
    assert same(target.read_window([0, 0], (0, 1), 40, 70), expected)


@pytest.mark.parametrize("order", [None, [0, 2], [1, 2], [2, 1], [2, 0], [1, 0], [0, 1]])
def test_order_maps_tile_rows_and_columns_to_axes(order):
    source = np.arange(7 * 9 * 11, dtype=np.float32).reshape(7, 9, 11)
    a, b = order or [1, 2]
    target = tile((16, 16), FP32, valid=(5, 4))
    run("load", target, tensor(source), [1, 2, 3], order=order)
    where = [1, 2, 3]
    where[a], where[b] = slice(where[a], where[a] + 5), slice(where[b], where[b] + 4)
    expected = source[tuple(where)]
    assert same(target.read(), expected if a < b else expected.T)


def test_transposed_operand_of_a_product():
    """The L1 tile keeps the shape of L0 with layout ZN, and order=[1, 0] reads the tensor that is stored the other way round."""
    source = values_of((48, 32), FP16)
    l1, left = tile((32, 48), FP16, S.Mat, L.ZN), tile((32, 48), FP16, S.Left)
    run("load", l1, tensor(source), [0, 0], order=[1, 0])
    run("move", left, l1)
    assert same(left.read(), source.T)


@pytest.mark.parametrize("operation", ["load", "store"])
def test_tile_offsets_count_tiles(operation):
    whole = np.arange(3 * 32 * 48, dtype=np.int32).reshape(3, 32, 48)
    if operation == "load":
        target = tile((8, 16), INT32)
        run("load_tile", target, tensor(whole), [2, 3, 1])
        assert same(target.read(), whole[2, 24:32, 16:32])
    else:
        target, part = tensor(whole), tile((8, 16), INT32, values=-whole[0, :8, :16])
        run("store_tile", target, part, [1, 2, 2])
        whole[1, 16:24, 32:48] = -whole[0, :8, :16]
        assert same(target.flat, whole.reshape(-1))


def test_descending_tile_offsets_of_square_tiles():
    whole = np.arange(32 * 48, dtype=np.int32).reshape(32, 48)
    target = tile((16, 16), INT32)
    run("load_tile", target, tensor(whole), [1, 2], order=[1, 0])
    assert same(target.read(), whole[16:32, 32:48].T)


def test_one_axis_is_one_row():
    source = np.arange(40, dtype=np.float32)
    target = tile((1, 16), FP32, valid=(1, 13))
    run("load", target, tensor(source), [20])
    assert same(target.read(), source[None, 20:33])
    out = poisoned((40,), FP32)
    run("store", out, target, [7])
    assert same(out.flat[7:20], source[20:33]) and np.isnan(out.flat[20])


def test_strides_of_a_view():
    source = tensor(np.arange(200, dtype=np.int32)).another((4, 5), (20, 2), 3)
    target = tile((4, 8), INT32, valid=(4, 5))
    run("load", target, source, [0, 0])
    assert same(target.read(), (3 + 20 * np.arange(4)[:, None] + 2 * np.arange(5)[None, :]).astype(np.int32))


@pytest.mark.parametrize("where", [[-1, 0], [0, 7], [5, 0]])
@pytest.mark.parametrize("operation", ["load", "store"])
def test_nothing_leaves_the_tensor(operation, where):
    part, whole = random_tile((8, 8), FP32, valid=(6, 4)), tensor(np.zeros((10, 10), np.float32))
    operands = (part, whole, where) if operation == "load" else (whole, part, where)
    with pytest.raises(WindowLeavesTensor, match=r"set_validshape"):
        run(operation, *operands)
    assert not whole.flat.any()


@pytest.mark.parametrize("dtype", [FP32, FP16, BF16, INT32, D.DT_INT16, INT8], ids=lambda one: one.label)
def test_atomic_add_in_the_type_of_the_destination(dtype):
    part, whole = random_tile((16, 32), dtype, valid=(11, 30)), tensor(values_of((20, 40), dtype, 5), dtype)
    expected = whole.flat.reshape(20, 40).copy()
    with np.errstate(all="ignore"):
        expected[2:13, 4:34] += part.read()
    call = run("store", whole, part, [2, 4], atomic=AtomicType.AtomicAdd)
    assert same(whole.flat.reshape(20, 40), expected)
    assert [touch.role for touch in call.touched] == ["R", "A"]


def test_block_scales_interleave_even_and_odd_groups():
    """Group k lies in pair k // 2, phase k % 2: the left scale along columns, the right one along rows."""
    codes = np.arange(16 * 6 * 2, dtype=np.uint8)
    left = tile((16, 12), D.DT_FP8E8M0, S.Mat, L.ZZ, 32, valid=(13, 11))
    run("load", left, tensor(codes.reshape(16, 6, 2).view(D.DT_FP8E8M0.numpy), D.DT_FP8E8M0), [0, 0, 0])
    assert same(left.read().view(np.uint8), codes.reshape(16, 12)[:13, :11])
    right = tile((12, 16), D.DT_FP8E8M0, S.Mat, L.NN, 32, valid=(11, 16))
    run("load", right, tensor(codes.reshape(6, 16, 2).view(D.DT_FP8E8M0.numpy), D.DT_FP8E8M0), [0, 0, 0])
    assert same(right.read().view(np.uint8), codes.reshape(6, 16, 2).transpose(0, 2, 1).reshape(12, 16)[:11])


@pytest.mark.parametrize("space,layout", [(S.Vec, L.ND), (S.Mat, L.NZ), (S.Mat, L.ZN)], ids=lambda one: one.name)
def test_four_bit_elements_lie_two_in_a_byte(space, layout):
    codes = np.random.default_rng(3).integers(0, 16, (32, 128)).astype(np.uint8)
    packed = tensor(codes[:, 0::2] | codes[:, 1::2] << 4, D.DT_FP4_E2M1)
    packed.strides = (128, 1)  # set_stride: in elements
    target = tile((16, 64), D.DT_FP4_E2M1, space, layout, valid=(10, 60))
    before = outside(target, 0, 0, 10, 60)
    run("load", target, packed, [16, 64])
    assert same(target.read(), codes[16:26, 64:124])
    assert same(outside(target, 0, 0, 10, 60), before)


def test_four_bit_elements_transposed_and_stored():
    codes = np.random.default_rng(3).integers(0, 16, (64, 32)).astype(np.uint8)
    packed = tensor(codes[:, 0::2] | codes[:, 1::2] << 4, D.DT_FP4_E1M2)
    packed.strides = (32, 1)
    target = tile((16, 64), D.DT_FP4_E1M2, S.Mat, L.ZN, valid=(10, 33))
    run("load", target, packed, [8, 4], order=[1, 0])
    assert same(target.read(), codes[8:41, 4:14].T)
    part, out = (
        tile((4, 64), D.DT_FP4_E1M2, values=codes[:4, :32].repeat(2, axis=1), valid=(3, 24)),
        poisoned((8, 16), D.DT_UINT8),
    )
    out.dtype, out.strides = D.DT_FP4_E1M2, (32, 1)
    run("store", out, part, [2, 6])
    written = out.flat.reshape(8, 16)[2:5, 3:15]
    assert same(written, part.read()[:, 0::2] | part.read()[:, 1::2] << 4)
    with pytest.raises(PackedWindow):
        run("store", out, part, [2, 5])


# -- out of an accumulator ----------------------------------------------------------------------------------------------------


def accumulator(dtype=FP32, valid=None, shape=(32, 64), seed=2):
    values = np.random.default_rng(seed).standard_normal(shape) * 40
    return tile(shape, dtype, S.Acc, values=np.rint(values) if dtype is INT32 else values, valid=valid)


@pytest.mark.parametrize("valid", VALID)
@pytest.mark.parametrize("target", [FP32, FP16, BF16], ids=lambda one: one.label)
@pytest.mark.parametrize("relu", [None, ReluPreMode.NormalRelu])
def test_accumulators_convert_on_the_way_out(target, valid, relu):
    rows, columns = VALID[valid](32, 64)
    acc, out = accumulator(valid=(rows, columns)), poisoned((32, 64), target)
    run("store", out, acc, [0, 0], relu_pre_mode=relu)
    values = acc.read()
    expected = (np.maximum(values, 0) if relu else values).astype(target.numpy)
    assert same(out.flat.reshape(32, 64)[:rows, :columns], expected)


@pytest.mark.parametrize("source", [FP32, INT32], ids=lambda one: one.label)
@pytest.mark.parametrize("scale", [0.125, 7.5, np.int64(np.float32(2.5).view(np.int32))], ids=["number", "large", "bits"])
def test_one_scale_quantises_to_int8_and_saturates(source, scale):
    acc, out = accumulator(source), poisoned((32, 64), INT8)
    run("store", out, acc, [0, 0], scale=scale)
    factor = np.float32(scale) if isinstance(scale, float) else np.float32(2.5)
    expected = np.clip(np.rint(acc.read().astype(np.float32) * factor), -128, 127).astype(np.int8)
    assert same(out.flat.reshape(32, 64), expected)
    half = poisoned((32, 64), FP16)
    run("store", half, acc, [0, 0], scale=scale)
    assert same(half.flat.reshape(32, 64), (acc.read().astype(np.float32) * factor).astype(np.float16))


def encoded(scales):
    """What npu_trans_quant_param yields: bits of the float, and the mark of signed int8."""
    return np.asarray(scales, np.float32).view(np.uint32).astype(np.int64) | np.int64(1) << 46


@pytest.mark.parametrize("operation", ["store", "store_fp", "move", "move_fp"])
def test_one_scale_per_channel(operation):
    scales = np.linspace(0.01, 3, 64, dtype=np.float32)
    channel = tile((1, 64), D.DT_INT64, S.Scaling, L.ND, values=encoded(scales)[None])
    acc = accumulator(INT32, valid=(20, 50))
    expected = np.clip(np.rint(acc.read().astype(np.float32) * scales[:50]), -128, 127).astype(np.int8)
    if operation.startswith("store"):
        out = poisoned((32, 64), INT8)
        operands = (out, acc, channel, [1, 2]) if operation == "store_fp" else (out, acc, [1, 2])
        run(operation, *operands, scale=None if operation == "store_fp" else channel)
        found = out.flat.reshape(32, 64)[1:21, 2:52]
    else:
        target = tile((32, 64), INT8)
        operands = (target, acc, channel) if operation == "move_fp" else (target, acc)
        call = run(operation, *operands, scale=None if operation == "move_fp" else channel)
        found = call.others[id(target), 0].read_block(0, 0, 20, 50)
        assert [touch.target for touch in call.touched if touch.role == "R"] == [acc, channel]
    assert same(found, expected)


def test_scales_without_the_mark_of_signed_results_are_refused():
    codes = encoded(np.ones(64))[None].copy()
    codes[0, 5] ^= np.int64(1) << 46
    channel = tile((1, 64), D.DT_INT64, S.Scaling, L.ND, values=codes)
    with pytest.raises(ScaleUnsigned, match="channel 5"):
        run("store", poisoned((32, 64), INT8), accumulator(INT32), [0, 0], scale=channel)


@pytest.mark.parametrize("dtype", [FP32, FP16], ids=lambda one: one.label)
@pytest.mark.parametrize("valid", ["full", "short rows", "short columns", "one", "zero"])
def test_results_in_blocks(dtype, valid):
    """A tensor of layout NZ: column blocks of 32 bytes, all rows of one after the other."""
    rows, columns = VALID[valid](32, 64)
    acc, out = accumulator(valid=(rows, columns)), poisoned((32, 64), dtype, L.NZ)
    run("store", out, acc, [0, 0])
    width = 32 // dtype.size
    logical = out.flat.reshape(64 // width, 32, width).transpose(1, 0, 2).reshape(32, 64)
    assert same(logical[:rows, :columns], acc.read().astype(dtype.numpy))
    assert np.isnan(logical[rows:].astype(np.float32)).all() and np.isnan(logical[:, columns:].astype(np.float32)).all()


def test_blocks_load_back():
    source = values_of((32, 64), FP16)
    blocked = tensor(source.reshape(32, 4, 16).transpose(1, 0, 2), FP16, L.NZ)
    blocked.shape, blocked.strides = (32, 64), (64, 1)
    target = tile((16, 48), FP16, S.Mat, valid=(9, 40))
    run("load", target, blocked, [5, 8])
    assert same(target.read(), source[5:14, 8:48])


# -- between on-chip memories -------------------------------------------------------------------------------------------------

PATHS = [
    ("to left", S.Mat, L.NZ, S.Left, L.NZ),
    ("to left, ZN", S.Mat, L.ZN, S.Left, L.NZ),
    ("to right", S.Mat, L.NZ, S.Right, L.ZN),
    ("to right, ZN", S.Mat, L.ZN, S.Right, L.ZN),
    ("ND to NZ", S.Vec, L.ND, S.Vec, L.NZ),
    ("NZ to ND", S.Vec, L.NZ, S.Vec, L.ND),
    ("copy", S.Vec, L.ND, S.Vec, L.ND),
    ("to L1", S.Vec, L.NZ, S.Mat, L.NZ),
]


@pytest.mark.parametrize("valid", VALID)
@pytest.mark.parametrize("dtype", [FP32, BF16, INT8, D.DT_INT64, D.DT_FP8E4M3], ids=lambda one: one.label)
@pytest.mark.parametrize("path", PATHS, ids=lambda one: one[0])
def test_moves_keep_values_and_change_layout(path, dtype, valid):
    _, source_space, source_layout, target_space, target_layout = path
    rows, columns = VALID[valid](32, 64)
    source = random_tile((32, 64), dtype, source_space, source_layout, valid=(rows, columns))
    target = tile((32, 64), dtype, target_space, target_layout, valid=(rows, columns))
    before = outside(target, 0, 0, rows, columns)
    run("move", target, source)
    assert same(target.read(), source.read())
    assert same(outside(target, 0, 0, rows, columns), before)


@pytest.mark.parametrize("pair", [(L.NZ, L.ZN), (L.ZN, L.NZ)], ids=lambda one: one[0].name)
def test_reversed_shapes_in_transposed_layouts_transpose(pair):
    source = random_tile((48, 32), FP16, S.Mat, pair[0])
    target = tile((32, 48), FP16, S.Left if pair[1] is L.NZ else S.Right, pair[1])
    run("move", target, source)
    assert same(target.read(), source.read().T)
    assert source.memory[512 : 512 + 48 * 64].tobytes() == target.memory[512 : 512 + 48 * 64].tobytes(), "the same bytes"


def test_square_tiles_do_not_transpose():
    source, target = random_tile((32, 32), FP16, S.Mat), tile((32, 32), FP16, S.Right)
    run("move", target, source)
    assert same(target.read(), source.read())


@pytest.mark.parametrize("source", [FP16, BF16, FP32, INT32], ids=lambda one: one.label)
def test_a_bias_becomes_fp32(source):
    wanted = INT32 if source is INT32 else FP32
    row, bias = random_tile((1, 64), source, S.Mat, valid=(1, 50)), tile((1, 64), wanted, S.Bias, valid=(1, 50))
    run("move", bias, row)
    assert same(bias.read(), row.read().astype(wanted.numpy))


@pytest.mark.parametrize("space", [S.Left, S.Right])
@pytest.mark.parametrize("where", [(0, 0), (16, 32), (3, 5)])
def test_an_offset_extracts_a_part(space, where):
    source, target = random_tile((64, 96), FP16, S.Mat), tile((32, 48), FP16, space, valid=(30, 41))
    run("move", target, source, list(where))
    assert same(target.read(), source.read()[where[0] : where[0] + 30, where[1] : where[1] + 41])


def test_moves_read_valid_elements_only():
    source, target = random_tile((32, 64), FP16, S.Mat, valid=(32, 60)), tile((32, 64), FP16, S.Left)
    with pytest.raises(ValidExtentsUncovered, match=r"exceed source valid extents \[32, 60\]"):
        run("move", target, source)
    with pytest.raises(ValidExtentsUncovered):
        run("move", tile((32, 32), FP16, S.Left), source, [0, 30])


@pytest.mark.parametrize("operation", ["insert", "move"])
@pytest.mark.parametrize("valid", VALID)
def test_insert_writes_a_part_of_l1(operation, valid):
    rows, columns = VALID[valid](32, 64)
    source, target = random_tile((32, 64), BF16, layout=L.NZ, valid=(rows, columns)), random_tile((64, 96), BF16, S.Mat, seed=9)
    expected = target.read().copy()
    expected[16 : 16 + rows, 8 : 8 + columns] = source.read()
    run(operation, target, source, [16, 8])
    assert same(target.read(), expected)


@pytest.mark.parametrize("how", ["insert", "move with offset", "move"])
def test_insert_into_the_transposed_view(how):
    """NZ of [rows, columns] are the bytes of ZN of [columns, rows]."""
    source = random_tile((32, 64), FP16, layout=L.NZ)
    target = tile((64, 32) if how == "move" else (64, 96), FP16, S.Mat, L.ZN)
    where = [0, 0] if how == "move" else [0, 48]
    if how == "move":
        run("move", target, source)
    else:
        run(how.split()[0], target, source, where)
    assert same(target.read_block(0, where[1], 64, 32), source.read().T)


def test_insertions_into_square_transposed_views_keep_bytes():
    source, target = random_tile((32, 32), FP16, layout=L.NZ), tile((32, 32), FP16, S.Mat, L.ZN)
    run("move", target, source)
    assert same(target.read(), source.read().T)
    assert source.memory[512 : 512 + 2048].tobytes() == target.memory[512 : 512 + 2048].tobytes()


def test_moves_into_l1_take_what_is_valid_in_the_source():
    source, target = random_tile((32, 64), FP16, layout=L.NZ, valid=(17, 40)), random_tile((32, 64), FP16, S.Mat, seed=5)
    expected = target.read().copy()
    expected[:17, :40] = source.read()
    run("move", target, source)
    assert same(target.read(), expected)


def test_insert_stays_inside():
    source, target = random_tile((32, 64), FP16, layout=L.NZ), tile((64, 64), FP16, S.Mat)
    with pytest.raises(WindowLeavesTile):
        run("insert", target, source, [40, 0])
    source.set_valid(24, 64)
    run("insert", target, source, [40, 0])


# -- to the vector cores ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [FP32, FP16, BF16], ids=lambda one: one.label)
@pytest.mark.parametrize("mode", [None, AccToVecMode.SingleModeVec0, AccToVecMode.SingleModeVec1])
@pytest.mark.parametrize("valid", VALID)
def test_a_whole_tile_goes_to_one_vector_core(mode, target, valid):
    rows, columns = VALID[valid](32, 64)
    acc, vec = accumulator(valid=(rows, columns)), tile((32, 64), target)
    call = run("move", vec, acc, acc_to_vec_mode=mode)
    core = 1 if mode is AccToVecMode.SingleModeVec1 else 0
    assert set(call.others) == {(id(vec), core)}
    found = call.others[id(vec), core]
    assert same(found.read_block(0, 0, rows, columns), acc.read().astype(target.numpy))
    assert same(outside(found, 0, 0, rows, columns), outside(vec, 0, 0, rows, columns))
    assert (acc.rows, acc.columns) == (rows, columns)


SPLITS = [  # tile API section 3.1
    (AccToVecMode.DualModeSplitM, 33, (17, 16), 34),
    (AccToVecMode.DualModeSplitM, 1, (1, 0), 2),
    (AccToVecMode.DualModeSplitM, 64, (32, 32), 64),
    (AccToVecMode.DualModeSplitM, 0, (0, 0), 0),
    (AccToVecMode.DualModeSplitN, 33, (32, 1), 64),
    (AccToVecMode.DualModeSplitN, 65, (48, 17), 96),
    (AccToVecMode.DualModeSplitN, 16, (16, 0), 32),
    (AccToVecMode.DualModeSplitN, 9, (9, 0), 32),
    (AccToVecMode.DualModeSplitN, 128, (64, 64), 128),
]


@pytest.mark.parametrize("mode,extent,halves,rounded", SPLITS, ids=lambda one: str(one))
def test_dual_modes_split_and_round(mode, extent, halves, rounded):
    by_rows = mode is AccToVecMode.DualModeSplitM
    valid = (extent, 20) if by_rows else (20, extent)
    assert tuple(count for _, count in split(mode, *valid)) == halves
    acc, vec = accumulator(shape=(64, 128), valid=valid), tile((64, 128), FP32)
    values = acc.read().copy()
    call = run("move", vec, acc, acc_to_vec_mode=mode)
    first, second = (call.others[id(vec), core] for core in (0, 1))
    pieces = (values[: halves[0]], values[halves[0] :]) if by_rows else (values[:, : halves[0]], values[:, halves[0] :])
    for there, piece in zip((first, second), pieces, strict=True):
        assert same(there.read_block(0, 0, *piece.shape), piece)
        assert same(outside(there, 0, 0, *piece.shape), outside(vec, 0, 0, *piece.shape))
    assert (acc.rows, acc.columns) == ((rounded, 20) if by_rows else (20, rounded)), "the accumulator keeps the rounded extent"


def test_constant_extents_are_not_rounded():
    acc = accumulator(valid=(33, 20), shape=(64, 64))
    acc.type = type(acc.type)(**{**vars(acc.type), "valid": (33, 20)})
    run("move", tile((64, 64), FP32), acc, acc_to_vec_mode=AccToVecMode.DualModeSplitM)
    assert (acc.rows, acc.columns) == (33, 20)


def test_relu_and_scale_on_the_way_to_vector_cores():
    acc, vec = accumulator(), tile((16, 64), FP16)
    call = run("move", vec, acc, acc_to_vec_mode=AccToVecMode.DualModeSplitM, relu_pre_mode=ReluPreMode.NormalRelu, scale=0.5)
    expected = (np.maximum(acc.read(), 0) * np.float32(0.5)).astype(np.float16)
    assert same(np.concatenate([call.others[id(vec), core].read() for core in (0, 1)]), expected)
