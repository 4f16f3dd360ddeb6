"""Enumerations of the tile level (tile API section 1.4); numbers follow the order of declaration."""

from __future__ import annotations

from pypto.enums import _Numbered


class MemorySpace(_Numbered):
    """Where bytes live: global memory, then the on-chip memories (tile API section 1.7)."""

    DDR = 0
    Vec = 1
    Mat = 2
    Left = 3
    Right = 4
    Scaling = 5
    Acc = 6
    Bias = 7
    ScaleLeft = 8
    ScaleRight = 9


class PipeType(_Numbered):
    """The in-order queues of a core: transfers (MTE1…3), cube (M), vector (V), scalar (S), fixpipe (FIX)."""

    MTE1 = 0
    MTE2 = 1
    MTE3 = 2
    M = 3
    V = 4
    S = 5
    FIX = 6
    ALL = 7


class TensorLayout(_Numbered):
    """Order of blocks, then order inside a block: ND and DN are plain rows and columns, the others fractals."""

    ND = 0
    DN = 1
    NZ = 2
    ZN = 3
    NN = 4
    ZZ = 5


class TilePad(_Numbered):
    """What ``fillpad`` writes outside the valid region."""

    null = 0
    zero = 1
    max = 2
    min = 3


class FillPadMode(_Numbered):
    NORMAL = 0
    EXPAND = 1
    INPLACE = 2


class ReluPreMode(_Numbered):
    NormalRelu = 0


class AtomicType(_Numbered):
    AtomicNone = 0
    AtomicAdd = 1


class STPhase(_Numbered):
    Unspecified = 0
    Partial = 1
    Final = 2


class AccPhase(_Numbered):
    Unspecified = 0
    Partial = 1
    Final = 2


class AccToVecMode(_Numbered):
    SingleModeVec0 = 0
    SingleModeVec1 = 1
    DualModeSplitM = 2
    DualModeSplitN = 3


class RoundMode(_Numbered):
    """How a narrowing ``cast`` rounds; not the order of the register-level enum."""

    CAST_NONE = 0
    CAST_RINT = 1
    CAST_ROUND = 2
    CAST_FLOOR = 3
    CAST_CEIL = 4
    CAST_TRUNC = 5
    CAST_ODD = 6


class QuantMode(_Numbered):
    SYM = 0
    ASYM = 1


class CrossCoreSyncMode(_Numbered):
    INTER_BLOCK = 0
    INTER_SUBBLOCK = 1
    INTRA_BLOCK = 2
    UNICAST_BLOCK = 3


class SyncCoreType(_Numbered):
    AIV_ONLY = 0
    AIC_ONLY = 1
    MIX = 2


class SyncAllMode(_Numbered):
    HARD = 0
    SOFT = 1


class CacheLine(_Numbered):
    SINGLE_CACHE_LINE = 0
    ENTIRE_DATA_CACHE = 1


class DcciDst(_Numbered):
    AUTO = 0
    CACHELINE_OUT = 1
    CACHELINE_UB = 2
    CACHELINE_ALL = 3
    CACHELINE_ATOMIC = 4


class CoreType(_Numbered):
    """The two kinds of core in a group: one cube core (AIC) and two vector cores (AIV)."""

    CUBE = 0
    VECTOR = 1
