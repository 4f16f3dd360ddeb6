"""Enumerations as kernels write them (tile API section 1.4): those of the core, and those of the register level."""

from __future__ import annotations

from typing import Any

from pypto.cores.enums import (
    AccPhase,
    AccToVecMode,
    AtomicType,
    CacheLine,
    CrossCoreSyncMode,
    DcciDst,
    FillPadMode,
    MemorySpace,
    PipeType,
    QuantMode,
    ReluPreMode,
    RoundMode,
    STPhase,
    SyncAllMode,
    SyncCoreType,
    TensorLayout,
    TilePad,
)
from pypto.enums import _Numbered

ND, DN, NZ, ZN, NN, ZZ = (
    TensorLayout.ND,
    TensorLayout.DN,
    TensorLayout.NZ,
    TensorLayout.ZN,
    TensorLayout.NN,
    TensorLayout.ZZ,
)


class FunctionType(_Numbered):
    """What ``pl.function`` makes of a function."""

    Opaque = 0
    InCore = 1
    SimtVF = 2
    SimtCallee = 3


def _register_enum(name: str, members: str) -> Any:
    """An enumeration of register-level programming; its members are numbered in order."""
    functional: Any = _Numbered
    made = functional(name, {member: number for number, member in enumerate(members.split())})
    made.__module__ = __name__
    return made


MaskPattern = _register_enum("MaskPattern", "ALL ALLF VL1 VL2 VL3 VL4 VL8 VL16 VL32 VL64 VL128 M3 M4 H Q")
MergeMode = _register_enum("MergeMode", "ZEROING MERGING")
ReduceMode = _register_enum("ReduceMode", "SUM MAX MIN")
CompareMode = _register_enum("CompareMode", "EQ NE LT LE GT GE")
DuplicatePos = _register_enum("DuplicatePos", "LOWEST HIGHEST")
CastLayout = _register_enum("CastLayout", "ZERO ONE TWO THREE")
VFRoundMode = _register_enum("VFRoundMode", "CAST_ROUND CAST_RINT CAST_FLOOR CAST_CEIL CAST_TRUNC CAST_ODD CAST_HYBRID")
SaturateMode = _register_enum("SaturateMode", "OFF ON")
BinType = _register_enum("BinType", "BIN0 BIN1")
HistType = _register_enum("HistType", "ACCUMULATE FREQUENCY")
SqueezeMode = _register_enum("SqueezeMode", "STORE_REG NO_STORE_REG")
PackPart = _register_enum("PackPart", "LOWER UPPER")
MaskWidth = _register_enum("MaskWidth", "B32 B16")
LoadDist = _register_enum(
    "LoadDist",
    "NORM BRC BRC_B8 BRC_B16 BRC_B32 US US_B8 US_B16 DS DS_B8 DS_B16 UNPK UNPK_B8 UNPK_B16 UNPK_B32 UNPK4 BLK"
    " E2B E2B_B16 E2B_B32 DINTLV_B8 DINTLV_B16 DINTLV_B32",
)
StoreDist = _register_enum("StoreDist", "NORM NORM_B16 FIRST_ELEMENT PACK PACK4 INTLV INTLV_B32")
DataCopyMode = _register_enum("DataCopyMode", "NORM DATA_BLOCK_LOAD DATA_BLOCK_COPY")
MemBarMode = _register_enum(
    "MemBarMode", "VST_VLD VLD_VST VST_VST VST_LD VST_ST VLD_ST ST_VLD ST_VST LD_VST VV_ALL VS_ALL SV_ALL"
)
IndexOrder = _register_enum("IndexOrder", "INCREASE_ORDER DECREASE_ORDER")

CORE_ENUMS = {
    cls.__name__: cls
    for cls in (
        AccPhase,
        AccToVecMode,
        AtomicType,
        CacheLine,
        CrossCoreSyncMode,
        DcciDst,
        FillPadMode,
        FunctionType,
        MemorySpace,
        PipeType,
        QuantMode,
        ReluPreMode,
        RoundMode,
        STPhase,
        SyncAllMode,
        SyncCoreType,
        TensorLayout,
        TilePad,
    )
}
REGISTER_ENUMS = {
    cls.__name__: cls
    for cls in (
        MaskPattern,
        MergeMode,
        ReduceMode,
        CompareMode,
        DuplicatePos,
        CastLayout,
        VFRoundMode,
        SaturateMode,
        BinType,
        HistType,
        SqueezeMode,
        PackPart,
        MaskWidth,
        LoadDist,
        StoreDist,
        DataCopyMode,
        MemBarMode,
        IndexOrder,
    )
}
