"""Mistakes in calling a vector operation of the tile level (tile API sections 3.3 to 3.9): static ones, then those of a run."""

from __future__ import annotations

from pypto.errors.base import UserError

# -- known before anything runs -----------------------------------------------------------------------------------------------


class VectorDtypesDiffer(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {first} has dtype {first_dtype}, but {second} has {second_dtype}"
    help = "vector operations do not convert: declare both with one dtype, or write pl.cast(converted, {first_text}) before"


class VectorLayoutsDiffer(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {first} has layout {first_layout}, but {second} has {second_layout}"
    help = (
        "a vector operation walks its tiles in the order of their bytes: declare both with layout=pl.TensorLayout.{second_layout}"
    )


class VectorLayoutRefused(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} must be row-major (ND), but has layout {got}"
    help = "declare '{argument_text}' with layout=pl.TensorLayout.ND, the default of pl.TileType"


class VectorTilesMustDiffer(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {first} and {second} must be different tiles, but share the bytes at address {address:#x}"
    help = (
        "give '{first_text}' bytes of its own: pl.make_tile(tile_type, addr=...), or take the next slot of a group: group.next()"
    )


class VectorScalarExpected(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {argument} must be a scalar, but got {kind}"
    help = "pass a number or a scalar parameter, or read one element: value = pl.getval({argument_text}, 0)"


class VectorOperandExpected(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {argument} must be a Tile or a scalar, but got {kind}"
    help = "load a tensor into a tile first: pl.load(tile, {argument_text}, [0, 0])"


class VectorShapeRefused(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} has shape {got}; expected {expected}"
    help = "change shape= in the pl.TileType of '{argument_text}'"


class VectorRowBytes(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: a row of {argument} has {got} bytes; they must be a multiple of 32"
    help = "widen '{argument_text}' to the next multiple of 32 bytes and limit it with pl.set_validshape({argument_text}, [rows, columns])"


class VectorKeywordRange(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {keyword} must be {expected}, but got {got}"
    help = "for example {example}"


class ScalarShiftRange(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} is {got}, out of range; {dtype} elements shift by 0 to {last}"
    help = "for a shift by all bits write pl.expands(out, 0); a negative shift is one in the other direction"


class OddRoundingRefused(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: RoundMode.CAST_ODD only converts fp32 to fp16, not {source} to {target}"
    help = "use mode=pl.RoundMode.CAST_RINT (half to even), or leave mode out (half away from zero)"


class CastSameDtype(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: src and out both have dtype {dtype}; there is nothing to convert"
    help = "copy a tile with pl.move({first_text}, {second_text})"


class PadMissing(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: the pad of out must not be TilePad.null"
    help = "declare the type of '{argument_text}' with a pad: pl.TileType(..., pad=pl.TilePad.zero), or max or min"


class PadShapes(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: out {out_shape} {problem} src {src_shape}"
    help = "declare both with one shape and layout; with mode=pl.FillPadMode.EXPAND out may be larger than src"


class PadSharesStorage(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: out and src are the same tile"
    help = "pad in place with mode=pl.FillPadMode.INPLACE"


class PadNotInPlace(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: with mode=INPLACE out and src must share backing storage, but {problem}"
    help = "make both tiles with one shape and one addr=, or leave mode out to copy src into '{argument_text}'"


class QuantOffsetMissing(UserError, ValueError):
    code = 0xF00002
    message = "quant in 'asym' mode requires an offset argument"
    help = "pass offset=tile, an FP32 tile of shape [rows, 1]"


class GatherKeyword(UserError, ValueError):
    code = 0xF00002
    message = "gather: cmp_mode belongs to the compare form with five tiles (out, src, kval, cdst, tmp); four were given"
    help = "leave cmp_mode out, or write the compare form: pl.gather(out, src, kval, cdst, tmp, cmp_mode=4)"


# -- known when the instruction runs ------------------------------------------------------------------------------------------


class VectorNotCovered(UserError, RuntimeError):
    code = 0xF00003
    message = (
        "{operation}: {argument} is valid on {rows} x {columns} elements, but the result needs {needed_rows} x {needed_columns}"
    )
    help = (
        "give both the same extents: pl.set_validshape({argument_text}, [{needed_rows}, {needed_columns}]) before it is written"
    )


class VectorResultExtent(UserError, RuntimeError):
    code = 0xF00003
    message = "{operation}: {argument} is valid on {rows} x {columns} elements; expected {expected}"
    help = "set it with pl.set_validshape({argument_text}, [rows, columns])"


class PartExtents(UserError, RuntimeError):
    code = 0xF00003
    message = (
        "{operation}: {argument} is {out}, the sources {first} and {second}; one source must be as large as out, none larger"
    )
    help = "give out the extents of the larger source: pl.set_validshape({argument_text}, [rows, columns])"


class ShiftRange(UserError, RuntimeError):
    code = 0xF00003
    message = "{operation}: {argument} holds a shift of {got}, out of range; elements of {bits} bits shift by 0 to {last}"
    help = "keep the amounts in range before: pl.and_({argument_text}, {argument_text}, {last})"


class IndexLeavesTile(UserError, IndexError):
    code = 0xF00008
    message = "{operation}: index {index} for row {row}, column {column}, from {argument}, is out of bounds of {data}, {expected}"
    help = "an index counts elements of {data} row by row: row * {width} + column"


class BlockOffset(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: offset {offset} at row {row}, column {column} of {argument} is no multiple of 32 bytes"
    help = "offsets count bytes from the start of src, one per block of 32 bytes: block k starts at 32 * k"


class GatherOverflow(UserError, IndexError):
    code = 0xF00008
    message = "{operation}: {found} elements of row {row} match, but out has room for {room}"
    help = "give '{argument_text}' the rows and columns of src: every element may match"


class RunNotSorted(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} is not in descending order at record {position} of its run"
    help = "sort groups of 32 with pl.sort32(dst, src, idx) first; block_len counts stored elements (value and index)"


class RecordsIncomplete(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} has {got} elements; records of value and index take {record} each"
    help = "limit it to whole records: pl.set_validshape({argument_text}, [1, columns]) with columns a multiple of {record}"


class MaskTooSmall(UserError, ValueError):
    code = 0xF00002
    message = (
        "{operation}: {argument} of shape {shape} cannot hold the bits of {rows} x {columns} elements ({needed} bytes a row)"
    )
    help = "declare '{argument_text}' as a UINT8 tile of the same shape as the data: pl.TileType(shape=[rows, columns], dtype=pl.DT_UINT8)"
