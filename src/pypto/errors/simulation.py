"""Mistakes that only a machine finds: in chip files, and while a tile program runs (races, deadlocks, undefined bytes, bounds)."""

from __future__ import annotations

from pypto.errors.base import UserError


class UnknownChip(UserError, ValueError):
    code = 0xF00002
    message = "no chip is called '{name}'"
    help = "known are {known}; a chip of your own is the path of a .toml file"


class ChipFileMissing(UserError, FileNotFoundError):
    code = 0xF00003
    message = "the chip file {path} does not exist"
    help = "a relative path starts at the working directory; chips of this package go by name: 950, 910B"


class ChipFileSyntax(UserError, ValueError):
    code = 0xF00002
    message = "the chip file {path} cannot be read: {reason}"
    help = "it is TOML: [table] lines and name = value lines; the files in pypto/chips show how"


class ChipFileEntry(UserError, ValueError):
    code = 0xF00002
    message = "in the chip file {path}, {entry} {reason}"
    help = "the files in pypto/chips show every entry"


# -- places in memory ---------------------------------------------------------------------------------------------------------


class RectangleOutsideTile(UserError, IndexError):
    code = 0xF00008
    message = "{rows} x {columns} elements from [{row}, {column}] on reach outside '{name}' of shape {shape}"
    help = "keep offset + extent within the shape of the tile"


class WindowOutsideMemory(UserError, IndexError):
    code = 0xF00008
    message = "'{name}' of shape {shape} is accessed outside its memory: offsets {offsets}, extent {extent}, {elements} elements"
    help = "nothing clamps a transfer to the tensor: set_validshape the tile to what is left of it"


class TileOutsideMemory(UserError, ValueError):
    code = 0xF00002
    message = "tile '{name}' needs {bytes} bytes at 0x{address:X}, which is {excess} more than the {capacity} bytes of {memory}"
    help = "move the tile, make it smaller, or give its group fewer slots"


class TileMisaligned(UserError, ValueError):
    code = 0xF00002
    message = "tile '{name}' starts at 0x{address:X}; {memory} needs multiples of {alignment}"
    help = "move it to the next multiple of {alignment}"


class SpaceNotOnChip(UserError, ValueError):
    code = 0xF00002
    message = "tile '{name}' is in {space} memory, which the chip {chip} does not have"
    help = "use another memory, or another chip: pl.jit(arch='a5') is the 950"


class GroupIndex(UserError, IndexError):
    code = 0xF00008
    message = "tile group index {index} is out of range for the {count}-tile group '{name}'"
    help = "take the index modulo the number of tiles: {name}[index % {count}]"


class ElementIndex(UserError, IndexError):
    code = 0xF00008
    message = "index {index} is out of range for '{name}' with {count} elements"
    help = "indices run from 0 to the number of elements minus one; negative ones do not count from the end"


class NullAccess(UserError, ValueError):
    code = 0xF00002
    message = "'{name}' is None, and the kernel accesses it"
    help = "pass a tensor, or guard the access: if {name} is not None"


class ReadOnlyTensor(UserError, ValueError):
    code = 0xF00002
    message = "'{name}' is written by the kernel, but its array is read-only"
    help = "pass a copy that may be written"


class ScalarDivision(UserError, ZeroDivisionError):
    code = 0xF00002
    message = "integer division by zero"
    help = "guard the division: if divisor != 0"


class LoopStep(UserError, ValueError):
    code = 0xF00002
    message = "the step of a loop is 0"
    help = "give a step that is not 0: pl.range(start, stop, step)"


class ArgumentMissing(UserError, TypeError):
    code = 0xF00001
    message = "the kernel '{kernel}' needs an argument '{name}'"
    help = "arguments go by the names of the parameters: simulate(program, {{'{name}': value, ...}})"


class ArgumentKind(UserError, TypeError):
    code = 0xF00001
    message = "argument '{name}' of the kernel '{kernel}' must be {expected}, got {got}"
    help = "tensors are numpy arrays or None, pointers flat arrays or None, scalars numbers, structs mappings"


class BlockCount(UserError, ValueError):
    code = 0xF00002
    message = "block_dim must be a positive integer, got {got}"
    help = "launch at least one block; a kernel with nothing to do may return at once"


class TooManyBlocks(UserError, ValueError):
    code = 0xF00002
    message = "{blocks} blocks meet in sync_all, but {chip} runs {limit} at a time: the others never start, and nobody passes"
    help = "launch at most {limit} blocks and let each loop over its share: pl.range(get_block_idx(), count, get_block_num())"


# -- order --------------------------------------------------------------------------------------------------------------------


class DataRace(UserError, RuntimeError):
    code = 0xF00003
    message = "data race ({kind}): nothing orders {second} after {first}; both access {memory}"
    help = "order them: a flag, a buffer token, a cross-core event or a barrier"


class UndefinedRead(UserError, RuntimeError):
    code = 0xF00003
    message = (
        "{call} reads {count} of {total} bytes of '{name}' that nothing has written ({memory}, first at 0x{address:X}{element})"
    )
    help = "write the whole valid region before, or set_validshape to what was written"


class Deadlock(UserError, RuntimeError):
    code = 0xF00003
    message = "deadlock: {summary}"
    help = "every wait needs a set that comes before it on every path"


class EndlessLoop(UserError, RuntimeError):
    code = 0xF00003
    message = "a while loop on {core} turns for ever: {turns} times, and no pipe was given anything to do"
    help = "what it waits for must be written by another core before, and ordered by an event"


class UnpairedSync(UserError, RuntimeError):
    code = 0xF00003
    message = "{summary} when the kernel ends"
    help = "every set needs its wait, every lock its unlock: the counters of the next launch start where these end"


class FlagSetTwice(UserError, RuntimeError):
    code = 0xF00003
    message = "{call} sets {event} again, and nothing makes sure that the set before has been waited for"
    help = "a flag holds one set: wait for it before, or use another event id"


class TooManySets(UserError, RuntimeError):
    code = 0xF00003
    message = "{call} may be set number {count} of {event} that nobody has waited for; the hardware counts to {limit}"
    help = "let the receiver answer: bwd_ids on the group, or a set_cross_core back"


class UnlockNotHeld(UserError, RuntimeError):
    code = 0xF00003
    message = "{call} gives back buffer token {token}, which this pipe does not hold"
    help = "lock it on the same pipe before: pl.system.mutex_lock(pipe=..., mutex_id={token})"


class EventRange(UserError, ValueError):
    code = 0xF00002
    message = "{what} must be in [0, {limit}), got {got}"
    help = "take it modulo the ids that the kernel uses"
