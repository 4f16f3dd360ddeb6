"""Synchronisation, caches and mask registers (tile API sections 3.10, 3.15, 4).

These rows bind and check; what flags, tokens, semaphores and barriers do to time is the simulator's. ``pipe_of_call`` tells on
which pipe a synchronisation call sits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pypto.cores.enums import (
    CacheLine,
    CrossCoreSyncMode,
    DcciDst,
    MemorySpace,
    PipeType,
    SyncAllMode,
    SyncCoreType,
)
from pypto.cores.types import Scalar, Tensor, Tile
from pypto.errors.tiles import (
    CacheOffset,
    CrossCoreEventOutOfRange,
    EventOutOfRange,
    MutexNotOnChip,
    MutexOutOfRange,
    PipeRefused,
    SamePipe,
    SyncAllWorkspaces,
    TooManyMutexIds,
)
from pypto.ops.tile.checks import attribute, kind_of, offset_values, operand
from pypto.ops.tile.table import Parameter, StaticCall, StaticOperand, TileOperation, keyword, positional, register

BARRIERS = {
    "bar_m": PipeType.M,
    "bar_mte1": PipeType.MTE1,
    "bar_mte2": PipeType.MTE2,
    "bar_mte3": PipeType.MTE3,
    "bar_fix": PipeType.FIX,
    "bar_all": PipeType.ALL,
}


def pipe_of_call(operation: str, attributes: Mapping[str, Any]) -> PipeType | None:
    """The pipe that a synchronisation call sits on: a set on the pipe that signals, a wait on the pipe that is held.

    >>> pipe_of_call("sync_dst", {"set_pipe": PipeType.MTE2, "wait_pipe": PipeType.V})
    PipeType.V
    """
    if operation in BARRIERS:
        return BARRIERS[operation]
    if operation == "sync_all":
        return PipeType.ALL
    name = {"sync_src": "set_pipe", "sync_dst": "wait_pipe"}.get(operation, "pipe")
    found = attributes.get(name)
    return found if isinstance(found, PipeType) else None


def _nothing(call: Any) -> None:
    """No bytes move."""


def _synchronise(
    name: str, summary: str, parameters: tuple[Parameter, ...], example: str, check: Any = None, pipe: Any = PipeType.S
) -> None:
    register(
        TileOperation(
            name,
            summary,
            parameters,
            tuple("-" for parameter in parameters if not parameter.keyword),
            pipe,
            _nothing,
            check=check,
            touches=lambda call: (),
            locks=False,
            hidden=True,
            example=example,
        )
    )


def _require_pipe(call: StaticCall, name: str) -> None:
    """The pipe is one that this kind of core has."""
    pipe, possible = call.attributes.get(name), call.chip.pipes[call.core]
    if pipe not in possible:
        listed = ", ".join(one.name for one in possible)
        raise PipeRefused(
            operation=call.operation, argument=name, got=getattr(pipe, "name", pipe), core=call.core.name.lower(), possible=listed
        )


# -- flags inside a core ------------------------------------------------------------------------------------------------------


def _check_flag(call: StaticCall) -> None:
    _require_pipe(call, "set_pipe")
    _require_pipe(call, "wait_pipe")
    pipe = call.attributes["set_pipe"]
    if pipe is call.attributes["wait_pipe"]:
        raise SamePipe(operation=call.operation, pipe=pipe.name, name=pipe.name.lower())
    event = call.attributes.get("event_id")
    last = call.chip.identifiers["flags"] - 1
    if isinstance(event, int) and not 0 <= event <= last:
        raise EventOutOfRange(operation=call.operation, last=last, got=event)


def _check_barrier(call: StaticCall) -> None:
    pipe, possible = BARRIERS[call.operation], call.chip.pipes[call.core]
    if pipe is not PipeType.ALL and pipe not in possible:
        listed = ", ".join(one.name for one in possible)
        raise PipeRefused(operation=call.operation, argument="pipe", got=pipe.name, core=call.core.name.lower(), possible=listed)


_FLAG = (
    keyword("set_pipe", enum=PipeType, required=True),
    keyword("wait_pipe", enum=PipeType, required=True),
    keyword("event_id", "scalar", required=True, constant=False),
)
_synchronise(
    "sync_src",
    "Sets a flag when all earlier work of ``set_pipe`` is done.",
    _FLAG,
    "pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)",
    _check_flag,
)
_synchronise(
    "sync_dst",
    "Holds later work of ``wait_pipe`` until the flag is set, and takes it.",
    _FLAG,
    "pl.system.sync_dst(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)",
    _check_flag,
)
for _name, _pipe in BARRIERS.items():
    _what = "every pipe of this core" if _pipe is PipeType.ALL else f"pipe {_pipe.name}"
    _synchronise(
        _name, f"Later work of {_what} waits for earlier work of {_what}.", (), f"pl.system.{_name}()", _check_barrier, _pipe
    )

# -- buffer tokens ------------------------------------------------------------------------------------------------------------


def _check_mutex(call: StaticCall) -> None:
    if not call.chip.identifiers["mutex"]:
        raise MutexNotOnChip(operation=call.operation, chip=call.chip.name)
    _require_pipe(call, "pipe")
    single, several = call.attributes.get("mutex_id"), call.attributes.get("mutex_ids")
    ids = list(several) if isinstance(several, (list, tuple)) else [] if single is None else [single]
    limit = attribute(call, "max_mutex_id", 2)
    for number in ids:
        if isinstance(number, int) and not 0 <= number < call.chip.identifiers["mutex"]:
            raise MutexOutOfRange(operation=call.operation, last=call.chip.identifiers["mutex"] - 1, got=number)
    if isinstance(several, (list, tuple)) and isinstance(limit, int) and len(several) > limit:
        raise TooManyMutexIds(operation=call.operation, got=len(several), limit=limit)


_MUTEX = (
    positional("tiles", "tile", variadic=True, optional=True),
    keyword("pipe", enum=PipeType, required=True),
    keyword("mutex_id", "scalar", constant=False),
    keyword("mode", "scalar", default=0),
    keyword("max_mutex_id", "scalar", default=2),
    keyword("mutex_ids", "integers scalar", constant=False),
)
_synchronise(
    "mutex_lock",
    "Takes buffer tokens for a pipe, waiting until the pipe that holds them lets go.",
    _MUTEX,
    "pl.system.mutex_lock(pipe=pl.PipeType.V, mutex_id=3)",
    _check_mutex,
)
_synchronise(
    "mutex_unlock",
    "Gives buffer tokens back when all earlier work of the pipe is done.",
    _MUTEX,
    "pl.system.mutex_unlock(pipe=pl.PipeType.V, mutex_id=3)",
    _check_mutex,
)

# -- between cores ------------------------------------------------------------------------------------------------------------


def _check_cross_core(call: StaticCall) -> None:
    _require_pipe(call, "pipe")
    event = call.attributes.get("event_id")
    events = call.chip.identifiers["cross_core"]
    if isinstance(event, int) and not 0 <= event < events:
        raise CrossCoreEventOutOfRange(operation=call.operation, events=events, got=event)


_CROSS = (
    keyword("pipe", enum=PipeType, required=True),
    keyword("event_id", "scalar", required=True, constant=False),
    keyword("sync_mode", enum=CrossCoreSyncMode, default=CrossCoreSyncMode.INTRA_BLOCK),
)
_synchronise(
    "set_cross_core",
    "Posts an event to the other cores when all earlier work of ``pipe`` is done.",
    _CROSS,
    "pl.system.set_cross_core(pipe=pl.PipeType.FIX, event_id=0)",
    _check_cross_core,
)
_synchronise(
    "wait_cross_core",
    "Holds later work of ``pipe`` until the event has come.",
    _CROSS,
    "pl.system.wait_cross_core(pipe=pl.PipeType.V, event_id=0)",
    _check_cross_core,
)


def _workspaces(call: StaticCall) -> tuple[Any, ...]:
    given = operand(call, 0)
    if given is None:
        return ()
    return given if isinstance(given, tuple) else (given,)


def _check_sync_all(call: StaticCall) -> None:
    given = _workspaces(call)
    if attribute(call, "mode", SyncAllMode.HARD) is SyncAllMode.HARD:
        if given:
            raise SyncAllWorkspaces(problem=f"the hard mode takes no workspaces, but got {len(given)}")
        return
    found = _counted(given)
    core = attribute(call, "core_type", SyncCoreType.MIX)
    vector, cube = core is not SyncCoreType.AIC_ONLY, core is not SyncCoreType.AIV_ONLY
    for name, wanted, what in (("tensor", True, "GM Tensor"), ("vec", vector, "Vec (ub) tile"), ("mat", cube, "Mat (l1) tile")):
        if found.get(name, 0) != wanted:
            need = "needs exactly one" if wanted else "forbids a"
            raise SyncAllWorkspaces(problem=f"soft {core.name} {need} {what}, but got {found.get(name, 0)}")
    if found.get("number", 0) > 1:
        raise SyncAllWorkspaces(problem="used_cores was given twice")


def _counted(given: tuple[Any, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in given:
        name = _workspace_kind(one)
        if not name:
            raise SyncAllWorkspaces(problem=f"unrecognised workspace: {kind_of(one)}")
        found[name] = found.get(name, 0) + 1
    return found


def _workspace_kind(one: StaticOperand) -> str:
    if isinstance(one.type, Tensor):
        return "tensor"
    if isinstance(one.type, Tile):
        return {MemorySpace.Vec: "vec", MemorySpace.Mat: "mat"}.get(one.type.space, "")
    integer = (
        isinstance(one.value, int) if one.value is not None else isinstance(one.type, Scalar) and not one.type.dtype.is_float
    )
    return "number" if integer else ""


_synchronise(
    "sync_all",
    "No core passes before every core has come.",
    (
        positional("workspaces", "tensor tile scalar offsets", optional=True),
        keyword("core_type", enum=SyncCoreType, default=SyncCoreType.MIX),
        keyword("mode", enum=SyncAllMode, default=SyncAllMode.HARD),
    ),
    "pl.system.sync_all(core_type=pl.SyncCoreType.MIX)",
    _check_sync_all,
    PipeType.ALL,
)

# -- caches, modes, masks -----------------------------------------------------------------------------------------------------


def _check_dcci(call: StaticCall) -> None:
    target, given = operand(call, 0), operand(call, 1)
    if given is None:
        return
    values = offset_values(given)
    if isinstance(target, StaticOperand) and isinstance(target.type, Tile):
        if values is not None:
            raise CacheOffset(expected="a scalar integer element offset for a tile", got=kind_of(given))
    elif values is not None and isinstance(target, StaticOperand) and isinstance(target.type, Tensor):
        if len(values) != len(target.type.shape):
            raise CacheOffset(
                expected=f"a per-dimension list/tuple of {len(target.type.shape)} offsets, or a scalar", got=f"{len(values)}"
            )
    if values is None and isinstance(given, StaticOperand) and isinstance(given.value, float):
        raise CacheOffset(expected="a scalar integer element offset", got=given.value)


_synchronise(
    "dcci",
    "Cleans and invalidates the data cache of the scalar unit. The simulated cache is always coherent.",
    (
        positional("target", "tensor tile"),
        positional("offset", "offsets scalar", optional=True),
        keyword("cache_line", enum=CacheLine, default=CacheLine.ENTIRE_DATA_CACHE),
        keyword("dst", enum=DcciDst, default=DcciDst.AUTO),
    ),
    "pl.system.dcci(tensor, 0, cache_line=pl.CacheLine.SINGLE_CACHE_LINE)",
    _check_dcci,
)
_synchronise(
    "set_mm_layout_transform",
    "Direction in which the fixpipe drains an accumulator; changes no number.",
    (keyword("enabled", "flag", required=True),),
    "pl.system.set_mm_layout_transform(enabled=True)",
)
_synchronise("set_mask_norm", "Vector masks are bits (the default).", (), "pl.system.set_mask_norm()")
_synchronise("set_mask_count", "Vector masks count elements.", (), "pl.system.set_mask_count()")
_synchronise(
    "set_vec_mask",
    "The two halves of the vector mask; tile operations set their own.",
    (positional("high", "scalar"), positional("low", "scalar")),
    "pl.system.set_vec_mask(0, 255)",
)
_synchronise("reset_mask", "Vector mask of all ones.", (), "pl.system.reset_mask()")
