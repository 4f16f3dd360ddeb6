"""Matrix multiplication with bias, scale, ReLU and type conversion (tensor API section 9.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pypto.dtypes import DataType
from pypto.elements import element_value
from pypto.enums import ReLuType, TransMode
from pypto.errors import operations as errors
from pypto.errors.runtime import ShapesDisagree
from pypto.ir.program import Operand, TensorType
from pypto.ir.symbols import Scalar, compare
from pypto.ops import rounding, rules
from pypto.ops.arguments import boolean, dtype_argument, is_tensor, kind_name, tensor, type_of
from pypto.ops.dtype_sets import B16, E4M3, E5M2, F16, F32, I8, I32, I64, U64, names
from pypto.ops.families import composite
from pypto.ops.guards import require
from pypto.ops.numerics import is_float, narrowed, widened
from pypto.ops.table import Kind, Unit, operation, record, recorder

# Result types by input type, without and with a scale (table of section 9.9).
RESULTS: dict[DataType, tuple[DataType, ...]] = {
    F16: (F16, F32),
    B16: (B16, F32),
    F32: (F32,),
    I8: (I32,),
    E4M3: (F16, B16, F32),
    E5M2: (F16, B16, F32),
}
SCALED_RESULTS: dict[DataType, tuple[DataType, ...]] = dict.fromkeys(RESULTS, (I8,)) | {I8: (F16, I8)}
FP8 = (E4M3, E5M2)


# -- typing -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sides:
    """Types of the two matrices as multiplied: transposes applied."""

    first: TensorType
    second: TensorType

    @classmethod
    def of(cls, operands: Sequence[Operand], attributes: rules.Attributes) -> Sides:
        a, b = rules.types_of(operands)[:2]
        return cls(_turned(a, attributes.get("a_trans", False)), _turned(b, attributes.get("b_trans", False)))


def _turned(type: TensorType, transposed: bool) -> TensorType:
    if not transposed:
        return type
    swap = lambda sizes: (*sizes[:-2], sizes[-1], sizes[-2])  # noqa: E731
    return TensorType(type.dtype, swap(type.shape), swap(type.valid))


def _infer(operands: Sequence[Operand], attributes: rules.Attributes) -> list[TensorType]:
    a, b = rules.types_of(operands)[:2]
    if a.rank != b.rank or not 2 <= a.rank <= 4:
        raise errors.MatmulRanks(first=list(a.shape), second=list(b.shape))
    for type in (a, b):
        rules.check_not_empty("matmul", type)
    sides = Sides.of(operands, attributes)
    _check_inner(sides, a, b)
    _check_dtypes(a.dtype, b.dtype, attributes)
    shape, valid = _batch(sides, a, b)
    shape += (sides.first.shape[-2], sides.second.shape[-1])
    valid += (sides.first.valid[-2], sides.second.valid[-1])
    return [TensorType(attributes["out_dtype"], shape, valid)]


def _check_inner(sides: Sides, a: TensorType, b: TensorType) -> None:
    for first, second in (
        (sides.first.shape[-1], sides.second.shape[-2]),
        (sides.first.valid[-1], sides.second.valid[-2]),
    ):
        require(
            compare("eq", first, second),
            ShapesDisagree(first=first, second=second, operation="MATMUL"),
            errors.MatmulInner(first=list(a.shape), second=list(b.shape), first_k=first, second_k=second),
        )


def _check_dtypes(first: DataType, second: DataType, attributes: rules.Attributes) -> None:
    out = attributes["out_dtype"]
    if first is not second and not (first in FP8 and second in FP8):
        raise errors.MatmulInputDtypes(first=first.name, second=second.name)
    plain, scaled = RESULTS.get(first, ()), SCALED_RESULTS.get(first, ())
    if out not in plain + scaled:
        raise errors.MatmulDtypes(first=first.name, out=out.name, supported=names(plain + scaled) or "nothing")
    if out in scaled and out not in plain and not attributes.get("scale") and not attributes.get("scale_tensor"):
        raise errors.MatmulScale(first=first.name, out=out.name)


def _batch(sides: Sides, a: TensorType, b: TensorType) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """Batch axes: equal or 1."""
    rank = a.rank - 2
    if rank == 0:
        return (), ()
    heads = [TensorType(t.dtype, t.shape[:rank], t.valid[:rank]) for t in (a, b)]
    try:
        return rules.broadcast("matmul", heads)
    except errors.NotBroadcastable:
        raise errors.MatmulBatch(first=list(a.shape), second=list(b.shape)) from None


# -- meaning ------------------------------------------------------------------------------------------------------------------


def truncated_scale(scale: float) -> float:
    """FP32 with 10 bits of mantissa, as the scale register holds it (section 9.9)."""
    bits = np.float32(scale).view(np.uint32) & np.uint32(0xFFFFE000)
    return float(bits.view(np.float32))


def compute(
    a: np.ndarray,
    b: np.ndarray,
    *extra: np.ndarray,
    out_dtype: DataType,
    a_trans: bool = False,
    b_trans: bool = False,
    bias: bool = False,
    scale: float = 0.0,
    scale_tensor: bool = False,
    relu: bool = False,
    trans_mode: str = "none",
) -> np.ndarray:
    """Product, bias, scale, ReLU, conversion: in that order."""
    total = product(_prepared(a, a_trans, trans_mode), _prepared(b, b_trans, trans_mode))
    if bias:
        total = _add_bias(total, extra[0])
    if scale or scale_tensor:
        factor = np.float32(truncated_scale(scale)) if scale else _scales(extra[-1])
        total = total.astype(np.float32) * factor
    if relu:
        total = np.where(total <= 0, np.zeros((), total.dtype), total)
    return _converted(total, out_dtype)


def _prepared(x: np.ndarray, transposed: bool, trans_mode: str) -> np.ndarray:
    if trans_mode != "none":
        x = rounding.at_precision(x.astype(np.float64), rounding.TF32_FRACTION, -126, trans_mode)
    return np.swapaxes(x, -1, -2) if transposed else x


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Float64 sums, rounded to fp32 (the definition accumulates in fp32; the bound covers the order); integers modulo 2^32."""
    if a.dtype == np.int8:
        return np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(np.int32)
    return np.matmul(widened(a).astype(np.float64), widened(b).astype(np.float64)).astype(np.float32)


def _add_bias(total: np.ndarray, bias: np.ndarray) -> np.ndarray:
    added = total + bias.astype(total.dtype)
    return added.astype(total.dtype)


def _scales(words: np.ndarray) -> np.ndarray:
    """FP32 numbers in the low halves of 64-bit words."""
    return (words.astype(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)


def _converted(total: np.ndarray, out: DataType) -> np.ndarray:
    if out is I8 and is_float(total):
        return rounding.to_integer(total, I8, "rint", True)
    return narrowed(total, out.numpy)


# -- the public function ------------------------------------------------------------------------------------------------------

KEYS = ("bias_tensor", "scale_tensor", "scale", "relu_type", "trans_mode")
TRANS_MODES = {TransMode.CAST_NONE: "none", TransMode.CAST_RINT: "rint", TransMode.CAST_ROUND: "round"}


@operation(
    kind=Kind.MATMUL,
    infer=_infer,
    compute=compute,
    lower="matmul",
    npu=Unit("M", "MMAD"),
    dtypes=tuple(RESULTS),
    chip=(F16, B16, F32, I8),
    method=True,
)
def matmul(
    input: Any,
    mat2: Any,
    out_dtype: DataType,
    *,
    a_trans: bool = False,
    b_trans: bool = False,
    c_matrix_nz: bool = False,
    extend_params: Mapping[str, Any] | None = None,
) -> Any:
    """``op(input) @ op(mat2)``, accumulated in FP32 (INT8: INT32, wrapping), then bias, scale, ReLU, conversion.

    Both have rank 2, 3 or 4; batch axes are equal or 1. ``extend_params``: ``bias_tensor`` ``[1, N]`` (rank 3: or ``[b, 1, N]``),
    ``scale`` (a number) or ``scale_tensor`` (INT64 ``[1, N]``, FP32 bits in the low halves), ``relu_type``, ``trans_mode`` (FP32
    inputs are rounded to TF32 first).

    >>> evaluate(matmul, [[1.0, 2.0]], [[3.0], [4.0]], DataType.DT_FP32).tolist()
    [[11.0]]
    """
    a, b = tensor("matmul", "input", input), tensor("matmul", "mat2", mat2)
    dtype_argument("matmul", "out_dtype", out_dtype)
    attributes = {
        "out_dtype": out_dtype,
        "a_trans": boolean("matmul", "a_trans", a_trans),
        "b_trans": boolean("matmul", "b_trans", b_trans),
    }
    if boolean("matmul", "c_matrix_nz", c_matrix_nz):
        raise errors.MatmulNzOutput()
    if extend_params is None:
        return record("matmul", [a, b], attributes)
    if not isinstance(extend_params, Mapping):
        raise errors.ArgumentType(operation="matmul", argument="extend_params", expected="dict", kind=kind_name(extend_params))
    extra, more = _extended(a, b, attributes, extend_params)
    return record("matmul", [a, b, *extra], {**attributes, **more})


def _extended(a: Any, b: Any, attributes: dict[str, Any], parameters: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Operands and attributes of ``extend_params``."""
    for key in parameters:
        if key not in KEYS:
            raise errors.UnknownExtendParameter(operation="matmul", key=key, argument="extend_params", known=", ".join(KEYS))
    (result,) = _infer_result(a, b, attributes)
    extra: list[Any] = []
    more: dict[str, Any] = {}
    if parameters.get("bias_tensor") is not None:
        extra.append(_bias(parameters["bias_tensor"], type_of(a).dtype, result))
        more["bias"] = True
    if parameters.get("scale"):
        more["scale"] = _scale(parameters["scale"])
    elif parameters.get("scale_tensor") is not None:
        extra.append(_scale_tensor(parameters["scale_tensor"], result))
        more["scale_tensor"] = True
    more["relu"] = _choice(parameters, "relu_type", ReLuType.NO_RELU) is ReLuType.RELU
    more["trans_mode"] = TRANS_MODES[_choice(parameters, "trans_mode", TransMode.CAST_NONE)]
    if more["trans_mode"] != "none" and type_of(a).dtype is not F32:
        raise errors.MatmulTransMode(first=type_of(a).dtype.name)
    return extra, more


def _infer_result(a: Any, b: Any, attributes: dict[str, Any]) -> list[TensorType]:
    """Shape of the result, its type aside."""
    from pypto.ir.program import Value

    values = (Value(type_of(a)), Value(type_of(b)))
    return _infer(values, {**attributes, "scale": 1.0})


def _choice(parameters: Mapping[str, Any], key: str, default: Any) -> Any:
    chosen = parameters.get(key, default)
    if not isinstance(chosen, type(default)):
        raise errors.ArgumentType(operation="matmul", argument=key, expected=type(default).__name__, kind=kind_name(chosen))
    return chosen


def _scale(scale: Any) -> float:
    if isinstance(scale, bool) or not isinstance(scale, (int, float)):
        raise errors.ArgumentType(operation="matmul", argument="scale", expected="float", kind=kind_name(scale))
    return float(element_value(scale, F32))


def _bias(bias: Any, source: DataType, result: TensorType) -> Any:
    handle = tensor("matmul", "bias_tensor", bias)
    type = type_of(handle)
    columns = result.shape[-1]
    expected = [1, columns]
    allowed = {F16: (F16, F32), B16: (B16, F32), F32: (F32,), I8: (I32,)}.get(source, (F16, B16, F32))
    if type.dtype not in allowed:
        raise errors.MatmulBias(got=type.dtype.name, expected=result.dtype.name, reason=f"its dtype must be {names(allowed)}")
    ranks = (2, 3) if result.rank == 3 else (2,)
    fits = type.rank in ranks and rules.is_one(type.shape[-2]) and rules.same(type.shape[-1], columns)
    if not fits or (type.rank == 3 and not (rules.is_one(type.shape[0]) or rules.same(type.shape[0], result.shape[0]))):
        raise errors.MatmulBias(got=list(type.shape), expected=list(result.shape), reason=f"its shape must be {expected}")
    return handle


def _scale_tensor(scales: Any, result: TensorType) -> Any:
    handle = tensor("matmul", "scale_tensor", scales)
    type = type_of(handle)
    columns = result.shape[-1]
    if type.dtype not in (I64, U64) or type.rank != 2 or not (rules.is_one(type.shape[0]) and rules.same(type.shape[1], columns)):
        raise errors.MatmulScaleTensor(columns=columns, dtype=type.dtype.name, got=list(type.shape))
    return handle


@composite("matmul_operator", public=False, operators=("__matmul__",))
def matmul_operator(input: Any, mat2: Any) -> Any:
    """The operator ``@``: the result has the type of the right side, INT32 for INT8.

    >>> evaluate(matmul_operator, [[1.0, 2.0]], [[3.0], [4.0]]).tolist()
    [[11.0]]
    """
    recorder()
    dtype = type_of(mat2).dtype if is_tensor(mat2) else None
    results = {F16: F16, B16: B16, F32: F32, I8: I32}
    if dtype is not None and dtype not in results:
        raise errors.MatmulOperator(dtype=dtype.name)
    return matmul(input, mat2, results.get(dtype, F32))  # type: ignore[arg-type]
