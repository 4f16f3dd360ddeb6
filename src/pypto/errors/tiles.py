"""Mistakes in calling an operation of the tile level (tile API sections 3, 4, 7). Key phrases are those of section 7.4."""

from __future__ import annotations

from pypto.errors.base import UserError

# -- operands of the wrong kind -----------------------------------------------------------------------------------------------


class TileExpected(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {argument} must be a Tile, but got {kind}"
    help = "make one with pl.make_tile(tile_type, addr=...), or take one from a group: group.next()"


class GlobalTensorExpected(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {argument} must be a Tensor, but got {kind}"
    help = "a kernel parameter annotated pl.Tensor[[...], dtype], or pl.make_tensor(pointer, shape)"


class OffsetsExpected(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {argument} must be a list of {count} integers, one per axis, but got {kind}"
    help = "for example {example}"


class MemorySpaceRefused(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} must be in {expected} memory, but it is in {got}"
    help = "declare it with pl.TileType(..., target_memory=pl.MemorySpace.{example})"


class TileDtypeRefused(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {argument} has dtype {got}; only {expected} are supported"


class TileDtypesDiffer(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {first} has dtype {first_dtype}, but {second} has {second_dtype}"
    help = "transfers do not convert: use pl.cast between tiles, or reinterpret with pl.make_tensor(tensor, shape, dtype=...)"


class TileShapesDiffer(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {first} has shape {first_shape}, but {second} has {second_shape}"


class LayoutRefused(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} has layout {got}; expected {expected}"


# -- offsets and order --------------------------------------------------------------------------------------------------------


class OrderNotConstant(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: 'order' must be a compile-time integer list of two axes, but got {got}"
    help = "for example order=[0, 1]"


class OrderRepeats(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: order axes must be unique, but got {order}"


class OrderOutOfRange(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: order axis {axis} is out of range for a tensor of rank {rank}"


class OrderDescends(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: order must be ascending, but got {order}"
    help = "a store never transposes; use pl.transpose before, or load with order=[1, 0]"


class TiledOrderDescends(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: descending order {order} with a tile of shape {shape}: the machine multiplies the wrong offsets"
    help = "use load with offsets in elements"


class TensorRankTooSmall(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} has rank {rank}; two axes at least are needed"
    help = "view it as a matrix: pl.make_tensor(tensor, [1, n])"


class NegativeOffset(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: negative offset is not allowed: {offset} on axis {axis}"


class OffsetExceedsTensor(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: offset {offset} exceeds tensor dim {axis} of size {size}"
    help = "offsets are absolute elements; load_tile and store_tile count in tiles"


class OffsetExceedsSource(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: offset {offset} exceeds source shape {shape} on axis {axis}"


class OffsetExceedsTarget(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: offset {offset} is out of range for a target of shape {shape} on axis {axis}"


class WindowLeavesTensor(UserError, IndexError):
    code = 0xF00008
    message = "{operation}: {extent} elements from offset {offset} on exceed axis {axis} of the tensor (size {size})"
    help = "a transfer moves the valid extent of the tile: call pl.set_validshape(tile, [rows, columns]) with the real tail first"


class WindowLeavesTile(UserError, IndexError):
    code = 0xF00008
    message = "{operation}: rows {row}:{row_end}, columns {column}:{column_end} leave a tile of shape {shape}"
    help = "limit the valid extents with pl.set_validshape(tile, [rows, columns])"


class ValidExtentsUncovered(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: the target's valid extents {target} from offset {offset} on exceed source valid extents {source}"
    help = "set both: pl.set_validshape(tile, [rows, columns]) on every tile of the path"


# -- paths --------------------------------------------------------------------------------------------------------------------


class PathUnsupported(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: unsupported data path {source} -> {target}"
    help = "move goes Mat -> Left, Right, Scaling, Bias, ScaleLeft, ScaleRight; Acc -> Vec; Vec -> Vec; Vec -> Mat"


class PathNotOnChip(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: chip {chip} has no path {source} -> {target}"
    help = "go through global memory (store, then load), or compile for the 950"


class WrongCore(UserError, ValueError):
    code = 0xF00002
    message = "{operation} runs on the {expected} core, but stands in a {got} section"
    help = "put it into `with pl.section_{expected}():`"


class CoreModeNeedsAcc(UserError, ValueError):
    code = 0xF00002
    message = "move: acc_to_vec_mode is for Acc -> Vec, but this move goes {source} -> {target}"


class ConversionUnsupported(UserError, TypeError):
    code = 0xF00001
    message = (
        "{operation}: Acc tiles of dtype {source} do not support a {target} destination {scaled} scale; possible: {possible}"
    )


class FixpipeOnly(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {keyword} needs a source in Acc memory, but it is in {got}"
    help = "apply pl.relu, pl.mul or pl.cast to the vector tile instead"


class PhaseInvalid(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: phase is invalid: {got}; expected a member of pl.{expected}"


class AtomicUnsupported(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: AtomicAdd does not support dtype {got}; possible: {possible}"


class NzStore(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: a tensor of layout NZ {problem}"
    help = "NZ results: source in Acc, tensor [rows, columns] with rows a multiple of 16 and columns of {width}, offsets [0, 0]"


class PackedWindow(UserError, ValueError):
    code = 0xF00002
    message = (
        "{operation}: four-bit elements lie two in a byte; "
        "offset {offset}, extent {extent} and strides {strides} must keep pairs together"
    )
    help = "even offsets and extents along the axis of stride 1; pl.set_stride(tensor, [columns, 1]) counts elements"


class MxScaleTensor(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: block scales (FP8E8M0 into a ZZ or NN tile) {problem}"
    help = "declare the tensor as [rows, groups // 2, 2] for the left scale and [groups // 2, columns, 2] for the right one"


# -- synchronisation ----------------------------------------------------------------------------------------------------------


class EventOutOfRange(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: Event ID must be in range [0, {last}], got {got}"


class CrossCoreEventOutOfRange(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: event_id must be in [0, {events}), got {got}"


class MutexOutOfRange(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: mutex_id must be in [0, {last}], got {got}"


class MutexNotOnChip(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: chip {chip} has no buffer tokens"
    help = "order the pipes with pl.system.sync_src and pl.system.sync_dst, and pass auto_mutex=False"


class PipeRefused(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} {got} does not exist on the {core} core; possible: {possible}"


class SamePipe(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: set_pipe and wait_pipe are both {pipe}; a pipe is in order with itself"
    help = "pl.system.bar_{name}() waits for what the pipe was told before"


class SyncAllWorkspaces(UserError, ValueError):
    code = 0xF00002
    message = "sync_all: {problem}"
    help = "hard: no workspaces; soft: [tensor, vec tile] (AIV_ONLY), [tensor, mat tile] (AIC_ONLY), both tiles (MIX)"


class CacheOffset(UserError, TypeError):
    code = 0xF00001
    message = "dcci: offset must be {expected}, but got {got}"


class TooManyMutexIds(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {got} mutex ids were given, but max_mutex_id is {limit}"


# -- debugging and descriptors ------------------------------------------------------------------------------------------------


class FormatNotText(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: the format must be a literal string, but got {got}"


class FormatDirective(UserError, ValueError):
    code = 0xF00002
    message = (
        "{operation}: format directive '{directive}' is invalid; possible: %d %i %u %x %f %p with flags, width and precision"
    )


class FormatCount(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: format expects {expected} scalar arguments, but got {got}"


class FormatType(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: %{conversion} takes {expected}, but argument {position} is {got}"


class AssertionCondition(UserError, TypeError):
    code = 0xF00001
    message = "pto_assert: the condition must be a scalar BOOL, but is {got}"
    help = "write a comparison, for example n > 0"


class AssertionFailed(UserError, AssertionError):
    code = 0xF00003
    message = "Assertion failed: {condition}{text}"


class DumpRefused(UserError, ValueError):
    code = 0xF00002
    message = "dump_data: {problem}"
    help = "move it into a Vec tile, or store it into a tensor, and dump that"


class ElementContainer(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: scalars are read from and written to Vec tiles and Tensors, but got {kind}"
    help = "fields of a struct are read as s.name"


class ElementStorageOnly(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: dtype {got} is for storage only; it has no scalars"


class ElementOutOfBounds(UserError, IndexError):
    code = 0xF00008
    message = "{operation}: element {offset} is out of bounds of a container of {size} elements"


class ElementRank(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {needs}{got} indices but container has rank {rank}"


class ElementIndexKind(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: the index must be an integer scalar, but is {got}"


class ValidExtentNotPositive(UserError, ValueError):
    code = 0xF00002
    message = "set_validshape: {axis} must be positive, but is {extent}"


class ValidExtentExceeds(UserError, ValueError):
    code = 0xF00002
    message = "set_validshape: {extent} exceeds tile {axis} {size}"


class ValidExtentConstant(UserError, ValueError):
    code = 0xF00002
    message = "set_validshape: the tile was declared with valid_shape={declared}, which is a constant of its type"
    help = "declare the tile type without valid_shape (or with [-1, -1])"


class StridesMismatch(UserError, ValueError):
    code = 0xF00002
    message = "set_stride: {problem}"
    help = "give [row stride, column stride] in elements for the last two axes"


# -- memory -------------------------------------------------------------------------------------------------------------------


class TileMemoryExceeded(UserError, ValueError):
    code = 0xF00002
    message = (
        "the tiles of '{kernel}' exceed {space} of the {chip}: they reach byte {used}, {excess} more than the {capacity} there"
    )


class ScalarBufferExceeded(UserError, ValueError):
    code = 0xF00002
    message = (
        "{operation}: {bytes} bytes of struct '{struct}' at offset {offset} exceed the {capacity} bytes that the cores share"
    )


class ScalarBufferOffset(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: offset {offset} must be a multiple of 4 and not negative; structs cross in words of 4 bytes"
