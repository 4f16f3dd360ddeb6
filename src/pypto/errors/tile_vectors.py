"""Mistakes in calling a vector operation of the tile level (tile API sections 3.3 to 3.9): static ones, then those of a run."""

from __future__ import annotations

from pypto.errors.base import UserError

# -- known before anything runs -----------------------------------------------------------------------------------------------


class VectorDtypesDiffer(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {first} has dtype {first_dtype}, but {second} has {second_dtype}"
    help = "vector operations do not convert: use pl.cast({first}, {second}) into a tile of the other type"


class VectorLayoutsDiffer(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {first} has layout {first_layout}, but {second} has {second_layout}"
    help = "a vector operation walks its tiles in the order of their bytes; pl.move converts between layouts"


class VectorLayoutRefused(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} must be row-major (ND), but has layout {got}"


class VectorTilesMustDiffer(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {first} and {second} must be different tiles, but share the bytes at address {address:#x}"


class VectorScalarExpected(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {argument} must be a scalar, but got {kind}"


class VectorOperandExpected(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {argument} must be a Tile or a scalar, but got {kind}"


class VectorShapeRefused(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} has shape {got}; expected {expected}"


class VectorRowBytes(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: a row of {argument} has {got} bytes; they must be a multiple of 32"
    help = "widen the tile to the next multiple of 32 bytes and limit it with pl.set_validshape"


class VectorKeywordRange(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {keyword} must be {expected}, but got {got}"


class ScalarShiftRange(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: the shift {got} is out of range; {dtype} elements shift by 0 to {last}"


class OddRoundingRefused(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: RoundMode.CAST_ODD only converts fp32 to fp16, not {source} to {target}"


class CastSameDtype(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: src and out both have dtype {dtype}; there is nothing to convert"
    help = "copy a tile with pl.move(out, src)"


class PadMissing(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: the pad of out must not be TilePad.null"
    help = "declare out with pl.TileType(..., pad=pl.TilePad.zero), or max or min"


class PadShapes(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: out {out_shape} {problem} src {src_shape}"


class PadSharesStorage(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: out and src are the same tile"
    help = "pad in place with mode=pl.FillPadMode.INPLACE"


class PadNotInPlace(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: with mode=INPLACE out and src must share backing storage, but {problem}"


class QuantOffsetMissing(UserError, ValueError):
    code = 0xF00002
    message = "quant in 'asym' mode requires an offset argument"
    help = "pass offset=tile, an FP32 tile of shape [rows, 1]"


class GatherKeyword(UserError, ValueError):
    code = 0xF00002
    message = "gather: cmp_mode belongs to the compare form with five tiles (out, src, kval, cdst, tmp); four were given"


# -- known when the instruction runs ------------------------------------------------------------------------------------------


class VectorNotCovered(UserError, RuntimeError):
    code = 0xF00003
    message = (
        "{operation}: {argument} is valid on {rows} x {columns} elements, but the result needs {needed_rows} x {needed_columns}"
    )
    help = "give both the same extents: pl.set_validshape(tile, [rows, columns])"


class VectorResultExtent(UserError, RuntimeError):
    code = 0xF00003
    message = "{operation}: {argument} is valid on {rows} x {columns} elements; expected {expected}"
    help = "set it with pl.set_validshape({argument}, [rows, columns])"


class PartExtents(UserError, RuntimeError):
    code = 0xF00003
    message = "{operation}: out is {out}, the sources {first} and {second}; one source must be as large as out, none larger"


class ShiftRange(UserError, RuntimeError):
    code = 0xF00003
    message = "{operation}: a shift of {got} is out of range; elements of {bits} bits shift by 0 to {last}"


class IndexLeavesTile(UserError, IndexError):
    code = 0xF00008
    message = "{operation}: index {index} at row {row}, column {column} is out of bounds of {argument}, {expected}"


class BlockOffset(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: offset {offset} at row {row}, column {column} is no multiple of 32 bytes"
    help = "offsets count bytes from the start of src, one per block of 32 bytes"


class GatherOverflow(UserError, IndexError):
    code = 0xF00008
    message = "{operation}: {found} elements of row {row} match, but out has room for {room}"


class RunNotSorted(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} is not in descending order at record {position} of its run"
    help = "sort groups of 32 with pl.sort32 first; block_len counts stored elements (value and index)"


class RecordsIncomplete(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} has {got} elements; records of value and index take {record} each"


class MaskTooSmall(UserError, ValueError):
    code = 0xF00002
    message = (
        "{operation}: {argument} of shape {shape} cannot hold the bits of {rows} x {columns} elements ({needed} bytes a row)"
    )
    help = "declare the mask as a UINT8 tile of the same shape as the data"
