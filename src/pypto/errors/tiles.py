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
    help = "declare {argument_text!r} with a dtype of this list in its pl.TileType, or convert first: pl.cast(converted, {argument_text})"


class TileDtypesDiffer(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: {first} has dtype {first_dtype}, but {second} has {second_dtype}"
    help = "transfers do not convert: use pl.cast between tiles, or reinterpret with pl.make_tensor(tensor, shape, dtype=...)"


class TileShapesDiffer(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {first} has shape {first_shape}, but {second} has {second_shape}"
    help = "give both types one shape=; pl.set_validshape(tile, [rows, columns]) limits what is used of it"


class LayoutRefused(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} has layout {got}; expected {expected}"
    help = "declare it with another layout= in its pl.TileType; left out, layout is the default of the memory"


# -- offsets and order --------------------------------------------------------------------------------------------------------


class OrderNotConstant(UserError, TypeError):
    code = 0xF00001
    about = "order"
    message = "{operation}: 'order' must be a compile-time integer list of two axes, but got {got}"
    help = "for example order=[0, 1]"


class OrderRepeats(UserError, ValueError):
    code = 0xF00002
    about = "order"
    message = "{operation}: order axes must be unique, but got {order}"
    help = "name two different axes, for example order=[0, 1]"


class OrderOutOfRange(UserError, ValueError):
    code = 0xF00002
    about = "order"
    message = "{operation}: order axis {axis} is out of range for a tensor of rank {rank}"
    help = "axes count from 0: order=[0, 1] are the rows and columns of a matrix"


class OrderDescends(UserError, ValueError):
    code = 0xF00002
    about = "order"
    message = "{operation}: order must be ascending, but got {order}"
    help = "a store never transposes; use pl.transpose before, or load with order=[1, 0]"


class TiledOrderDescends(UserError, ValueError):
    code = 0xF00002
    about = "order"
    message = "{operation}: descending order {order} with a tile of shape {shape}: the machine multiplies the wrong offsets"
    help = "use load with offsets in elements"


class TensorRankTooSmall(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} has rank {rank}; two axes at least are needed"
    help = "view it as a matrix: pl.make_tensor(tensor, [1, n])"


class NegativeOffset(UserError, ValueError):
    code = 0xF00002
    about = "offsets"
    message = "{operation}: negative offset is not allowed: {offset} on axis {axis}"
    help = "offsets count from the start of the tensor: write 0 or more"


class OffsetExceedsTensor(UserError, ValueError):
    code = 0xF00002
    about = "offsets"
    message = "{operation}: offset {offset} exceeds tensor dim {axis} of size {size}"
    help = "offsets are absolute elements; load_tile and store_tile count in tiles"


class OffsetExceedsSource(UserError, ValueError):
    code = 0xF00002
    about = "offset"
    message = "{operation}: offset {offset} exceeds source shape {shape} on axis {axis}"
    help = "start inside the source: offsets are [row, column] of its first element"


class OffsetExceedsTarget(UserError, ValueError):
    code = 0xF00002
    about = "offset"
    message = "{operation}: offset {offset} is out of range for a target of shape {shape} on axis {axis}"
    help = "start inside the target: offsets are [row, column] of its first element"


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
    about = "acc_to_vec_mode"
    message = "move: acc_to_vec_mode is for Acc -> Vec, but this move goes {source} -> {target}"
    help = "leave acc_to_vec_mode out"


class ConversionUnsupported(UserError, TypeError):
    code = 0xF00001
    message = (
        "{operation}: Acc tiles of dtype {source} do not support a {target} destination {scaled} scale; possible: {possible}"
    )
    help = "declare the destination with one of the possible types, or convert later: pl.cast(out, tile) on a vector core"


class FixpipeOnly(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {keyword} needs a source in Acc memory, but it is in {got}"
    help = "apply pl.relu, pl.mul or pl.cast to the vector tile instead"


class PhaseInvalid(UserError, ValueError):
    code = 0xF00002
    about = "phase"
    message = "{operation}: phase is invalid: {got}; expected a member of pl.{expected}"
    help = "write phase=pl.{expected}.…, or leave phase out"


class AtomicUnsupported(UserError, TypeError):
    code = 0xF00001
    about = "atomic"
    message = "{operation}: AtomicAdd does not support dtype {got}; possible: {possible}"
    help = "add into a tensor of one of these types, or leave atomic out and add with pl.add before the store"


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
    about = "event_id"
    message = "{operation}: Event ID must be in range [0, {last}], got {got}"
    help = "events are numbered per pair of pipes: use 0 to {last}"


class CrossCoreEventOutOfRange(UserError, ValueError):
    code = 0xF00002
    about = "event_id"
    message = "{operation}: event_id must be in [0, {events}), got {got}"
    help = "events count from 0: use one below {events}; an event is free again when it has been waited for"


class MutexOutOfRange(UserError, ValueError):
    code = 0xF00002
    about = "mutex_id"
    message = "{operation}: mutex_id must be in [0, {last}], got {got}"
    help = "use mutex_id=0 to {last}"


class MutexNotOnChip(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: chip {chip} has no buffer tokens"
    help = "order the pipes with pl.system.sync_src and pl.system.sync_dst, and pass auto_mutex=False"


class PipeRefused(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: {argument} {got} does not exist on the {core} core; possible: {possible}"
    help = "pick one of these pipes, for example {argument}=pl.PipeType.V on vector cores, pl.PipeType.M on cube cores"


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
    about = "offset"
    message = "dcci: offset must be {expected}, but got {got}"
    help = "for example offset=0, or one offset per axis: [0, 0]"


class TooManyMutexIds(UserError, ValueError):
    code = 0xF00002
    about = "mutex_ids"
    message = "{operation}: {got} mutex ids were given, but max_mutex_id is {limit}"
    help = "pass fewer ids, or raise max_mutex_id"


# -- debugging and descriptors ------------------------------------------------------------------------------------------------


class FormatNotText(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: the format must be a literal string, but got {got}"
    help = 'write the text in place: pl.printf("%d\\n", x)'


class FormatDirective(UserError, ValueError):
    code = 0xF00002
    about = "format_str"
    message = (
        "{operation}: format directive '{directive}' is invalid; possible: %d %i %u %x %f %p with flags, width and precision"
    )
    help = 'for example "%d" for integers, "%.3f" for floats'


class FormatCount(UserError, ValueError):
    code = 0xF00002
    message = "{operation}: format expects {expected} scalar arguments, but got {got}"
    help = "pass one scalar per directive, {expected} here"


class FormatType(UserError, TypeError):
    code = 0xF00001
    message = "{operation}: %{conversion} takes {expected}, but argument {position} is {got}"
    help = "use %d for integers, %u for unsigned ones, %f for floats, %p for pointers"


class AssertionCondition(UserError, TypeError):
    code = 0xF00001
    about = "condition"
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
    about = "container"
    message = "{operation}: scalars are read from and written to Vec tiles and Tensors, but got {kind}"
    help = "fields of a struct are read as s.name"


class ElementStorageOnly(UserError, TypeError):
    code = 0xF00001
    about = "container"
    message = "{operation}: dtype {got} is for storage only; it has no scalars"
    help = "convert the tile first: pl.cast(converted, tile) into fp16 or fp32"


class ElementOutOfBounds(UserError, IndexError):
    code = 0xF00008
    about = "offset"
    message = "{operation}: element {offset} is out of bounds of a container of {size} elements"
    help = "elements count from 0, up to the one before {size}; tile.shape and tensor.shape give the extents"


class ElementRank(UserError, ValueError):
    code = 0xF00002
    about = "offset"
    message = "{operation}: {needs}{got} indices but container has rank {rank}"
    help = "pass one index per axis: {rank} here"


class ElementIndexKind(UserError, TypeError):
    code = 0xF00001
    about = "offset"
    message = "{operation}: the index must be an integer scalar, but is {got}"
    help = "write an integer, a loop variable, or int(x)"


class ValidExtentNotPositive(UserError, ValueError):
    code = 0xF00002
    about = "valid_shape"
    message = "set_validshape: {axis} must be positive, but is {extent}"
    help = "skip the work of an empty tail with an if, or set at least 1"


class ValidExtentExceeds(UserError, ValueError):
    code = 0xF00002
    about = "valid_shape"
    message = "set_validshape: {extent} exceeds tile {axis} {size}"
    help = "limit the extent of a tail: pl.min(rest, {size})"


class ValidExtentConstant(UserError, ValueError):
    code = 0xF00002
    message = "set_validshape: the tile was declared with valid_shape={declared}, which is a constant of its type"
    help = "declare the tile type without valid_shape (or with [-1, -1])"


class StridesMismatch(UserError, ValueError):
    code = 0xF00002
    message = "set_stride: {problem}"
    help = "give [row stride, column stride] in elements for the last two axes"
