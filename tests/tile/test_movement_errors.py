"""What calls of movement, matrix, synchronisation and output operations refuse before anything runs.

The fragments are those that scripts written for the machine match on (tile API sections 3, 4, 7.4).
"""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from pypto.cores.enums import (
    AccPhase,
    AccToVecMode,
    AtomicType,
    CoreType,
    MemorySpace,
    PipeType,
    ReluPreMode,
    STPhase,
    SyncAllMode,
    SyncCoreType,
    TensorLayout,
)
from pypto.cores.types import Group, Pointer, Scalar, Struct, Tensor, Tile
from pypto.dtypes import DataType
from pypto.errors import tile_matrix, tiles
from pypto.errors.base import UserError
from tile.calls import check, offsets, static

errors = SimpleNamespace(**{**vars(tiles), **vars(tile_matrix)})
S, L, D = MemorySpace, TensorLayout, DataType
FP32, FP16 = D.DT_FP32, D.DT_FP16


def vec(shape=(32, 64), dtype=FP32, layout=L.ND, valid=None):
    return Tile(shape, dtype, S.Vec, layout, valid=valid)


def mat(shape=(32, 64), dtype=FP32, layout=L.NZ, fractal=0):
    return Tile(shape, dtype, S.Mat, layout, fractal)


def left(shape=(32, 64), dtype=FP16, valid=None):
    return Tile(shape, dtype, S.Left, L.NZ, valid=valid)


def right(shape=(64, 48), dtype=FP16, valid=None):
    return Tile(shape, dtype, S.Right, L.ZN, valid=valid)


def acc(shape=(32, 48), dtype=FP32):
    return Tile(shape, dtype, S.Acc, L.NZ, 1024)


def scale(shape=(1, 64), dtype=D.DT_INT64, space=S.Scaling):
    return Tile(shape, dtype, space, L.ND)


def left_scale(shape=(32, 2), dtype=D.DT_FP8E8M0, space=S.ScaleLeft):
    return Tile(shape, dtype, space, L.ZZ, 32)


def right_scale(shape=(2, 48), dtype=D.DT_FP8E8M0, space=S.ScaleRight):
    return Tile(shape, dtype, space, L.NN, 32)


GM = Tensor((64, 128), FP32)
ZERO = [0, 0]
CUBE, VECTOR = CoreType.CUBE, CoreType.VECTOR
BITS = Scalar(D.DT_INT32)

# name: (error class, pattern in the message, call)
WRONG = {
    # -- load
    "load into a tensor": (errors.TileExpected, "dst must be a Tile", lambda: check("load", GM, GM, ZERO)),
    "load into L0": (errors.MemorySpaceRefused, r"must be in Vec \(UB\) or Mat \(L1\)", lambda: check("load", left(), GM, ZERO)),
    "load of bools": (errors.TileDtypeRefused, "b8, b16, b32, b64", lambda: check("load", vec(dtype=D.DT_BOOL), GM, ZERO)),
    "load from a tile": (errors.GlobalTensorExpected, "src must be a Tensor", lambda: check("load", vec(), vec(), ZERO)),
    "load of other types": (errors.TileDtypesDiffer, "make_tensor", lambda: check("load", vec(dtype=FP16), GM, ZERO)),
    "load on the other core": (errors.WrongCore, "vector core", lambda: check("load", vec(), GM, ZERO, core=CUBE)),
    "load of L1 on a vector core": (errors.WrongCore, "section_cube", lambda: check("load", mat(), GM, ZERO, core=VECTOR)),
    "order not constant": (
        errors.OrderNotConstant,
        "'order' must be a compile-time integer list",
        lambda: check("load", vec(), GM, ZERO, order="x"),
    ),
    "order of three": (errors.OrderNotConstant, "two axes", lambda: check("load", vec(), GM, ZERO, order=[0, 1, 2])),
    "order repeats": (errors.OrderRepeats, "order axes must be unique", lambda: check("load", vec(), GM, ZERO, order=[1, 1])),
    "order leaves": (errors.OrderOutOfRange, "out of range", lambda: check("load", vec(), GM, ZERO, order=[0, 2])),
    "offset count": (errors.OffsetsExpected, "2 integers", lambda: check("load", vec(), GM, [0])),
    "offsets missing": (errors.OffsetsExpected, r"for example \[0, 0\]", lambda: check("load", vec(), GM, 3)),
    "offset float": (errors.OffsetsExpected, "integers", lambda: check("load", vec(), GM, [0, 1.5])),
    "offset negative": (errors.NegativeOffset, "negative offset is not allowed", lambda: check("load", vec(), GM, [0, -1])),
    "offset too large": (errors.OffsetExceedsTensor, "exceeds tensor dim", lambda: check("load", vec(), GM, [64, 0])),
    "tile offset too large": (errors.OffsetExceedsTensor, "offset 64", lambda: check("load_tile", vec(), GM, [2, 0])),
    "tile order": (errors.TiledOrderDescends, "use load", lambda: check("load_tile", vec(), GM, ZERO, order=[1, 0])),
    "rank one": (errors.TensorRankTooSmall, "rank 1", lambda: check("load", vec(), Tensor((64,), FP32), [0])),
    "scale tensor rank": (
        errors.MxScaleTensor,
        "rank 3 and a last axis of 2",
        lambda: check("load", mat((32, 2), D.DT_FP8E8M0, L.ZZ, 32), Tensor((32, 2), D.DT_FP8E8M0), ZERO),
    ),
    "scale tensor order": (
        errors.MxScaleTensor,
        "keep the last axis",
        lambda: check("load", mat((32, 2), D.DT_FP8E8M0, L.ZZ, 32), Tensor((32, 1, 2), D.DT_FP8E8M0), [0, 0, 0], order=[0, 2]),
    ),
    # -- store
    "store into a tile": (errors.GlobalTensorExpected, "dst must be a Tensor", lambda: check("store", vec(), vec(), ZERO)),
    "store from L1": (
        errors.MemorySpaceRefused,
        r"src tile must be in Vec \(UB\) or Acc \(L0C\) memory",
        lambda: check("store", GM, mat(), ZERO),
    ),
    "store descending": (errors.OrderDescends, "order must be ascending", lambda: check("store", GM, vec(), ZERO, order=[1, 0])),
    "store other types": (errors.TileDtypesDiffer, "pl.cast", lambda: check("store", GM, vec(dtype=FP16), ZERO)),
    "store of int32": (
        errors.ConversionUnsupported,
        "do not support a FP32",
        lambda: check("store", GM, acc(dtype=D.DT_INT32), ZERO),
    ),
    "store to int8": (
        errors.ConversionUnsupported,
        "do not support a INT8 destination without scale",
        lambda: check("store", Tensor((64, 64), D.DT_INT8), acc(), ZERO),
    ),
    "store relu from UB": (
        errors.FixpipeOnly,
        "relu_pre_mode needs a source in Acc",
        lambda: check("store", GM, vec(), ZERO, relu_pre_mode=ReluPreMode.NormalRelu),
    ),
    "store scale from UB": (errors.FixpipeOnly, "scale needs", lambda: check("store", GM, vec(), ZERO, scale=2.0)),
    "store phase": (errors.PhaseInvalid, "invalid", lambda: check("store", GM, acc(), ZERO, phase=AccPhase.Final)),
    "store atomic": (
        errors.AtomicUnsupported,
        "int64",
        lambda: check("store", Tensor((64, 64), D.DT_INT64), vec(dtype=D.DT_INT64), ZERO, atomic=AtomicType.AtomicAdd),
    ),
    "NZ from UB": (errors.NzStore, "Acc only", lambda: check("store", Tensor((64, 64), FP32, L.NZ), vec(), ZERO)),
    "NZ rank": (errors.NzStore, "two axes", lambda: check("store", Tensor((2, 64, 64), FP32, L.NZ), acc(), [0, 0, 0])),
    "NZ extents": (errors.NzStore, "fill its blocks", lambda: check("store", Tensor((60, 64), FP32, L.NZ), acc(), ZERO)),
    "NZ run-time extents": (
        errors.NzStore,
        "constant extents",
        lambda: check("store", Tensor(("n", 64), FP32, L.NZ), acc(), ZERO),
    ),
    "NZ offsets": (errors.NzStore, r"offsets \[0, 0\]", lambda: check("store", Tensor((64, 64), FP32, L.NZ), acc(), [16, 0])),
    # -- scale
    "scale list": (errors.ScaleKind, "scale must be", lambda: check("store", GM, acc(), ZERO, scale=[1.0])),
    "scale scalar": (
        errors.ScaleScalarDtype,
        "scale runtime scalar dtype fp16 is not supported",
        lambda: check("store", GM, acc(), ZERO, types={"scale": Scalar(FP16)}),
    ),
    "scale tensor": (
        errors.ScaleTensor,
        "scale Tensor is not supported for per-channel quantization",
        lambda: check("store", GM, acc(), ZERO, types={"scale": GM}),
    ),
    "scale space": (errors.ScaleTileSpace, "MemorySpace.Scaling", lambda: scaled(scale(space=S.Vec))),
    "scale fp32": (
        errors.ScaleTileFloat,
        "scale tile dtype FP32 is not supported.*npu_trans_quant_param",
        lambda: scaled(scale(dtype=FP32)),
    ),
    "scale int32": (errors.ScaleTileDtype, "scale tile dtype must be INT64", lambda: scaled(scale(dtype=D.DT_INT32))),
    "scale rows": (errors.ScaleTileRank, r"shape \[1, N\].*row == 1", lambda: scaled(scale((2, 64)))),
    "scale rank": (errors.ScaleTileRank, "scale tile must be 2D", lambda: scaled(scale((64,)))),
    "scale width": (errors.ScaleTileWidth, "multiple of 16", lambda: scaled(scale((1, 40)))),
    "scale too wide": (errors.ScaleTileWidth, "exceed", lambda: scaled(scale((1, 528)))),
    "scale and relu": (
        errors.ScaleWithRelu,
        "cannot be used together with relu_pre_mode",
        lambda: scaled(scale(), relu_pre_mode=ReluPreMode.NormalRelu),
    ),
    "scale and phase": (errors.ScaleWithPhase, "cannot be combined with phase", lambda: scaled(scale(), phase=STPhase.Final)),
    "scale and order": (errors.ScaleWithKeyword, "order has no effect", lambda: scaled(scale(), order=[0, 1])),
    "scale and atomic": (
        errors.ScaleWithKeyword,
        "atomic has no effect",
        lambda: scaled(scale(), atomic=AtomicType.AtomicAdd),
    ),
    "scale to uint8": (
        errors.ScaleDestination,
        "UINT8",
        lambda: check("store", Tensor((64, 64), D.DT_UINT8), acc(), ZERO, scale=1.0),
    ),
    "scale to bf16": (
        errors.ScaleDestination,
        "BF16",
        lambda: check("store", Tensor((64, 64), D.DT_BF16), acc(dtype=D.DT_INT32), ZERO, scale=1.0),
    ),
    "scale and dual mode": (
        errors.ScaleWithDualMode,
        "only supports single-mode",
        lambda: check(
            "move",
            vec(dtype=D.DT_INT8),
            acc((32, 64)),
            types={"scale": scale()},
            acc_to_vec_mode=AccToVecMode.DualModeSplitM,
        ),
    ),
    "store_fp without scales": (errors.TileExpected, "fp_tile must be a Tile", lambda: check("store_fp", GM, acc(), 3, ZERO)),
    "store_fp of fp32 scales": (
        errors.ScaleTileFloat,
        "npu_trans_quant",
        lambda: check("store_fp", GM, acc(), scale(dtype=FP32), ZERO),
    ),
    # -- move, insert
    "move to UB": (errors.PathUnsupported, "unsupported data path Mat -> Vec", lambda: check("move", vec(), mat(), core=CUBE)),
    "move from L0": (errors.PathUnsupported, "unsupported data path Left -> Mat", lambda: check("move", mat(), left())),
    "move on the wrong core": (errors.WrongCore, "cube core", lambda: check("move", left(), mat(dtype=FP16), core=VECTOR)),
    "move of a tensor": (errors.TileExpected, "src must be a Tile", lambda: check("move", vec(), GM)),
    "move shapes": (
        errors.TileShapesDiffer,
        r"\[32, 64\].*\[64, 64\]",
        lambda: check("move", left(), mat((64, 64), FP16)),
    ),
    "move reversed without transpose": (errors.TileShapesDiffer, "shape", lambda: check("move", left((64, 32)), mat(dtype=FP16))),
    "move types": (errors.TileDtypesDiffer, "transfers do not convert", lambda: check("move", left(), mat())),
    "move bias types": (
        errors.TileDtypesDiffer,
        "int8",
        lambda: check("move", Tile((1, 64), FP32, S.Bias), mat((1, 64), D.DT_INT8)),
    ),
    "move accumulator types": (
        errors.ConversionUnsupported,
        "do not support",
        lambda: check("move", vec((32, 48), D.DT_INT32), acc()),
    ),
    "move extraction too large": (errors.TileShapesDiffer, "shape", lambda: check("move", left((64, 64)), mat(dtype=FP16), ZERO)),
    "move offset": (
        errors.OffsetExceedsSource,
        r"offset 32 exceeds source shape \[32, 64\] on axis 0",
        lambda: check("move", left((16, 16)), mat(dtype=FP16), [32, 0]),
    ),
    "move offset negative": (errors.NegativeOffset, "negative", lambda: check("move", left((16, 16)), mat(dtype=FP16), [0, -16])),
    "move mode": (
        errors.CoreModeNeedsAcc,
        "Acc -> Vec",
        lambda: check("move", left(), mat(dtype=FP16), acc_to_vec_mode=AccToVecMode.DualModeSplitM),
    ),
    "move scale": (errors.FixpipeOnly, "scale needs", lambda: check("move", vec(), vec(), scale=1.0)),
    "move relu": (
        errors.FixpipeOnly,
        "relu_pre_mode needs",
        lambda: check("move", vec(), vec(), relu_pre_mode=ReluPreMode.NormalRelu),
    ),
    "no path to UB on 910B": (
        errors.PathNotOnChip,
        "chip 910B has no path Acc -> Vec",
        lambda: check("move", vec((32, 48)), acc(), target="910B"),
    ),
    "no path to L1 on 910B": (
        errors.PathNotOnChip,
        "chip 910B has no path Vec -> Mat",
        lambda: check("insert", mat((64, 64)), vec(layout=L.NZ), ZERO, target="a3"),
    ),
    "insert into UB": (errors.MemorySpaceRefused, r"Mat \(L1\)", lambda: check("insert", vec(), vec(), ZERO)),
    "insert from L1": (errors.MemorySpaceRefused, r"Vec \(UB\)", lambda: check("insert", mat(), mat(), ZERO)),
    "insert of rows": (errors.LayoutRefused, "NZ tile first", lambda: check("insert", mat((64, 64)), vec(), ZERO)),
    "insert offset count": (errors.OffsetsExpected, "2 integers", lambda: check("insert", mat((64, 64)), vec(layout=L.NZ), [0])),
    "insert offset": (
        errors.OffsetExceedsTarget,
        "out of range",
        lambda: check("insert", mat((64, 64)), vec(layout=L.NZ), [0, 64]),
    ),
    "insert types": (errors.TileDtypesDiffer, "fp16", lambda: check("insert", mat((64, 64), FP16), vec(layout=L.NZ), ZERO)),
    "insert by move": (errors.LayoutRefused, "NZ", lambda: check("move", mat((64, 64)), vec(), ZERO)),
    "move to ZN of the same shape": (
        errors.LayoutRefused,
        r"a target of shape \[64, 32\]",
        lambda: check("move", mat(layout=L.ZN), vec(layout=L.NZ)),
    ),
    # -- matrix
    "matmul target": (
        errors.MemorySpaceRefused,
        r"dst_tile must be in L0C \(Acc\)",
        lambda: check("matmul", vec(), left(), right(), core=CUBE),
    ),
    "matmul left": (
        errors.MemorySpaceRefused,
        r"lhs_tile must be in L0A \(Left\)",
        lambda: check("matmul", acc(), mat(), right()),
    ),
    "matmul right": (
        errors.MemorySpaceRefused,
        r"rhs_tile must be in L0B \(Right\)",
        lambda: check("matmul", acc(), left(), left()),
    ),
    "matmul bias": (errors.MemorySpaceRefused, "Bias", lambda: check("matmul", acc(), left(), right(), mat())),
    "matmul bias rows": (
        errors.BiasShape,
        "one fp32 row",
        lambda: check("matmul", acc(), left(), right(), Tile((2, 48), FP32, S.Bias)),
    ),
    "matmul on a vector core": (errors.WrongCore, "cube core", lambda: check("matmul", acc(), left(), right(), core=VECTOR)),
    "matmul phase": (errors.PhaseInvalid, "invalid", lambda: check("matmul", acc(), left(), right(), phase=STPhase.Final)),
    "matmul types": (errors.MatrixDtypes, "fp16 and bf16", lambda: check("matmul", acc(), left(), right(dtype=D.DT_BF16))),
    "matmul int8": (
        errors.MatrixDtypes,
        "int8 into int32",
        lambda: check("matmul", acc(), left(dtype=D.DT_INT8), right(dtype=D.DT_INT8)),
    ),
    "matmul K": (
        errors.MatrixInnerExtents,
        "K dimensions must match, got lhs K=64, rhs K=128",
        lambda: check("matmul", acc(), left(), right((128, 48))),
    ),
    "matmul extent": (
        errors.MatrixExtent,
        "M must be 1 to 4095",
        lambda: check("matmul", acc(), left(valid=(0, 64)), right()),
    ),
    "matmul target size": (
        errors.MatrixTargetTooSmall,
        "holds",
        lambda: check("matmul", acc((16, 48)), left(valid=(32, 64)), right()),
    ),
    "matmul_acc": (
        errors.AccumulatorShape,
        "acc_tile shape must match dst_tile shape",
        lambda: check("matmul_acc", acc(), acc((64, 48)), left(), right()),
    ),
    "mx K": (
        errors.MatrixInnerExtents,
        "K dimensions must match, got lhs K=64, rhs K=128",
        lambda: mx(b=right((128, 48), D.DT_FP8E5M2)),
    ),
    "mx K multiple": (
        errors.MxInnerMultiple,
        "K dimension must be a multiple of 64",
        lambda: mx(a=left((32, 32), D.DT_FP8E4M3), b=right((32, 48), D.DT_FP8E4M3)),
    ),
    "mx target": (errors.MatrixTargetShape, r"dst_tile shape must be \[lhs M, rhs N\]", lambda: mx(target=acc((64, 48)))),
    "mx types": (errors.MxDtypes, "must be FP8/FP4 combo and dst FP32", lambda: mx(b=right(dtype=D.DT_FP4_E2M1))),
    "mx plain types": (errors.MxDtypes, "must be FP8/FP4 combo", lambda: mx(a=left(), b=right())),
    "mx scale missing": (
        errors.MxScaleMissing,
        "scale_b is required",
        lambda: check("matmul_mx", acc(), left(dtype=D.DT_FP8E4M3), right(dtype=D.DT_FP8E4M3), left_scale()),
    ),
    "mx scale type": (errors.MxScaleDtype, "scale_a must use FP8E8M0 dtype", lambda: mx(sa=left_scale(dtype=D.DT_UINT8))),
    "mx scale space": (errors.MxScaleSpace, "scale_a must be in L0A.*ScaleLeft", lambda: mx(sa=left_scale(space=S.ScaleRight))),
    "mx scale shape": (errors.MxScaleShape, r"scale_b must have shape \[2, 48\]", lambda: mx(sb=right_scale((4, 48)))),
    "mx scale address": (
        errors.MxScaleAddress,
        "0x40, but is 0x20",
        lambda: mx(a=static(left(dtype=D.DT_FP8E4M3), address=0x400), sa=static(left_scale(), address=0x20)),
    ),
    "mx accumulator shape": (
        errors.AccumulatorShape,
        "acc_tile shape must match dst_tile shape",
        lambda: mx("matmul_mx_acc", before=acc((64, 48))),
    ),
    "mx accumulator type": (
        errors.AccumulatorDtype,
        "acc_tile must use FP32 dtype",
        lambda: mx("matmul_mx_acc", before=acc(dtype=D.DT_INT32)),
    ),
    # -- synchronisation
    "flag id": (
        errors.EventOutOfRange,
        r"Event ID must be in range \[0, 15\], got 16",
        lambda: flag(PipeType.MTE2, PipeType.V, 16),
    ),
    "flag pipes": (errors.SamePipe, r"bar_mte2\(\)", lambda: flag(PipeType.MTE2, PipeType.MTE2, 0)),
    "flag on a pipe of the other core": (errors.PipeRefused, "on the vector core", lambda: flag(PipeType.M, PipeType.V, 0)),
    "barrier of the other core": (errors.PipeRefused, "on the vector core", lambda: check("bar_m", core=VECTOR)),
    "cross-core id": (
        errors.CrossCoreEventOutOfRange,
        r"event_id must be in \[0, 16\), got 16",
        lambda: check("set_cross_core", core=CUBE, pipe=PipeType.FIX, event_id=16),
    ),
    "cross-core pipe": (
        errors.PipeRefused,
        "pipe MTE3 does not exist",
        lambda: check("wait_cross_core", core=CUBE, pipe=PipeType.MTE3, event_id=1),
    ),
    "token id": (
        errors.MutexOutOfRange,
        r"mutex_id must be in \[0, 31\], got 32",
        lambda: check("mutex_lock", core=VECTOR, pipe=PipeType.V, mutex_id=32),
    ),
    "too many tokens": (
        errors.TooManyMutexIds,
        "3 mutex ids",
        lambda: check("mutex_lock", core=VECTOR, pipe=PipeType.V, mutex_ids=[0, 1, 2]),
    ),
    "tokens on 910B": (
        errors.MutexNotOnChip,
        "auto_mutex=False",
        lambda: check("mutex_lock", core=VECTOR, pipe=PipeType.V, mutex_id=3, target="910B"),
    ),
    "hard sync_all": (errors.SyncAllWorkspaces, "no workspaces", lambda: sync_all([GM], SyncAllMode.HARD)),
    "soft sync_all without tensor": (errors.SyncAllWorkspaces, "exactly one GM Tensor", lambda: sync_all([vec(), mat()])),
    "soft sync_all without UB": (errors.SyncAllWorkspaces, r"Vec \(ub\) tile", lambda: sync_all([GM, mat()])),
    "soft sync_all without L1": (errors.SyncAllWorkspaces, r"Mat \(l1\) tile", lambda: sync_all([GM, vec()])),
    "soft sync_all twice": (errors.SyncAllWorkspaces, "got 2", lambda: sync_all([GM, GM, vec(), mat()])),
    "soft sync_all of vector cores": (
        errors.SyncAllWorkspaces,
        r"AIV_ONLY forbids a Mat",
        lambda: sync_all([GM, vec(), mat()], core=SyncCoreType.AIV_ONLY),
    ),
    "soft sync_all of cube cores": (
        errors.SyncAllWorkspaces,
        "AIC_ONLY forbids a Vec",
        lambda: sync_all([GM, vec(), mat()], core=SyncCoreType.AIC_ONLY),
    ),
    "soft sync_all of accumulators": (errors.SyncAllWorkspaces, "unrecognised", lambda: sync_all([GM, acc()])),
    "soft sync_all used twice": (errors.SyncAllWorkspaces, "given twice", lambda: sync_all([GM, vec(), mat(), 3, 4])),
    "dcci per axis": (errors.CacheOffset, "per-dimension list/tuple", lambda: check("dcci", GM, [0])),
    "dcci of a tile": (errors.CacheOffset, "scalar integer element offset", lambda: check("dcci", vec(), [0, 0])),
    "dcci float": (errors.CacheOffset, "scalar integer element offset", lambda: check("dcci", GM, 1.5)),
    # -- scalars, descriptors, output
    "getval of a struct": (
        errors.ElementContainer,
        "s.name",
        lambda: check("getval", static(Struct("S", (("x", FP32, None),))), 0, core=VECTOR),
    ),
    "getval of L1": (errors.ElementContainer, "a Tile in Mat", lambda: check("getval", mat(), 0)),
    "getval of fp8": (errors.ElementStorageOnly, "storage only", lambda: check("getval", vec(dtype=D.DT_FP8E4M3), 0)),
    "getval index": (errors.ElementOutOfBounds, "out of bounds", lambda: check("getval", vec(), 32 * 64)),
    "getval index per axis": (errors.ElementOutOfBounds, "axis 1", lambda: check("getval", vec(), [0, 64])),
    "getval of one index": (errors.ElementRank, "requires 1D container", lambda: check("getval", vec(), [3])),
    "getval of three": (errors.ElementRank, "3 indices but container has rank 2", lambda: check("getval", vec(), [3, 1, 2])),
    "getval float": (errors.ElementIndexKind, "integer scalar", lambda: check("getval", vec(), 1.5)),
    "setval run-time float": (
        errors.ElementIndexKind,
        "integer scalar",
        lambda: check("setval", vec(), static(Scalar(FP32)), 1, core=VECTOR),
    ),
    "set_validshape of a tensor": (errors.TileExpected, "must be a Tile", lambda: check("set_validshape", GM, [1, 1])),
    "set_validshape zero": (
        errors.ValidExtentNotPositive,
        "row must be positive",
        lambda: check("set_validshape", vec(), [0, 4]),
    ),
    "set_validshape large": (
        errors.ValidExtentExceeds,
        "33 exceeds tile row 32",
        lambda: check("set_validshape", vec(), [33, 4]),
    ),
    "set_validshape of a group": (
        errors.ValidExtentExceeds,
        "65 exceeds tile column 64",
        lambda: check("set_validshape", static(Group(vec(), 2)), [32, 65], core=VECTOR),
    ),
    "set_validshape of constants": (
        errors.ValidExtentConstant,
        "without valid_shape",
        lambda: check("set_validshape", vec(valid=(8, 8)), [4, 4]),
    ),
    "set_stride count": (errors.StridesMismatch, "list of two", lambda: check("set_stride", GM, [1])),
    "set_stride negative": (errors.StridesMismatch, "negative", lambda: check("set_stride", GM, [-64, 1])),
    "printf of a run-time text": (errors.FormatNotText, "literal string", lambda: check("printf", static(Scalar(FP32)))),
    "printf %s": (errors.FormatDirective, "'%s' is invalid", lambda: check("printf", "%s", 1)),
    "printf %%": (errors.FormatDirective, "invalid", lambda: check("printf", "100%%")),
    "printf %lld": (errors.FormatDirective, "'%lld'", lambda: check("printf", "%lld", 1)),
    "printf count": (
        errors.FormatCount,
        "format expects 2 scalar arguments, but got 1",
        lambda: check("printf", "%d %d", 1),
    ),
    "printf %f of an integer": (errors.FormatType, "%f takes an fp32", lambda: check("printf", "%f", static(BITS))),
    "printf %d of a float": (errors.FormatType, "%d takes a signed integer", lambda: check("printf", "%d", static(Scalar(FP32)))),
    "printf %d of uint32": (errors.FormatType, "uint32", lambda: check("printf", "%d", static(Scalar(D.DT_UINT32)))),
    "printf %u of int32": (errors.FormatType, "int32", lambda: check("printf", "%u", static(BITS))),
    "printf %x of a bool": (errors.FormatType, "bool", lambda: check("printf", "%x", static(Scalar(D.DT_BOOL)))),
    "printf %p of a number": (errors.FormatType, "a pointer", lambda: check("printf", "%p", 3)),
    "printf %d of a pointer": (errors.FormatType, "a pointer", lambda: check("printf", "%d", static(Pointer(FP32)))),
    "assert of an integer": (errors.AssertionCondition, "scalar BOOL", lambda: check("pto_assert", static(BITS))),
    "assert format": (
        errors.FormatCount,
        "expects 1",
        lambda: check("pto_assert", static(Scalar(D.DT_BOOL)), "n is %d"),
    ),
    "dump of a scalar": (errors.DumpRefused, "Tensor or a Tile", lambda: check("dump_data", static(BITS))),
    "dump half a window": (errors.DumpRefused, "both or not at all", lambda: check("dump_data", vec(), [0, 0])),
    "dump window": (errors.DumpRefused, "shapes must be positive", lambda: check("dump_data", vec(), [0, 0], [0, 4])),
    "dump window rank": (errors.DumpRefused, "offsets must be a list of 2", lambda: check("dump_data", vec(), [0], [1])),
    "dump of L1": (errors.DumpRefused, "Mat cannot be dumped", lambda: check("dump_data", mat())),
    "dump of UB on the cube core": (errors.DumpRefused, "vector sections only", lambda: check("dump_data", vec(), core=CUBE)),
    "dump of Acc": (errors.DumpRefused, "needs workspace=", lambda: check("dump_data", acc())),
    "dump of Acc into too little": (
        errors.DumpRefused,
        "smaller than the tile",
        lambda: check("dump_data", acc(), types={"workspace": Tensor((16, 16), FP32)}),
    ),
    "dump of a tensor with workspace": (
        errors.DumpRefused,
        "no workspace",
        lambda: check("dump_data", GM, types={"workspace": GM}),
    ),
    "dump of six axes": (errors.DumpRefused, "1 to 5 axes", lambda: check("dump_data", Tensor((1,) * 6, FP32))),
}


def scaled(tile, **attributes):
    return check("store", Tensor((64, 64), D.DT_INT8), acc((32, 64)), ZERO, types={"scale": tile}, **attributes)


def mx(operation="matmul_mx", target=None, before=None, a=None, b=None, sa=None, sb=None):
    operands = [
        target or acc(),
        a or left(dtype=D.DT_FP8E4M3),
        b or right(dtype=D.DT_FP8E5M2),
        sa or left_scale(),
        sb or right_scale(),
    ]
    if operation.endswith("acc"):
        operands.insert(1, before or acc())
    return check(operation, *operands, core=CUBE)


def flag(first, second, event):
    return check("sync_src", core=VECTOR, set_pipe=first, wait_pipe=second, event_id=event)


def sync_all(workspaces, mode=SyncAllMode.SOFT, core=SyncCoreType.MIX):
    given = tuple(static(one) if isinstance(one, (Tile, Tensor)) else static(None, one) for one in workspaces)
    return check("sync_all", given, core=CUBE, mode=mode, core_type=core)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(name):
    error, pattern, call = WRONG[name]
    with pytest.raises(error) as raised:
        call()
    assert re.search(pattern, str(raised.value)), str(raised.value)
    assert isinstance(raised.value, UserError) and "{" not in str(raised.value)


RIGHT = {
    "load": lambda: check("load", vec(), GM, [63, 127]),
    "load with run-time offsets": lambda: check("load", vec(), GM, offsets(None, 0)),
    "load of run-time extents": lambda: check("load", vec(), Tensor(("n", "m"), FP32), [100000, 3]),
    "load in order": lambda: check("load", vec(), Tensor((2, 64, 64), FP32), [1, 0, 0], order=[2, 1]),
    "load of one row": lambda: check("load", vec((1, 64)), Tensor((100,), FP32), [99]),
    "load of block scales": lambda: check(
        "load", mat((32, 2), D.DT_FP8E8M0, L.ZZ, 32), Tensor((32, 1, 2), D.DT_FP8E8M0), [0, 0, 0], order=[0, 1]
    ),
    "load of halves": lambda: check("load", vec((32, 64), D.DT_FP4_E2M1), Tensor((64, 64), D.DT_FP4_E2M1), [0, 127]),
    "load_tile": lambda: check("load_tile", vec((32, 32)), GM, [1, 3], order=[1, 0]),
    "store": lambda: check("store", GM, vec(), ZERO, order=[0, 1], atomic=AtomicType.AtomicAdd),
    "store from Acc": lambda: check(
        "store", Tensor((64, 64), FP16), acc(), ZERO, phase=STPhase.Final, relu_pre_mode=ReluPreMode.NormalRelu
    ),
    "store by number": lambda: check("store", Tensor((64, 64), D.DT_INT8), acc(), ZERO, scale=2),
    "store by bits": lambda: check("store", Tensor((64, 64), FP16), acc(), ZERO, types={"scale": BITS}),
    "store by channel": lambda: scaled(scale()),
    "store with no atomic by channel": lambda: scaled(scale(), atomic=AtomicType.AtomicNone),
    "store in blocks": lambda: check("store", Tensor((64, 64), FP32, L.NZ), acc(), ZERO),
    "store_fp": lambda: check("store_fp", Tensor((64, 64), D.DT_INT8), acc((32, 64)), scale(), ZERO),
    "move_fp": lambda: check("move_fp", vec(dtype=D.DT_INT8), acc((32, 64)), scale(), core=CUBE),
    "move": lambda: check("move", left(), mat(dtype=FP16)),
    "move reversed": lambda: check("move", right((64, 32)), mat(dtype=FP16)),
    "move to bias": lambda: check("move", Tile((1, 64), FP32, S.Bias), mat((1, 64), FP16)),
    "move part": lambda: check("move", left((16, 16)), mat(dtype=FP16), offsets(None, 48)),
    "move halves": lambda: check("move", vec((16, 48)), acc(), acc_to_vec_mode=AccToVecMode.DualModeSplitM),
    "insert": lambda: check("insert", mat((64, 64)), vec(layout=L.NZ), [32, 0]),
    "insert by move": lambda: check("move", mat((64, 64)), vec(layout=L.NZ), [32, 0]),
    "insert transposed by move": lambda: check("move", mat((64, 32), layout=L.ZN), vec(layout=L.NZ)),
    "matmul": lambda: check("matmul", acc(), left(), right(), Tile((1, 48), FP32, S.Bias), phase=AccPhase.Partial),
    "matmul int8": lambda: check(
        "matmul_acc", acc(dtype=D.DT_INT32), acc(dtype=D.DT_INT32), left(dtype=D.DT_INT8), right(dtype=D.DT_INT8)
    ),
    "matmul fp8": lambda: check("matmul", acc(), left(dtype=D.DT_FP8E4M3), right(dtype=D.DT_FP8E5M2)),
    "mx": lambda: mx(),
    "mx fp4": lambda: mx(a=left(dtype=D.DT_FP4_E1M2), b=right(dtype=D.DT_FP4_E2M1)),
    "mx_acc": lambda: mx("matmul_mx_acc"),
    "mx addresses": lambda: mx(a=static(left(dtype=D.DT_FP8E4M3), address=0x400), sa=static(left_scale(), address=0x40)),
    "flags": lambda: flag(PipeType.MTE2, PipeType.V, 15),
    "barriers": lambda: [check(f"bar_{name}", core=CUBE) for name in ("m", "mte1", "mte2", "fix", "all")],
    "tokens": lambda: check("mutex_unlock", core=VECTOR, pipe=PipeType.V, mutex_id=31),
    "hard sync_all": lambda: check("sync_all", core=CUBE, core_type=SyncCoreType.AIC_ONLY),
    "soft sync_all": lambda: sync_all([GM, vec(), mat(), 3]),
    "soft sync_all of vector cores": lambda: sync_all([GM, vec()], core=SyncCoreType.AIV_ONLY),
    "dcci": lambda: [check("dcci", GM), check("dcci", GM, 3), check("dcci", GM, [0, 1]), check("dcci", vec(), 4)],
    "getval": lambda: [check("getval", vec(), 2047), check("getval", vec(), [31, 63]), check("getval", GM, [1, 2], core=CUBE)],
    "setval": lambda: check("setval", vec(), static(Scalar(D.DT_INT64)), 1.5, core=VECTOR),
    "set_validshape": lambda: check("set_validshape", static(Group(vec(), 2)), offsets(None, 64), core=VECTOR),
    "printf": lambda: check(
        "printf", "%d %5u %-8x %+.3f %p\n", 1, static(Scalar(D.DT_UINT8)), 3, static(Scalar(FP32)), static(Pointer(FP32))
    ),
    "pto_assert": lambda: [check("pto_assert", static(Scalar(D.DT_BOOL)), "bad"), check("pto_assert", True)],
    "dump": lambda: check("dump_data", acc(), [0, 0], [4, 4], types={"workspace": Tensor((32, 48), FP32)}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_calls(name):
    assert RIGHT[name]() is not None
