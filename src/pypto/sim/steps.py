"""How each kind of call happens at the head of its queue. A step returns False when it has to wait, and has then changed nothing."""

from __future__ import annotations

from typing import Any

from pypto.cores.enums import AccPhase, MemorySpace, PipeType, STPhase
from pypto.errors.base import InternalError, UserError
from pypto.errors.simulation import NullAccess, ReadOnlyTensor
from pypto.ops.tile.places import pointed
from pypto.sim.calls import Call
from pypto.sim.hazards import access
from pypto.sim.memory import TensorMemory, TileMemory
from pypto.sim.pipes import Pipe
from pypto.sim.plans import plan_of

FINAL = (STPhase.Final, AccPhase.Final)
PARTIAL = (STPhase.Partial, AccPhase.Partial)


def operate(pipe: Pipe, call: Call) -> bool:
    """Moves the data, watches what is touched, books the time."""
    pipe.begin(call)
    unit = pipe.unit
    machine = unit.machine
    try:
        if machine.planned:
            plans = unit.plans.get(call.site)
            if plans is None:
                plans = unit.plans[call.site] = {}
            plan = plan_of(call, plans)
            if plan.accesses and machine.watched:
                access(plan.accesses, pipe, call)
            call.value = call.site.run(call)  # type: ignore[arg-type]
            if machine.timed:
                cycles = plan.price()
                pipe.spend(call, cycles if machine.stretch is None else cycles * machine.stretch(), plan.latency)
        else:
            call.value = call.site.run(call)  # type: ignore[arg-type]
    except UserError as error:
        raise placed(_of_tensors(call) or error, call) from None
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
        if found := _of_tensors(call):
            raise placed(found, call) from None
        raise InternalError(f"{call.short}: {type(error).__name__}: {error}", step="simulator") from error
    if machine.observer is not None:
        machine.observed(pipe, call)
    return True


def _of_tensors(call: Call) -> UserError | None:
    """What is wrong with the tensors of a call that failed, if that is the reason."""
    for one in call.operands:
        if isinstance(one, TensorMemory) and one.null:
            return NullAccess(name=one.name)
        if isinstance(one, TensorMemory) and not one.flat.flags.writeable and one is call.operands[0]:
            return ReadOnlyTensor(name=one.name)
    return None


def operate_on_scalar_unit(pipe: Any, call: Call) -> bool:
    """The same for the scalar unit. What it reads it has when it goes on, so what it issues next is behind that; what it writes is under
    way, and needs a flag, a lock or a barrier like the work of any other pipe (tile API section 4.1)."""
    operate(pipe, call)
    if call.site.row.name != "setval":
        pipe.touched()
    return True


def placed(error: UserError, call: Call) -> UserError:
    """The error with the place of the call, and where it happened."""
    if error.span is None and call.site.place is not None:
        error.span, error.chain = pointed(error, call.site.place), call.site.place.callers
    if not getattr(error, "located", False):
        error.notes = (*error.notes, f"on {call.where}")
        error.located = True  # type: ignore[attr-defined]
    return error


def nothing(pipe: Pipe, call: Call) -> bool:
    """A call without effect."""
    pipe.begin(call)
    return True


# -- flags --------------------------------------------------------------------------------------------------------------------


def set_flag(pipe: Pipe, call: Call) -> bool:
    pipe.begin(call)
    flag = pipe.unit.flag(call)
    flag.watch(pipe, call)
    flag.post(pipe.release(call))
    return True


def wait_flag(pipe: Pipe, call: Call) -> bool:
    flag = pipe.unit.flag(call)
    if not flag.tokens:
        return flag.make_wait(pipe)
    pipe.begin(call)
    flag.take(pipe)
    return True


def barrier(pipe: Pipe, call: Call) -> bool:
    pipe.begin(call)
    pipe.barrier()
    return True


# -- buffer tokens ------------------------------------------------------------------------------------------------------------


def lock(pipe: Pipe, call: Call) -> bool:
    tickets = call.tickets
    while call.progress < len(tickets):
        mutex, number = tickets[call.progress]
        if mutex.serving != number:
            mutex.waiters[number] = pipe
            return pipe.wait_for(mutex)
        mutex.holder = call
        mutex.held = pipe
        call.progress += 1
    pipe.begin(call)
    for mutex, _ in tickets:
        if mutex.last is not None and mutex.last.queue != pipe.index:
            pipe.acquire(mutex.last)
    return True


def unlock(pipe: Pipe, call: Call) -> bool:
    pipe.begin(call)
    release = None
    for mutex in call.tickets:
        if mutex.held is not pipe:
            pipe.unit.machine.report.not_held(call, mutex)
            continue
        release = release or pipe.release(call)
        mutex.give_back(release)
    return True


# -- between cores ------------------------------------------------------------------------------------------------------------


def set_cross_core(pipe: Pipe, call: Call) -> bool:
    pipe.begin(call)
    counters = pipe.unit.posted_to(call)
    for counter in counters:
        counter.watch(pipe, call)
    release = pipe.release(call)
    late = release._replace(time=release.time + pipe.unit.machine.chip.cycles["cross_core"])
    for counter in counters:
        counter.post(late)
    return True


def wait_cross_core(pipe: Pipe, call: Call) -> bool:
    counters = pipe.unit.waited_on(call)
    for counter in counters:
        if not counter.tokens:
            return counter.make_wait(pipe)
    pipe.begin(call)
    for counter in counters:
        counter.take(pipe)
    return True


# -- unit flags: the handshake of cube and fixpipe over one accumulator (tile API section 3.2, item 6) ------------------------


def operate_in_phase(pipe: Pipe, call: Call) -> bool:
    """With ``phase``: the cube waits for an empty accumulator and marks its last product; the fixpipe waits for the mark."""
    phase = call.attributes.get("phase")
    if phase not in FINAL and phase not in PARTIAL:
        return operate(pipe, call)
    unit_flag = pipe.unit.unit_flag(_accumulator(call))
    full = pipe.kind is not PipeType.M
    if unit_flag.full is not full:
        unit_flag.waiter = pipe
        unit_flag.waiting = call
        return pipe.wait_for(unit_flag)
    if unit_flag.last is not None and unit_flag.last.queue != pipe.index:
        pipe.acquire(unit_flag.last)
    operate(pipe, call)
    if phase in FINAL:
        unit_flag.turn(not full, pipe.release(call))
    return True


def phase_ends(call: Call, flag: Any) -> bool:
    """Whether a call turns this accumulator's flag."""
    return call.attributes.get("phase") in FINAL and call.unit.unit_flag(_accumulator(call)) is flag


def _accumulator(call: Call) -> TileMemory:
    for one in call.operands:
        if isinstance(one, TileMemory) and one.type.space is MemorySpace.Acc:
            return one
    raise InternalError(f"{call.site!r} has a phase and no accumulator", step="simulator")


STEPS = {
    "sync_src": set_flag,
    "sync_dst": wait_flag,
    "bar_m": barrier,
    "bar_mte1": barrier,
    "bar_mte2": barrier,
    "bar_mte3": barrier,
    "bar_fix": barrier,
    "mutex_lock": lock,
    "mutex_unlock": unlock,
    "set_cross_core": set_cross_core,
    "wait_cross_core": wait_cross_core,
    "dcci": nothing,
    "set_mm_layout_transform": nothing,
    "set_mask_norm": nothing,
    "set_mask_count": nothing,
    "set_vec_mask": nothing,
    "reset_mask": nothing,
}
