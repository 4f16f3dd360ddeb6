"""A core at run time: its pipes, what they wait for, and what the scalar unit asks of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pypto.cores import program as p
from pypto.cores.enums import CoreType, CrossCoreSyncMode, PipeType, SyncCoreType
from pypto.cores.types import Struct
from pypto.errors.base import InternalError, UserError
from pypto.errors.simulation import EndlessLoop, EventRange, NullAccess
from pypto.errors.tiles import AssertionFailed
from pypto.sim.calls import Call, Site
from pypto.sim.clocks import joined
from pypto.sim.memory import TensorMemory, TileMemory, tile_over
from pypto.sim.pipes import Pipe, ScalarUnit
from pypto.sim.plans import Plan
from pypto.sim.signals import Counter, Mutex, UnitFlag
from pypto.sim.steps import operate_on_scalar_unit, placed
from pypto.sim.values import Record, Ring

DRAIN = "its pipes"
MOST_TURNS = 3_000_000


class Unit:
    """One core of a group (AIC, AIV0, AIV1). ``now`` is the time of its scalar unit, ``paused`` what that stands still for."""

    def __init__(self, machine: Any, group: Any, kind: CoreType, subblock: int, name: str) -> None:
        self.machine, self.group, self.kind, self.subblock, self.name = machine, group, kind, subblock, name
        self.now: float = machine.now
        self.paused: Any = None
        self.finished = False
        self.turns = 0
        self.pipes: dict[str, Pipe] = {}
        self.flags: dict[tuple[PipeType, PipeType, int], Counter] = {}
        self.mutexes: dict[int, Mutex] = {}
        self.unit_flags: dict[int, UnitFlag] = {}
        self.plans: dict[Site, dict[Any, Plan]] = {}
        self.declared: dict[int, Any] = {}
        self.twins: dict[tuple[TileMemory, int], TileMemory] = {}
        self.block_idx, self.block_num = group.index, machine.blocks
        self.subblock_idx, self.subblock_num = subblock, 1
        if machine.program.mixed and kind is CoreType.VECTOR:
            self.subblock_num = machine.chip.vector_per_cube
            self.block_idx = group.index * self.subblock_num + subblock
        self.generator: Iterator[None] = iter(())
        self.scalar: ScalarUnit

    def start(self, first_index: int, pipes: Sequence[str], queues: int) -> None:
        """Makes the queues; they count from ``first_index`` on in every clock."""
        self.scalar = ScalarUnit(self, first_index, queues)
        for offset, pipe in enumerate(pipes, start=1):
            self.pipes[pipe] = Pipe(self, PipeType[pipe], first_index + offset, queues)

    def pipe(self, name: str) -> Pipe:
        return self.pipes[name]

    # -- running --------------------------------------------------------------------------------------------------------------

    def advance(self) -> None:
        """Runs the scalar unit until it stands still."""
        self.paused = None
        try:
            next(self.generator)
        except StopIteration:
            self.finished = True
        except UserError as error:
            raise self._noted(error) from None
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, NameError) as error:
            place = self.machine.codes[self.kind].place_of(error)
            raise InternalError(f"{type(error).__name__}: {error} at {place}", step="scalar unit") from error

    def _noted(self, error: UserError) -> UserError:
        """An error of an expression has no call: find its place, say on which core it was."""
        if not getattr(error, "located", False):
            error.span = error.span or self.machine.codes[self.kind].place_of(error)
            error.notes = (*error.notes, f"on the scalar unit of {self.name}")
        return error

    def pause(self, what: Any) -> bool:
        self.paused = what
        return True

    def resume(self) -> None:
        self.paused = None
        self.machine.runnable.append(self)

    def drained(self, pipe: Pipe) -> None:
        """Calls left a queue: the scalar unit may wait for just that."""
        if self.paused is None or self.finished:
            return
        if (
            self.paused is pipe
            and len(pipe.queue) < pipe.depth
            or self.paused is DRAIN
            and not any(one.queue for one in self.pipes.values())
        ):
            self.resume()

    def turn(self) -> None:
        """A while loop goes round: the others get their chance. One that gives no pipe anything to do does not go round for ever."""
        self.turns += 1
        self.paused = None
        if self.turns > MOST_TURNS:
            raise EndlessLoop(core=self.name, turns=MOST_TURNS)

    def draining(self, call: Call) -> bool:
        """True while a pipe of this core still has work; then the scalar unit knows all of it is done."""
        if any(pipe.queue for pipe in self.pipes.values()):
            self.scalar.queue.clear()
            self.scalar.queue.append(call)
            return self.pause(DRAIN)
        self.scalar.queue.clear()
        scalar = self.scalar
        for pipe in self.pipes.values():
            self.now = max(self.now, pipe.done)
            scalar.clock = joined(scalar.clock, pipe.index, pipe.epoch, pipe.clock)
            pipe.epoch += 1
        scalar.touched()
        scalar.told = (scalar.index, scalar.epoch - 1, scalar.clock)
        return False

    def arrive(self, call: Call) -> None:
        """This core is at the barrier of all cores."""
        kind = call.attributes.get("core_type") or SyncCoreType.MIX
        only = {SyncCoreType.AIC_ONLY: CoreType.CUBE, SyncCoreType.AIV_ONLY: CoreType.VECTOR}.get(kind, self.kind)
        if only is not self.kind:
            call.progress = 1
            return
        for scalar, release in self.machine.barrier(kind).arrive(self.scalar, call):
            release.call.progress = 1
            if scalar.unit is not self:
                scalar.wake()

    def meeting(self, call: Call) -> bool:
        """True until the last core has come."""
        if not call.progress:
            self.scalar.queue.append(call)
            return self.pause(self.machine.barrier(call.attributes.get("core_type") or SyncCoreType.MIX))
        self.scalar.queue.clear()
        for release in call.value:  # what all cores knew when the last one came
            self.scalar.acquire(release)
        self.scalar.told = (self.scalar.index, self.scalar.epoch - 1, self.scalar.clock)
        return False

    # -- what waits and what is waited for ------------------------------------------------------------------------------------

    def _event(self, call: Call, limit: int, what: str) -> int:
        event = call.attributes["event_id"]
        if not 0 <= event < limit:
            raise placed(EventRange(what=what, limit=limit, got=event), call)
        return event

    def flag(self, call: Call) -> Counter:
        """The flag of a ``sync_src`` or ``sync_dst``."""
        set_pipe, wait_pipe = call.attributes["set_pipe"], call.attributes["wait_pipe"]
        key = (set_pipe, wait_pipe, self._event(call, self.machine.chip.identifiers["flags"], "event_id"))
        found = self.flags.get(key)
        if found is None:
            label = f"flag {key[2]} from {set_pipe.name} to {wait_pipe.name} of {self.name}"
            found = self.flags[key] = Counter(label, f"{set_pipe.name} of {self.name}", 1, self.machine.report)
        return found

    def unit_flag(self, tile: TileMemory) -> UnitFlag:
        found = self.unit_flags.get(tile.address)
        if found is None:
            found = self.unit_flags[tile.address] = UnitFlag(self, tile.address)
        return found

    def _mutexes(self, operands: Sequence[Any], attributes: Mapping[str, Any]) -> list[Mutex]:
        """Tokens of a lock or unlock, each once: those it names, else those of its tiles."""
        named = attributes.get("mutex_ids")
        if named is None:
            named = attributes.get("mutex_id")
        numbers = _numbers(named) if named is not None else [number for tile in operands for number in getattr(tile, "ids", ())]
        limit = max(self.machine.chip.identifiers["mutex"], 1)
        found = []
        for number in dict.fromkeys(numbers):
            if not 0 <= number < limit:
                raise EventRange(what="mutex_id", limit=limit, got=number)
            if number not in self.mutexes:
                self.mutexes[number] = Mutex(self, number)
            found.append(self.mutexes[number])
        return found

    def tickets(self, site: Site, operands: Any, attributes: Any, iteration: tuple) -> tuple:
        return site, operands, attributes, iteration, [one.ticket() for one in self._mutexes(operands, attributes)]

    def tokens(self, site: Site, operands: Any, attributes: Any, iteration: tuple) -> tuple:
        return site, operands, attributes, iteration, self._mutexes(operands, attributes)

    def posted_to(self, call: Call) -> list[Counter]:
        """Counters that a ``set_cross_core`` of this core raises."""
        mode, event = self._mode(call)
        return self.group.posted(self, mode, event)

    def waited_on(self, call: Call) -> list[Counter]:
        """Counters that a ``wait_cross_core`` of this core lowers, all of them at once."""
        mode, event = self._mode(call)
        return self.group.awaited(self, mode, event)

    def _mode(self, call: Call) -> tuple[CrossCoreSyncMode, int]:
        mode = call.attributes.get("sync_mode") or CrossCoreSyncMode.INTRA_BLOCK
        lanes = 2 if mode is CrossCoreSyncMode.UNICAST_BLOCK else 1
        return mode, self._event(call, lanes * self.machine.chip.identifiers["cross_core"], "event_id")

    # -- tiles and other things with names ------------------------------------------------------------------------------------

    def declare_tile(self, statement: p.DeclareTile) -> TileMemory:
        found = self.declared.get(id(statement))
        if found is None:
            found = self._tile(statement.name, statement.type, statement.address, statement.ids)
            self.declared[id(statement)] = found
        else:
            found.set_valid(*(statement.type.valid or statement.type.shape))
        return found

    def declare_group(self, statement: p.DeclareGroup) -> Ring:
        tiles = self.declared.get(id(statement))
        if tiles is None:
            ids = statement.ids or ((),) * len(statement.addresses)
            tiles = [
                self._tile(f"{statement.name}[{slot}]", statement.type, address, mine)
                for slot, (address, mine) in enumerate(zip(statement.addresses, ids, strict=True))
            ]
            self.declared[id(statement)] = tiles
        ring = Ring(statement.name, tiles)
        ring.set_valid(*(statement.type.valid or statement.type.shape))
        return ring

    def _tile(self, name: str, type: Any, address: int, ids: tuple[int, ...]) -> TileMemory:
        memory, domain = self.group.memory(type.space, self.subblock)
        return tile_over(memory, type, address, name=name, ids=tuple(ids), domain=domain)

    def on_vector_core(self, tile: TileMemory, subblock: int) -> TileMemory:
        """The tile at the same address of the UB of a vector core of this group."""
        found = self.twins.get((tile, subblock))
        if found is None:
            found = self.twins[(tile, subblock)] = tile.twin(*self.group.memory(tile.type.space, subblock))
        if (found.rows, found.columns) != (tile.rows, tile.columns):
            found.set_valid(tile.rows, tile.columns)
        return found

    def declare_struct(self, statement: p.DeclareStruct, values: Callable[[], dict[str, Any]]) -> Any:
        if statement.count is None:
            return Record(statement.kind, values())
        return [Record(statement.kind, values()) for _ in range(statement.count)]

    def declare_tensor(self, statement: p.DeclareTensor, base: Any, shape: Any, strides: Any, offset: int) -> TensorMemory:
        """A view or pointer; on a pointer that is None it stays None."""
        if base is None:
            raise NullAccess(name=statement.name)
        moved = base.another(base.shape, base.strides, offset)
        found = moved if moved.dtype is statement.dtype else moved.retyped(statement.dtype)
        return found.another(() if shape is None else shape, strides)

    # -- what the scalar unit does itself -------------------------------------------------------------------------------------

    def set_valid(self, call: Call) -> None:
        """``set_validshape``: calls that wait in a queue keep what they were issued with."""
        target = call.operands[0]
        for tile in target.tiles if isinstance(target, Ring) else (target,):
            self._keep(tile, tile.twin)
        operate_on_scalar_unit(self.scalar, call)

    def set_stride(self, call: Call) -> None:
        """``set_stride``: pitch of the last two axes, for calls that are issued later."""
        tensor = call.operands[0]
        self._keep(tensor, lambda: tensor.another(tensor.shape, tensor.strides))
        operate_on_scalar_unit(self.scalar, call)

    def _keep(self, target: Any, twin: Callable[[], Any]) -> None:
        for pipe in self.pipes.values():
            for waiting in pipe.queue:
                if target in waiting.operands:
                    copy = twin()
                    waiting.operands = tuple(copy if one is target else one for one in waiting.operands)

    def store_words(self, call: Call) -> None:
        self.group.scalar_buffer.store(call, self._types(call))

    def load_words(self, call: Call) -> None:
        self.group.scalar_buffer.load(call, self._types(call))

    def _types(self, call: Call) -> Struct:
        name = call.site.texts[0].partition("[")[0]
        return self.machine.struct_type(self.kind, name, call)

    def trap(self, call: Call) -> None:
        self.machine.print(call, f"trap on {call.where}\n")

    def check_assertion(self, call: Call) -> None:
        """A failing assertion prints its text and stops the run, or goes on as the machine does."""
        try:
            operate_on_scalar_unit(self.scalar, call)
        except AssertionFailed:
            if not self.machine.assertions_continue:
                raise

    def breakpoint(self, call: Call, names: dict[str, Any]) -> None:
        self.machine.stop_at(call, {name[2:]: value for name, value in names.items() if name.startswith("n_")})


def _numbers(named: Any) -> Sequence[int]:
    return named if isinstance(named, (tuple, list)) else (named,)
