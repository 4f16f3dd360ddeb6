"""Mistakes in matrix products of the cube core and in the scales of results and operands (tile API sections 3.1, 3.2)."""

from __future__ import annotations

from pypto.errors.base import UserError

# -- scale --------------------------------------------------------------------------------------------------------------------


class ScaleKind(UserError, TypeError):
    code = 0xF00001
    about = "scale"
    message = "{operation}: scale must be a number, a run-time scalar or a Scaling tile, but got {kind}"
    help = "for example scale=0.5, or scale=tile with one factor per column"


class ScaleScalarDtype(UserError, TypeError):
    code = 0xF00001
    about = "scale"
    message = (
        "{operation}: scale runtime scalar dtype {got} is not supported; use fp32, or int32/int64 holding the bits of a float32"
    )
    help = "declare the parameter as pl.DT_FP32"


class ScaleTensor(UserError, TypeError):
    code = 0xF00001
    about = "scale"
    message = "{operation}: scale Tensor is not supported for per-channel quantization"
    help = "load it into a Mat tile and move that into a tile of MemorySpace.Scaling first"


class ScaleTileSpace(UserError, ValueError):
    code = 0xF00002
    about = "scale"
    message = "{operation}: the scale tile must be in MemorySpace.Scaling, but it is in {got}"
    help = "declare it with pl.TileType(..., target_memory=pl.MemorySpace.Scaling) and fill it with pl.move from a Mat tile"


class ScaleTileRank(UserError, ValueError):
    code = 0xF00002
    about = "scale"
    message = "{operation}: scale tile must be 2D, with shape [1, N], so row == 1, but got {shape}"
    help = "declare it with pl.TileType(shape=[1, N], dtype=pl.DT_INT64, target_memory=pl.MemorySpace.Scaling)"


class ScaleTileWidth(UserError, ValueError):
    code = 0xF00002
    about = "scale"
    message = "{operation}: the scale tile's N must be a multiple of 16 and must not exceed {limit}, but got {columns}"
    help = "widen the tile to the next multiple of 16, or split the columns into several moves"


class ScaleTileFloat(UserError, TypeError):
    code = 0xF00001
    about = "scale"
    message = (
        "{operation}: scale tile dtype FP32 is not supported; scale tile dtype must be INT64, encoded by npu_trans_quant_param"
    )
    help = "encode on the host: torch_npu.npu_trans_quant_param(scale)"


class ScaleTileDtype(UserError, TypeError):
    code = 0xF00001
    about = "scale"
    message = "{operation}: scale tile dtype must be INT64, but got {got}"
    help = "encode on the host: torch_npu.npu_trans_quant_param(scale)"


class ScaleWithRelu(UserError, ValueError):
    code = 0xF00002
    about = "relu_pre_mode"
    message = "{operation}: a scale tile cannot be used together with relu_pre_mode"
    help = "leave relu_pre_mode out and apply pl.relu to the vector tile, or scale by one number"


class ScaleWithPhase(UserError, ValueError):
    code = 0xF00002
    about = "phase"
    message = "{operation}: a scale tile cannot be combined with phase"
    help = "leave phase out, or scale by one number"


class ScaleWithKeyword(UserError, ValueError):
    code = 0xF00002
    about = "scale"
    message = "{operation}: {keyword} has no effect together with a scale tile (the hardware ignores it there)"
    help = "leave it out, or use one scale for the whole tensor"


class ScaleWithDualMode(UserError, ValueError):
    code = 0xF00002
    about = "acc_to_vec_mode"
    message = "{operation}: a scale tile only supports single-mode, but got {mode}"
    help = "leave acc_to_vec_mode out, or scale by one number"


class ScaleDestination(UserError, TypeError):
    code = 0xF00001
    about = "scale"
    message = "{operation}: scale does not support a {target} destination; possible: {possible}"
    help = "declare the destination with one of the possible types, or leave scale out and multiply with pl.mul"


class ScaleUnsigned(UserError, ValueError):
    code = 0xF00002
    about = "scale"
    message = "{operation}: channel {channel} of the scale tile lacks the mark of signed int8 (bit 46)"
    help = "encode on the host: torch_npu.npu_trans_quant_param(scale)"


# -- matrix -------------------------------------------------------------------------------------------------------------------


class MatrixExtent(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {axis} must be 1 to 4095, but is {extent}"
    help = "skip empty tiles with an if; split larger matrices and accumulate with pl.matmul_acc"


class MatrixInnerExtents(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: K dimensions must match, got lhs K={left}, rhs K={right}"
    help = (
        "give both K: the left tile is [M, K], the right one [K, N]; limit a tail with pl.set_validshape(tile, [rows, columns])"
    )


class MatrixTargetShape(UserError, ValueError):
    code = 0xF00002
    about = "dst_tile"
    message = "{operation}: dst_tile shape must be [lhs M, rhs N] = {expected}, but is {got}"
    help = "declare the result with pl.TileType(shape={expected}, ..., target_memory=pl.MemorySpace.Acc)"


class MatrixTargetTooSmall(UserError, ValueError):
    code = 0xF00002
    about = "dst_tile"
    message = "{operation}: the product is {expected}, but dst_tile holds {got}"
    help = "set its extents before: pl.set_validshape(tile, [M, N])"


class AccumulatorShape(UserError, ValueError):
    code = 0xF00002
    about = "acc_tile"
    message = "{operation}: acc_tile shape must match dst_tile shape: {got} and {expected}"
    help = "accumulate in place: pass the target as the accumulator too"


class AccumulatorDtype(UserError, TypeError):
    code = 0xF00001
    about = "acc_tile"
    message = "{operation}: acc_tile must use FP32 dtype, but uses {got}"
    help = "declare it with pl.TileType(..., dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc)"


class MatrixDtypes(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: no product of {left} and {right} into {target}; possible: {possible}"
    help = "declare the three tiles with a combination of this list, or pl.cast before the load into Left and Right"


class BiasShape(UserError, ValueError):
    code = 0xF00002
    about = "bias_tile"
    message = "{operation}: the bias tile must be one fp32 row [1, N], but is {got}"
    help = "declare it with pl.TileType(shape=[1, N], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Bias)"


class MxInnerMultiple(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: K dimension must be a multiple of 64, but is {extent}"
    help = "fill K up with zeros to the next multiple of 64"


class MxDtypes(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: operands must be FP8/FP4 combo and dst FP32, but got {left}, {right} into {target}"
    help = "for example pl.DT_FP8E4M3 for both operands and pl.DT_FP32 for the result; use pl.matmul for other types"


class MxScaleMissing(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {argument} is required"
    help = "pass {argument}=tile, an FP8E8M0 tile with one scale per 32 elements of K"


class MxScaleDtype(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {argument} must use FP8E8M0 dtype, but uses {got}"
    help = "declare it with pl.TileType(..., dtype=pl.DT_FP8E8M0)"


class MxScaleSpace(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} must be in {memory} scale memory ({expected}), but it is in {got}"
    help = "declare it with pl.TileType(..., target_memory=pl.MemorySpace.{expected})"


class MxScaleShape(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} must have shape {expected}, but has {got}"
    help = "declare it with pl.TileType(shape={expected}, ...): one scale per 32 elements of K"


class MxScaleAddress(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: the address of {argument} must be that of its data >> 4: {expected:#x}, but is {got:#x}"
    help = "make it at addr={expected:#x}, or move the data to addr={got:#x} << 4"
