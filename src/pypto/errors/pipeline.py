"""Mistakes in a kernel that asks for the automatic cube/vector pipeline. Every message starts with ``pipeline``."""

from __future__ import annotations

from pypto.errors.base import UserError


class PipelineMistake(UserError, ValueError):
    """Base of what the pipeline refuses; never raised itself."""

    code = 0xF00002


# -- the configuration ------------------------------------------------------------------------------------------------------


class PreloadInvalid(PipelineMistake):
    message = "pipeline: preload must be an integer of at least 0, a non-empty list of them, or 'auto', got {got}"
    help = "pl.pipeline.PipelineConfig(preload=2), or one number per loop: preload=[1, 2]"


class PreloadCount(PipelineMistake):
    message = "pipeline: preload lists {got} numbers, the kernel has {loops} loops of stages"
    help = "give one number per loop, in the order of the text: preload={suggestion}"


# -- loops and stages -------------------------------------------------------------------------------------------------------


class NoStages(PipelineMistake):
    message = "pipeline: no @pl.pipeline.stage functions found for kernel '{kernel}'"
    help = "mark the functions that the loop calls with @pl.pipeline.stage, or drop pipeline= from pl.jit"


class NoPipelineLoop(PipelineMistake):
    message = "pipeline: no pipeline loop found in kernel '{kernel}': no loop calls a stage"
    help = "for k in pl.range(0, N):\n            with pl.section_cube():\n                {stage}(...)"


class StageOutsideLoop(PipelineMistake):
    message = "pipeline: stage '{stage}' is called outside of a loop"
    help = "put all stage calls of a pipeline into one loop: for k in pl.range(0, N): ..."


class StageInWhile(PipelineMistake):
    message = "pipeline: stage '{stage}' is called under `{word}`; a loop of stages may stand in `for` loops only"
    help = "for k in pl.range(0, N): with a bound that is computed before the loop"


class PipelineLoopVariable(PipelineMistake):
    message = "pipeline: the loop variable must be a simple name, got `{got}`"
    help = "for k in pl.range(0, N):"


class PipelineLoopRange(PipelineMistake):
    message = "pipeline: a loop of stages must iterate over pl.range with an end, got `{got}`"
    help = "for {variable} in pl.range(0, N):"


class PipelineStepsBackwards(PipelineMistake):
    message = "pipeline: the loop steps backwards or not at all: its step is `{step}`, the step must be positive"
    help = "for {variable} in pl.range(start, stop, 1), and compute the index that runs backwards inside the stages"


class SeveralStagesInSection(PipelineMistake):
    message = "pipeline: this section contains multiple stage calls: '{first}' and '{second}'"
    help = "give every stage call a section of its own; neighbours must alternate between cube and vector"


class StageInOtherBlock(PipelineMistake):
    message = "pipeline: unsupported `with` block around stage '{stage}': `{block}`"
    help = "with pl.section_cube(): or with pl.section_vector():, directly in the body of the loop"


class StageOutsideSection(PipelineMistake):
    message = "pipeline: stage '{stage}' must be wrapped in a section block"
    help = "with pl.section_cube():\n                {call}"


class StageCallForm(PipelineMistake):
    message = "pipeline: the call of stage '{stage}' must be a statement of its own{reason}"
    help = "{stage}(k, ...)"


class StageReturnsValue(PipelineMistake):
    message = "pipeline: stage '{stage}' returns a value"
    help = "write the result into a tile of a group that the stage takes as an argument"


class StageInStage(PipelineMistake):
    message = "pipeline: stage '{stage}' calls stage '{inner}'"
    help = "call '{inner}' from the loop, or drop @pl.pipeline.stage from it"


class StageTwice(PipelineMistake):
    message = "pipeline: stage '{stage}' is called twice in one loop"
    help = "def {stage}_again(...): a second stage function that calls the same helper"


class StagesDoNotAlternate(PipelineMistake):
    message = "pipeline: stages must strictly alternate cube/vector, but '{first}' and '{second}' both run on the {core} core"
    help = "merge '{first}' and '{second}' into one stage, or move one of them to the other core"


class StageUnderCondition(PipelineMistake):
    message = "pipeline: CB3, stage '{stage}' stands under `if {condition}`, which is not a compile-time constant"
    help = "move the `if` into the stage (it sees its own iteration), or make the condition a constant of the module"


class LoopsUnderOneLoop(PipelineMistake):
    message = "pipeline: two loops of stages stand under one outer loop"
    help = "give each its own outer loop, one after the other, with pl.system.sync_all(core_type=pl.SyncCoreType.MIX) between"


class StatementBetweenStages(PipelineMistake):
    message = "pipeline: no statement may stand between the first stage '{first}' and the last stage '{last}' of the loop"
    help = "move it before the section of '{first}', or into a stage"


class ReturnInPipeline(PipelineMistake):
    message = "pipeline: `return` inside the loop of stages would leave iterations in flight"
    help = "let the bounds of the loop decide how many iterations run"


# -- names and arguments ----------------------------------------------------------------------------------------------------


class ReservedName(PipelineMistake):
    message = "pipeline: the name '{name}' is taken: the _pl_ prefix is reserved"
    help = "rename it: {suggestion}"


class StructArrayIntoStage(PipelineMistake):
    message = "pipeline: stage '{stage}' takes the struct array '{name}'; use pl.struct()"
    help = '{name} = pl.struct("Context", index=0)'


class StructInLoop(PipelineMistake):
    message = "pipeline: struct '{name}' is made inside the loop of stages; declare it outside"
    help = "make it before the loop and assign its fields in the loop: {name}.field = value"


class StructWrittenByStage(PipelineMistake):
    message = "pipeline: stage '{stage}' writes field '{field}' of struct '{name}', which {other} uses too"
    help = "with preload {preload} the stages work on different iterations: give '{stage}' a struct of its own, or use preload=0"


class ArgumentNotDelayed(PipelineMistake):
    message = "pipeline: argument `{argument}` of stage '{stage}' changes in the loop and is no number: it cannot be kept"
    help = "make it inside the stage from numbers that the stage takes as arguments"


class SlotPickNested(PipelineMistake):
    message = "pipeline: outside the stages a tile must be taken by a statement of its own, got `{got}`"
    help = "slot = {pick}"


class SlotPickedTwice(PipelineMistake):
    message = "pipeline: '{name}' takes a tile twice"
    help = "use another name for the second tile: {name}_2 = {pick}"


class SlotCountUnknown(PipelineMistake):
    message = "pipeline: number of slots unknown of group '{group}', whose tile '{name}' goes to a stage"
    help = "mutex_ids=[0, 1] as a list of integers, or depth=2"


class SlotCursorShared(PipelineMistake):
    message = "pipeline: group '{group}' is turned by stage '{stage}' and by {other}, which work on different iterations"
    help = "with preload > 0 choose the tile by the iteration: {group}[k % {slots}], or give each its own group at the same addresses"


# -- buffers and events -----------------------------------------------------------------------------------------------------


class GroupOutsideKernel(PipelineMistake):
    message = "pipeline: make_tile_group stands in '{function}', it must stand in the kernel's body"
    help = "declare the group in the kernel and pass it on as an argument"


class ChannelSpaceUnknown(PipelineMistake):
    message = "pipeline: cross-core group '{group}' has no resolvable memory space"
    help = "type=pl.TileType(shape=[...], dtype=..., target_memory=pl.MemorySpace.Vec)"


class ChannelSpace(PipelineMistake):
    message = "pipeline: cross-core group '{group}' lies in {space}; cross-core buffers are UB (Vec) or L1 (Mat) only"
    help = "target_memory=pl.MemorySpace.Vec for cube to vector, pl.MemorySpace.Mat for vector to cube"


class ChannelSlotsUnknown(PipelineMistake):
    message = "pipeline: slot count of cross-core group '{group}' unknown: it needs resolvable mutex_ids"
    help = "mutex_ids=[0, 1] as a list of integers, or depth=2"


class EventIdsEmpty(PipelineMistake):
    message = "pipeline: {which} of group '{group}' must be a non-empty tuple or list of integers"
    help = "{which}=[0, 1], or leave {which} out"


class EventIdsForm(PipelineMistake):
    message = "pipeline: {which} of group '{group}' must be a non-empty tuple of integers or a name for one, got `{got}`"
    help = "{which}=[0, 1], or IDS = [0, 1] outside the kernel and {which}=IDS"


class EventIdOutOfRange(PipelineMistake):
    message = "pipeline: {which} of group '{group}' has out-of-range event id(s) {bad}; they are 0 to 15"
    help = "choose ids from 0 to 15 that no other group uses"


class EventIdCount(PipelineMistake):
    message = "pipeline: {which} of group '{group}' has {got} ids for {slots} tiles; give {slots}, or 1 for all of them"
    help = "{which}={suggestion}"


class EventIdTwice(PipelineMistake):
    message = "pipeline: event id {event} stands for both {first} and {second}, and the same core waits for both"
    help = "give every group ids of its own from 0 to 15"


class TooFewEventIds(PipelineMistake):
    message = "pipeline: needs {total} event ids, has 16: {needed} more than declared even with one each, {free} are free"
    help = "give a group one id for all of its tiles, for instance fwd_ids=[0], or do not share addresses"


class OverlapSlotCounts(PipelineMistake):
    message = (
        "pipeline: '{first}' and '{second}' share addresses but have different slot counts: {first_slots} and {second_slots}"
    )
    help = "give both the same number of tiles, or move one of them to other addresses"


class OverlapOfMany(PipelineMistake):
    message = "pipeline: '{group}' shares addresses with '{first}' and '{second}'; only pairwise overlap is possible"
    help = "let at most two buffers share addresses"


class OverlapTokens(PipelineMistake):
    message = "pipeline: '{first}' and '{second}' share addresses and must share mutex_ids: {first_ids} and {second_ids}"
    help = "the lock protects the address: declare both with mutex_ids={first_ids}"


class ReuseShifted(PipelineMistake):
    message = "pipeline: tile {first_slot} of '{first}' overlaps tile {second_slot} of '{second}': not a whole-rotation skew"
    help = "tile i of one may only overlap tile i of the other: give both the same addrs and tiles of the same size"


# -- use of the buffers -----------------------------------------------------------------------------------------------------


class SlotNotBound(PipelineMistake):
    message = "pipeline: the tile of cross-core group '{group}' must be assigned to a simple variable, got `{got}`"
    help = "slot = {group}.next()"


class ChannelDoesNotRotate(PipelineMistake):
    message = "pipeline: cross-core group '{group}' must go on by one tile per iteration, but {reason}"
    help = "take its tile once per stage, outside of branches and loops: slot = {group}.next()"


class PipeUnknown(PipelineMistake):
    message = "pipeline: cannot determine the pipe of `{operation}` on '{buffer}' in stage '{stage}'"
    help = "use tiles whose groups are declared in the kernel with a literal target_memory"


class ChannelInLoopBody(PipelineMistake):
    message = "pipeline: the loop body works on {what} '{group}' outside of the stages"
    help = "put the statement into the stage that needs it"


class ChannelUnused(PipelineMistake):
    message = "pipeline: cross-core group '{group}' is used by {count} of the loop's stages; it needs a producer and a consumer"
    help = "use it in one cube and one vector stage, or drop its fwd_ids and bwd_ids"


class ChannelShared(PipelineMistake):
    message = "pipeline: cross-core group '{group}' is used by {count} stages: {stages}; exactly two can share it"
    help = "declare one group per producer and consumer"


class ChannelOnOneCore(PipelineMistake):
    message = "pipeline: cross-core group '{group}' is used on the {core} core only, by {stages}"
    help = "drop its fwd_ids and bwd_ids: mutex_ids order the pipes of one core"


class ChannelNotProduced(PipelineMistake):
    message = "pipeline: cross-core group '{group}' is {missing} by no stage of the loop: {stages} only {does} it"
    help = "one stage writes a cross-core buffer, the other reads it"


class HelperReturnsTile(PipelineMistake):
    message = "pipeline: '{function}', called from stage '{stage}', returns a tile or tile group"
    help = "take the tile in the stage and pass it to '{function}' as an argument"


class StagesInCircle(PipelineMistake):
    message = "pipeline: '{reader}' reads '{group}' before '{writer}' writes it in the same iteration: {cycle}"
    help = "the stages of a loop hand data on in the order of the text: move '{writer}' before '{reader}'"


class PreloadTooDeep(PipelineMistake):
    message = (
        "pipeline: preload {preload} is too deep for group '{group}': it has {slots} tile(s), it would need {needed}. "
        "The dependency cycle {cycle} has total distance {distance}"
    )
    help = "give '{group}' {needed} tiles (addrs, mutex_ids and its event ids), or use preload={possible}"


class ReuseOverwrites(PipelineMistake):
    message = (
        "pipeline: address reuse requires the reads of '{first}' in '{reader}' to finish before '{writer}' writes '{second}', "
        "which lies on the same addresses: here they come after it"
    )
    help = "move '{second}' to addresses of its own"


class ReuseTooDeep(PipelineMistake):
    message = (
        "pipeline: the reuse of addresses by '{first}' and '{second}' runs inverse-time at this schedule: with preload {preload} "
        "'{writer}' would overwrite '{second}' before '{reader}' has read '{first}' (distance {distance} in beats)"
    )
    help = "give '{first}' and '{second}' addresses of their own, or {needed} tiles each, or use preload={possible}"


class LocalDataTooDeep(PipelineMistake):
    message = (
        "pipeline: {reader} reads '{group}' {distance} iteration(s) after {writer} wrote it, and by then it has been written again: "
        "it has {slots} tile(s), it would need {needed}"
    )
    help = "give '{group}' {needed} tiles, hand the data over inside one stage, or use preload=0"


class LocalDataBackwards(PipelineMistake):
    message = (
        "pipeline: {reader} reads what {writer} wrote into '{group}' before, "
        "but with preload {preload} it runs {distance} iteration(s) ahead of it"
    )
    help = "keep what goes from one iteration to the next inside one stage, or use preload=0"
