"""Every mistake that vector rows refuse: its class before anything runs, or at the instruction, and its exact text."""

from __future__ import annotations

import numpy as np
import pytest

from pypto.cores.enums import CoreType, FillPadMode, MemorySpace, QuantMode, RoundMode, TensorLayout, TilePad
from pypto.errors import tile_vectors, tiles
from pypto.errors.base import UserError
from pypto.ops.tile.table import find
from tile.vector_cases import Call, Operand, check, make
from tile.vector_values import B16, F16, F32, D, values

ND, DN, NZ = TensorLayout.ND, TensorLayout.DN, TensorLayout.NZ
I8, I16, I32, I64 = D.DT_INT8, D.DT_INT16, D.DT_INT32, D.DT_INT64
U8, U16, U32 = D.DT_UINT8, D.DT_UINT16, D.DT_UINT32
MAT = MemorySpace.Mat


def t(dtype=F32, shape=(16, 32), **facts):
    return Operand(shape, dtype, **facts)


def of(numbers, dtype=F32, shape=(16, 32), **facts):
    """A tile that holds numbers."""
    return Operand(shape, dtype, np.atleast_2d(np.array(numbers)).astype(dtype.numpy), **facts)


SAME = t(F16)
SAME_INTEGERS = t(I32)
SQUARE = of(np.ones((16, 16)), shape=(16, 16), pad=TilePad.zero)

# Before anything runs: class, operation, operands, keywords.
STATIC = [
    (tiles.TileExpected, "add", (t(), 2.0, t()), {}),
    (tiles.MemorySpaceRefused, "add", (t(), t(space=MAT, layout=NZ), t()), {}),
    (tiles.TileDtypeRefused, "mul", (t(I8), t(I8), t(I8)), {}),
    (tiles.TileDtypeRefused, "exp", (t(B16), t(B16)), {}),
    (tiles.TileDtypeRefused, "and_", (t(I64), t(I64), 1), {}),
    (tiles.TileDtypeRefused, "row_sum", (t(U32, (16, 1), layout=DN), t(U32), t(U32)), {}),
    (tiles.TileDtypeRefused, "sum", (t(I8, (16, 1), layout=DN), t(I8), t(I8)), {"dim": 0}),
    (tiles.TileDtypeRefused, "argmax", (t(F32, (16, 1), layout=DN), t(F32), t(F32)), {}),
    (tiles.TileDtypeRefused, "eq", (t(I8), t(F32), t(F32)), {}),
    (tiles.TileDtypeRefused, "select", (t(B16), t(U8), t(B16), 1.0, t(B16)), {}),
    (tiles.TileDtypeRefused, "gather", (t(I64), t(I64), t(I16), t(I16)), {}),
    (tiles.TileDtypeRefused, "scatter", (t(F32), t(F32), t(I16)), {}),
    (tiles.TileDtypeRefused, "sort32", (t(B16), t(B16), t(U32)), {}),
    (tiles.TileDtypeRefused, "transpose", (t(I64), t(I64)), {}),
    (tiles.TileDtypeRefused, "fill_index", (t(F32, (1, 32)), 0), {}),
    (tiles.TileDtypeRefused, "quant", (t(U8), t(F32), t(F32, (16, 1), layout=DN)), {}),
    (tiles.TileDtypeRefused, "dequant", (t(F32), t(I32), t(F32), t(F32)), {}),
    (tiles.TileDtypeRefused, "cast", (t(D.DT_BOOL), t(F32)), {}),
    (tile_vectors.VectorDtypesDiffer, "sub", (t(), t(), t(F16)), {}),
    (tile_vectors.VectorDtypesDiffer, "axpy", (t(F16), t(F32), 1.0), {}),
    (tile_vectors.VectorLayoutsDiffer, "add", (t(), t(), t(layout=DN)), {}),
    (tile_vectors.VectorLayoutsDiffer, "cast", (t(F16), t(layout=NZ)), {}),
    (tile_vectors.VectorLayoutRefused, "shl", (t(I32, layout=DN), t(I32, layout=DN), t(I32, layout=DN)), {}),
    (tile_vectors.VectorLayoutRefused, "rsqrt", (t(layout=NZ), t(layout=NZ)), {}),
    (tile_vectors.VectorTilesMustDiffer, "transpose", (SAME, SAME), {}),
    (tile_vectors.VectorTilesMustDiffer, "xor", (SAME_INTEGERS, t(I32), t(I32), SAME_INTEGERS), {}),
    (tile_vectors.VectorTilesMustDiffer, "gather", (t(F16), t(F16), SAME_INTEGERS, SAME_INTEGERS), {}),
    (tile_vectors.VectorScalarExpected, "adds", (t(), t(), t()), {}),
    (tile_vectors.VectorScalarExpected, "expands", (t(), t()), {}),
    (tile_vectors.VectorOperandExpected, "add", (t(), t(), None), {}),
    (tile_vectors.VectorShapeRefused, "fill_index", (t(I32, (2, 32)), 0), {}),
    (tile_vectors.VectorShapeRefused, "histogram", (t(U32, (16, 128)), t(U16), t(U8, (32, 1), layout=DN)), {"is_msb": False}),
    (tile_vectors.VectorShapeRefused, "histogram", (t(U32, (16, 256)), t(U16), t(U8, (1, 32))), {"is_msb": False}),
    (tile_vectors.VectorShapeRefused, "histogram", (t(U32, (16, 256)), t(U32), t(U8, (2, 32))), {"is_msb": False}),
    (tile_vectors.VectorShapeRefused, "mrgsort", (t(F32, (2, 256)), t(F32, (2, 256))), {"block_len": 64}),
    (tile_vectors.VectorShapeRefused, "reshape", (t(), t(shape=(8, 32)), (16, 32)), {}),
    (tile_vectors.VectorRowBytes, "transpose", (t(F16, (32, 8)), t(F16, (8, 32))), {}),
    (tile_vectors.VectorKeywordRange, "gathermask", (t(), t()), {"pattern_mode": 8}),
    (tile_vectors.VectorKeywordRange, "gathermask", (t(), t()), {"pattern_mode": 0}),
    (tile_vectors.VectorKeywordRange, "row_reduce", (t(F32, (16, 1), layout=DN), t(), t()), {"op_type": 4}),
    (tile_vectors.VectorKeywordRange, "col_expand_binop", (t(), t(), t(shape=(1, 32))), {"op_type": 6}),
    (tile_vectors.VectorKeywordRange, "cmp", (t(U8), t(), t()), {"cmp_mode": 6}),
    (tile_vectors.VectorKeywordRange, "mrgsort", (t(F32, (1, 256)), t(F32, (1, 256))), {"block_len": 3}),
    (tile_vectors.VectorKeywordRange, "mrgsort2", tuple(t(F32, (1, 64)) for _ in range(7)), {}),
    (tile_vectors.ScalarShiftRange, "shls", (t(I16), t(I16), 16), {}),
    (tile_vectors.ScalarShiftRange, "shrs", (t(I16), t(I16), -1), {}),
    (tile_vectors.OddRoundingRefused, "cast", (t(B16), t(F32)), {"mode": RoundMode.CAST_ODD}),
    (tile_vectors.OddRoundingRefused, "mul_cast", (t(I8), t(), t()), {"target_type": I8, "mode": RoundMode.CAST_ODD}),
    (tile_vectors.CastSameDtype, "cast", (t(), t()), {}),
    (tile_vectors.PadMissing, "fillpad", (t(), t()), {}),
    (tile_vectors.PadShapes, "fillpad", (t(shape=(32, 32), pad=TilePad.zero), t()), {}),
    (tile_vectors.PadShapes, "fillpad", (t(shape=(8, 32), pad=TilePad.zero), t()), {"mode": FillPadMode.EXPAND}),
    (tile_vectors.PadNotInPlace, "fillpad", (t(pad=TilePad.max), t()), {"mode": FillPadMode.INPLACE}),
    (tile_vectors.PadNotInPlace, "fillpad_inplace", (t(pad=TilePad.max), t(shape=(16, 64))), {}),
    (tile_vectors.QuantOffsetMissing, "quant", (t(U8), t(), t(shape=(16, 1), layout=DN)), {"mode": QuantMode.ASYM}),
    (tile_vectors.GatherKeyword, "gather", (t(), t(), t(I32), t(I32)), {"cmp_mode": 4}),
    (tile_vectors.MaskTooSmall, "lt", (t(U8, (8, 32)), t(fixed=(16, 32)), t()), {}),
    (tile_vectors.VectorNotCovered, "add", (t(fixed=(16, 32)), t(fixed=(16, 31)), t()), {}),
    (tile_vectors.VectorNotCovered, "transpose", (t(shape=(32, 32), fixed=(32, 16)), t(shape=(16, 32), fixed=(16, 31))), {}),
]

# At the instruction.
RUNNING = [
    (tile_vectors.VectorNotCovered, "add", (t(valid=(4, 4)), of(np.ones((4, 4))), of(np.ones((3, 4)))), {}),
    (tile_vectors.VectorNotCovered, "row_expand_mul", (t(valid=(4, 4)), of(np.ones((4, 4))), of(np.ones((3, 1)))), {}),
    (tile_vectors.VectorNotCovered, "mul_add_dst", (of(np.ones((4, 4))), of(np.ones((4, 4))), of(np.ones((4, 3)))), {}),
    (tile_vectors.VectorNotCovered, "select", (t(valid=(2, 4)), t(U8, valid=(2, 4)), of(np.ones((2, 3))), 1.0, t()), {}),
    (tile_vectors.VectorResultExtent, "row_sum", (t(valid=(4, 2)), of(np.ones((4, 4))), t()), {}),
    (tile_vectors.VectorResultExtent, "col_max", (t(valid=(2, 4)), of(np.ones((4, 4))), t()), {}),
    (tile_vectors.VectorResultExtent, "gatherb", (t(valid=(2, 32)), of(np.ones((2, 32))), of([[0, 0, 0, 0]], U32)), {}),
    (tile_vectors.VectorResultExtent, "gathermask", (t(valid=(1, 9)), of(np.ones((1, 16)))), {"pattern_mode": 1}),
    (
        tile_vectors.VectorResultExtent,
        "histogram",
        (t(U32, (16, 256), valid=(1, 200)), of([[1]], U16), of([[0]], U8)),
        {"is_msb": True},
    ),
    (tile_vectors.VectorResultExtent, "sort32", (t(valid=(1, 16)), of([[1] * 9]), of([[0] * 9], U32)), {}),
    (tile_vectors.VectorResultExtent, "reshape", (t(valid=(3, 3)), of(np.ones((2, 4))), None), {}),
    (tile_vectors.PartExtents, "partadd", (t(valid=(4, 4)), of(np.ones((4, 3))), of(np.ones((3, 4)))), {}),
    (tile_vectors.PartExtents, "partmax", (t(valid=(4, 4)), of(np.ones((4, 4))), of(np.ones((5, 4)))), {}),
    (tile_vectors.VectorTilesMustDiffer, "transpose", (SQUARE, SQUARE), {}),
    (tile_vectors.VectorTilesMustDiffer, "xor", (t(I32, valid=(1, 1)), of([[1]], I32), SAME_INTEGERS, SAME_INTEGERS), {}),
    (tile_vectors.PadNotInPlace, "fillpad_inplace", (t(pad=TilePad.zero), of([[1]])), {}),
    (tile_vectors.PadSharesStorage, "fillpad", (SQUARE, SQUARE), {}),
    (tile_vectors.ShiftRange, "shl", (t(I32, valid=(1, 3)), of([[1, 1, 1]], I32), of([[0, 31, 32]], I32)), {}),
    (tile_vectors.ShiftRange, "shrs", (t(I8, valid=(1, 3)), of([[1, 1, 1]], I8), -1), {}),
    (tile_vectors.IndexLeavesTile, "gather", (t(valid=(1, 2)), of(np.ones((2, 32))), of([[63, 64]], I32), t(I32)), {}),
    (tile_vectors.IndexLeavesTile, "gather", (t(valid=(1, 1)), of(np.ones((2, 7))), of([[7]], I32), t(I32)), {}),
    (tile_vectors.IndexLeavesTile, "gather", (t(valid=(1, 1)), of(np.ones((2, 7))), of([[-1]], I16), t(I16)), {}),
    (tile_vectors.IndexLeavesTile, "scatter", (t(), of([[1.0]]), of([[512]], I32)), {}),
    (tile_vectors.BlockOffset, "gatherb", (t(valid=(1, 8)), of(np.ones((16, 32))), of([[16]], U32)), {}),
    (tile_vectors.IndexLeavesTile, "gatherb", (t(valid=(1, 8)), of(np.ones((16, 7))), of([[0]], U32)), {}),
    (tile_vectors.IndexLeavesTile, "gatherb", (t(valid=(1, 8)), of(np.ones((16, 32))), of([[2048]], U32)), {}),
    (tile_vectors.GatherOverflow, "gather", (t(U32, valid=(1, 2)), of([[1, 2, 3]]), 0.0, t(U32), t()), {"cmp_mode": 4}),
    (tile_vectors.RunNotSorted, "mrgsort", (t(valid=(1, 8)), of([[3, 0, 2, 0, 1, 0, 2, 0]])), {"block_len": 8}),
    (tile_vectors.RecordsIncomplete, "mrgsort2", (of([[3, 0, 2]]), of([[1, 0]]), t(valid=(1, 4)), t()), {}),
    (tile_vectors.MaskTooSmall, "ge", (t(U8, (16, 2)), of(np.ones((1, 17))), 0.0), {}),
]


def text_of(case, running):
    kind, name, operands, keywords = case
    with pytest.raises(UserError) as caught:
        if running:
            views, attributes = make(operands, keywords, 0xFF)
            find(name).run(Call(name, tuple(views), attributes))
        else:
            check(name, operands, keywords)
    assert type(caught.value) is kind, str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("case", STATIC, ids=lambda case: f"{case[1]}-{case[0].__name__}")
def test_before_anything_runs(case):
    assert text_of(case, running=False).startswith("ErrCode: F0000")


@pytest.mark.parametrize("case", RUNNING, ids=lambda case: f"{case[1]}-{case[0].__name__}")
def test_at_the_instruction(case):
    assert text_of(case, running=True).startswith("ErrCode: F0000")


def test_texts(golden):
    lines = [text_of(case, running=False) for case in STATIC] + [text_of(case, running=True) for case in RUNNING]
    golden("tile_vector_messages", "\n\n".join(lines) + "\n")


def test_vector_tiles_belong_to_vector_cores():
    with pytest.raises(tiles.WrongCore, match="runs on the vector core, but stands in a cube section"):
        check("add", (t(), t(), t()), {}, CoreType.CUBE)
    with pytest.raises(tiles.WrongCore):
        check("expands", (t(F16, space=MAT, layout=NZ), 0.0), {}, CoreType.VECTOR)


def test_padding_its_own_tile():
    both = t(pad=TilePad.zero)
    assert "INPLACE" in text_of((tile_vectors.PadSharesStorage, "fillpad", (both, both), {}), running=False)


def test_every_class_is_reached():
    reached = {kind for kind, *_ in (*STATIC, *RUNNING)} | {tile_vectors.PadSharesStorage}
    declared = {one for one in vars(tile_vectors).values() if isinstance(one, type) and one.__module__ == tile_vectors.__name__}
    assert declared <= reached, {one.__name__ for one in declared - reached}


def test_in_place_padding_of_one_tile_is_fine():
    both = Operand((16, 32), F32, values(F32, (4, 4)), pad=TilePad.zero)
    check("fillpad_inplace", (both, both), {})
