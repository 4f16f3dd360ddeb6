"""Channels go on by one tile per iteration, and only the stages touch them.

Iteration t works on tile ``t % slots`` of a channel: the events are counted that way. So a stage takes the next tile exactly once, and
nothing outside of the stages turns the ring or works on its tiles while the loop runs.
"""

from __future__ import annotations

from pypto.errors.pipeline import ChannelDoesNotRotate, ChannelInLoopBody
from pypto_pro.pipeline.buffers import Buffer
from pypto_pro.pipeline.overlaps import overlapping
from pypto_pro.pipeline.structure import Kernel, PipelineLoop, StageCall
from pypto_pro.pipeline.traces import Reading, Trace
from pypto_pro.pipeline.values import Turn


def check_body(loop: PipelineLoop, reading: Reading, counted: set[str]) -> None:
    """Nothing around the stages touches a channel, or a buffer on its addresses."""
    for trace, _ in reading.around.get(loop, []):
        places = [(turn.slot.buffer, turn.place) for turn in trace.turns]
        places += [(access.buffer, step.place) for step in trace.steps for access in step.accesses]
        for name, place in places:
            if name in counted:
                channel = reading.buffers[name].channel
                what = "cross-core group" if channel else "a buffer that shares addresses with a cross-core group,"
                raise ChannelInLoopBody(span=place, what=what, group=name)


def check_outside(reading: Reading, counted: set[str]) -> None:
    """The kernel itself does not turn a channel: the other core, or the buffer on the same addresses, would not follow."""
    for turn in reading.outside.turns:
        if turn.slot.how == "next" and turn.slot.buffer in counted and reading.buffers[turn.slot.buffer].slots != 1:
            raise ChannelDoesNotRotate(
                span=turn.place, group=turn.slot.buffer, reason="the kernel takes a tile outside of the stages"
            )


def check_partners(kernel: Kernel, reading: Reading) -> None:
    """Buffers on the same addresses are turned by the same loops: otherwise their tiles would not match in the second loop."""
    users: dict[str, set[int]] = {}
    for loop in reading.loops:
        for stage in loop.stages:
            for name in reading.stages[stage].touched():
                users.setdefault(name, set()).add(loop.index)
    for first, second in overlapping(reading.buffers):
        loops = users.get(first.name, set()), users.get(second.name, set())
        if (first.channel or second.channel) and all(loops) and loops[0] != loops[1] and first.slots != 1:
            alone = first if loops[0] - loops[1] else second
            reason = f"a loop turns it without '{(second if alone is first else first).name}', which shares its addresses"
            raise kernel.fail(ChannelDoesNotRotate, alone.node, group=alone.name, reason=reason)


def check_rotation(kernel: Kernel, loop: PipelineLoop, reading: Reading, counted: set[str]) -> None:
    """Every stage that uses a counted buffer takes the next tile once."""
    for stage in loop.stages:
        trace = reading.stages[stage]
        touched = trace.touched()
        for name in [name for name in touched if name in counted]:
            _check(kernel, stage, trace, reading.buffers[name])


def _check(kernel: Kernel, stage: StageCall, trace: Trace, buffer: Buffer) -> None:
    if not buffer.group or buffer.slots == 1:
        return
    turns = [turn for turn in trace.turns if turn.slot.buffer == buffer.name]
    found = _fault(turns, stage)
    if found is not None:
        place, reason = found
        error = ChannelDoesNotRotate(span=place.place if place else kernel.span(stage.call), group=buffer.name, reason=reason)
        if place:
            error.chain = (kernel.span(stage.call),)
        raise error


def _fault(turns: list[Turn], stage: StageCall) -> tuple[Turn | None, str] | None:
    """The first turn that breaks the rule, and how."""
    if not turns:
        return None, f"stage '{stage.name}' gets its tile from outside"
    taken = [turn for turn in turns if turn.slot.how == "next"]
    for turn in turns:
        if turn.slot.how == "previous":
            return turn, f"stage '{stage.name}' goes back to the previous tile"
        if turn.slot.how == "at" and turn.number is not None:
            return turn, f"stage '{stage.name}' always takes tile {turn.number}"
        if turn.slot.how == "current" and (not taken or turn.slot.pick < taken[0].slot.pick):
            return turn, f"stage '{stage.name}' takes the current tile without going on"
    if len(taken) > 1:
        return taken[1], f"stage '{stage.name}' takes two tiles"
    if taken and not taken[0].once:
        return taken[0], f"stage '{stage.name}' takes it in a branch or a loop"
    return None
