"""Every public enumeration besides ``DataType`` (tensor API section 2.2), with the reference's numbers.

Members print as ``Class.MEMBER`` and convert with ``int()``.

>>> CastMode.CAST_RINT, int(CastMode.CAST_RINT), CastMode.CAST_RINT.name
(CastMode.CAST_RINT, 1, 'CAST_RINT')
"""

from __future__ import annotations

import enum


class _Numbered(enum.Enum):
    """An enum whose members behave like numbers where a number is asked for."""

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return int(self.value)

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    __repr__ = __str__


class TileOpFormat(_Numbered):
    """Layout of a tensor: rows (ND) or the matrix engine's fractals (NZ)."""

    TILEOP_ND = 0
    TILEOP_NZ = 1


class CachePolicy(_Numbered):
    NONE_CACHEABLE = 1


class ReduceMode(_Numbered):
    ATOMIC_ADD = 0


class CastMode(_Numbered):
    """How ``cast`` rounds. ``CAST_NONE`` is the conversion's default: truncate for float to integer, nearest even otherwise."""

    CAST_NONE = 0
    CAST_RINT = 1
    CAST_ROUND = 2
    CAST_FLOOR = 3
    CAST_CEIL = 4
    CAST_TRUNC = 5
    CAST_ODD = 6


class SaturationMode(_Numbered):
    """Whether ``cast`` clamps what does not fit. Note the order: ON is 0."""

    ON = 0
    OFF = 1


class OpType(_Numbered):
    EQ = 0
    NE = 1
    LT = 2
    LE = 3
    GT = 4
    GE = 5


class OutType(_Numbered):
    BOOL = 0
    BIT = 1


class TopKAlgo(_Numbered):
    MERGE_SORT = 0
    RADIX_SELECT = 1


class ReLuType(_Numbered):
    NO_RELU = 0
    RELU = 1


class TransMode(_Numbered):
    """Whether a matmul rounds FP32 inputs to TF32 first."""

    CAST_NONE = 0
    CAST_RINT = 1
    CAST_ROUND = 2


class ScatterMode(_Numbered):
    NONE = 0
    ADD = 1
    MULTIPLY = 2


class AtomicRMWMode(_Numbered):
    ADD = 0
    MAX = 1
    MIN = 2


class AtomicType(_Numbered):
    SET = 0
    ADD = 1


class DequantScaleRoundingMode(_Numbered):
    ROUND_UP = 0
    ROUND_DOWN = 1


class PrecisionType(_Numbered):
    """Which implementation the NPU picks. Both are one function here."""

    INTRINSIC = 0
    HIGH_PRECISION = 1


class SatStatus(_Numbered):
    SAT = 0
    UNSAT = 1
    UNKNOWN = 2


class StatusType(enum.Enum):
    """Marks of an axis in an annotation. ``DYN`` and ``DYNAMIC`` mean the same and are distinct members."""

    DYN = "DYN"
    DYNAMIC = "DYNAMIC"
    STATIC = "STATIC"


class CompStage(enum.Enum):
    ALL_COMPLETE = 0
    TENSOR_GRAPH = 1
    TILE_GRAPH = 2
    EXECUTE_GRAPH = 3
    CODEGEN_INSTRUCTION = 4
    CODEGEN_BINARY = 5


class RunMode(enum.IntEnum):
    NPU = 0
    SIM = 1


class PassConfigKey(_Numbered):
    KEY_DUMP_GRAPH = 0


class LogLevel(_Numbered):
    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3
    FATAL = 4
    EVENT = 5


class ConvReLuType(_Numbered):
    NO_RELU = 0
    RELU = 1


class LogBaseType(_Numbered):
    LOG_E = 0
    LOG_2 = 1
    LOG_10 = 2


class NodeType(_Numbered):
    LOCAL = 0
    INCAST = 1
    OUTCAST = 2


class FunctionType(_Numbered):
    STATIC = 0
    DYNAMIC = 1
    DYNAMIC_LOOP = 2


class GraphType(_Numbered):
    TENSOR_GRAPH = 0


class TileType(_Numbered):
    VEC = 0
    CUBE = 1
    DIST = 2
    MAX = 3


class ExternalError(_Numbered):
    """Codes of user errors (tensor API section 3.2)."""

    INVALID_TYPE = 0x1
    INVALID_VAL = 0x2
    RUNTIME_ERROR = 0x3
    NAME_ERROR = 0x4
    NOT_IMPLEMENTED_ERROR = 0x5
    KEY_ERROR = 0x6
    INVALID_OPERATION = 0x7
    OUT_OF_RANGE = 0x8
    BAD_FD = 0x9
    DYNAMIC_SHAPE_COMPUTE_UNSUPPORTED = 0xA
    INVALID_SHAPE = 0xB
    INVALID_TILE = 0xC
    INVALID_FORMAT = 0xD
    COMMON_EXTERNAL_ERROR = 0x0FFFF
    UNKNOWN = 0x0FFFF


DYN = StatusType.DYN
DYNAMIC = StatusType.DYNAMIC
STATIC = StatusType.STATIC
ROUND_UP = DequantScaleRoundingMode.ROUND_UP
ROUND_DOWN = DequantScaleRoundingMode.ROUND_DOWN
