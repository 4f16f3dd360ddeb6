"""Mistakes in matrix products of the cube core and in the scales of results and operands (tile API sections 3.1, 3.2)."""

from __future__ import annotations

from pypto.errors.base import UserError

# -- scale --------------------------------------------------------------------------------------------------------------------


class ScaleKind(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: scale must be a number, a run-time scalar or a Scaling tile, but got {kind}"


class ScaleScalarDtype(UserError, TypeError):
    code = 0xF00001
    message = (
        "{operation}: scale runtime scalar dtype {got} is not supported; use fp32, or int32/int64 holding the bits of a float32"
    )


class ScaleTensor(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: scale Tensor is not supported for per-channel quantization"
    help = "load it into a Mat tile and move that into a tile of MemorySpace.Scaling first"


class ScaleTileSpace(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: the scale tile must be in MemorySpace.Scaling, but it is in {got}"


class ScaleTileRank(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: scale tile must be 2D, with shape [1, N], so row == 1, but got {shape}"


class ScaleTileWidth(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: the scale tile's N must be a multiple of 16 and must not exceed {limit}, but got {columns}"


class ScaleTileFloat(UserError, TypeError):
    code = 0xF00001
    message = (
        "{operation}: scale tile dtype FP32 is not supported; scale tile dtype must be INT64, encoded by npu_trans_quant_param"
    )
    help = "encode on the host: torch_npu.npu_trans_quant_param(scale)"


class ScaleTileDtype(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: scale tile dtype must be INT64, but got {got}"
    help = "encode on the host: torch_npu.npu_trans_quant_param(scale)"


class ScaleWithRelu(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: a scale tile cannot be used together with relu_pre_mode"


class ScaleWithPhase(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: a scale tile cannot be combined with phase"


class ScaleWithKeyword(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {keyword} has no effect together with a scale tile (the hardware ignores it there)"
    help = "leave it out, or use one scale for the whole tensor"


class ScaleWithDualMode(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: a scale tile only supports single-mode, but got {mode}"


class ScaleDestination(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: scale does not support a {target} destination; possible: {possible}"


class ScaleUnsigned(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: channel {channel} of the scale tile lacks the mark of signed int8 (bit 46)"
    help = "encode on the host: torch_npu.npu_trans_quant_param(scale)"


# -- matrix -------------------------------------------------------------------------------------------------------------------


class MatrixExtent(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {axis} must be 1 to 4095, but is {extent}"


class MatrixInnerExtents(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: K dimensions must match, got lhs K={left}, rhs K={right}"


class MatrixTargetShape(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: dst_tile shape must be [lhs M, rhs N] = {expected}, but is {got}"


class MatrixTargetTooSmall(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: the product is {expected}, but dst_tile holds {got}"


class AccumulatorShape(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: acc_tile shape must match dst_tile shape: {got} and {expected}"


class AccumulatorDtype(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: acc_tile must use FP32 dtype, but uses {got}"


class MatrixDtypes(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: no product of {left} and {right} into {target}; possible: {possible}"


class BiasShape(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: the bias tile must be one fp32 row [1, N], but is {got}"


class MxInnerMultiple(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: K dimension must be a multiple of 64, but is {extent}"


class MxDtypes(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: operands must be FP8/FP4 combo and dst FP32, but got {left}, {right} into {target}"


class MxScaleMissing(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {argument} is required"


class MxScaleDtype(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {argument} must use FP8E8M0 dtype, but uses {got}"


class MxScaleSpace(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} must be in {memory} scale memory ({expected}), but it is in {got}"


class MxScaleShape(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} must have shape {expected}, but has {got}"


class MxScaleAddress(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: the address of {argument} must be that of its data >> 4: {expected:#x}, but is {got:#x}"
