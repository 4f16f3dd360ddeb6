"""The tiles and groups that a kernel declares: where they lie, how many tiles they have, which events and locks belong to them.

In: a kernel. Out: ``Buffer`` by name. A buffer with ``fwd_ids`` or ``bwd_ids`` is a *channel*: it hands data from one core to the other.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pypto.cores.enums import MemorySpace
from pypto.dtypes import DataType
from pypto.errors.pipeline import (
    ChannelSlotsUnknown,
    ChannelSpace,
    ChannelSpaceUnknown,
    EventIdCount,
    EventIdOutOfRange,
    EventIdsEmpty,
    EventIdsForm,
)
from pypto_pro.pipeline.constants import UNKNOWN, Scope
from pypto_pro.pipeline.places import operation_name, section_of
from pypto_pro.pipeline.structure import Kernel

EVENTS = 16  # cross-core event ids are 0 to 15 (tile API section 4.5)
CHANNEL_SPACES = (MemorySpace.Vec, MemorySpace.Mat)  # the memories that the other core can write (seed: UB and L1)


@dataclass(frozen=True)
class EventIds:
    """Declared ids and the expression that names them in the generated code."""

    values: tuple[int, ...]
    expression: ast.expr

    @property
    def named(self) -> bool:
        """Whether the user gave them a name of their own."""
        return isinstance(self.expression, ast.Name)


@dataclass(eq=False)
class Buffer:
    """A tile or a group of tiles. ``ranges``: bytes from … to of every tile; None where it is not known before anything runs."""

    name: str
    node: ast.Call
    statement: ast.stmt
    section: str | None
    group: bool
    space: MemorySpace | None = None
    dtype: DataType | None = None
    slots: int | None = None
    ranges: tuple[tuple[int, int], ...] | None = None
    tokens: tuple[tuple[int, ...], ...] | None = None
    forward: EventIds | None = None
    backward: EventIds | None = None

    @property
    def channel(self) -> bool:
        return self.forward is not None or self.backward is not None


@dataclass(frozen=True)
class TileFacts:
    """What a tile type says, as far as it is known."""

    space: MemorySpace | None
    dtype: DataType | None
    bytes: int | None


def find_buffers(kernel: Kernel) -> dict[str, Buffer]:
    """Every tile and group that the kernel declares under a name of its own."""
    found: dict[str, Buffer] = {}
    _collect(kernel, kernel.node.body, None, found)
    return found


def _collect(kernel: Kernel, body: list[ast.stmt], section: str | None, found: dict[str, Buffer]) -> None:
    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Name) and isinstance(statement.value, ast.Call):
                operation = operation_name(statement.value, kernel.scope)
                if operation in ("make_tile", "make_tile_group"):
                    found[target.id] = read_buffer(kernel, target.id, statement.value, statement, section)
        for name in ("body", "orelse"):
            inner = getattr(statement, name, None)
            if isinstance(inner, list):
                _collect(kernel, inner, section_of(statement, kernel.scope) or section, found)


def read_buffer(kernel: Kernel, name: str, node: ast.Call, statement: ast.stmt, section: str | None) -> Buffer:
    """The facts of one declaration; those of a channel are checked."""
    group = operation_name(node, kernel.scope) == "make_tile_group"
    keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    facts = tile_facts(kernel, keywords.get("type", node.args[0] if node.args else None))
    buffer = Buffer(name, node, statement, section, group, facts.space, facts.dtype)
    buffer.tokens = _tokens(kernel.scope, keywords.get("mutex_ids"))
    buffer.slots = _slots(kernel.scope, keywords, buffer) if group else 1
    buffer.ranges = _ranges(kernel.scope, keywords.get("addrs", keywords.get("addr")), buffer, facts.bytes)
    if buffer.slots is None and buffer.ranges is not None:
        buffer.slots = len(buffer.ranges)
    if group:
        buffer.forward = _event_ids(kernel, buffer, "fwd_ids", keywords)
        buffer.backward = _event_ids(kernel, buffer, "bwd_ids", keywords)
        if buffer.channel:
            _check_channel(kernel, buffer, keywords)
    return buffer


# -- tile types -------------------------------------------------------------------------------------------------------------


def tile_facts(kernel: Kernel, node: ast.expr | None) -> TileFacts:
    """Space and size of a tile type: an inline ``pl.TileType(...)``, a local name for one, or an object of the module."""
    if isinstance(node, ast.Name) and kernel.scope.value(node) is UNKNOWN:
        node = _only_value(kernel.node, node.id) or node
    if isinstance(node, ast.Call) and operation_name(node, kernel.scope) == "TileType":
        names = ("shape", "dtype", "target_memory")
        given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
        given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg})
        values = {name: kernel.scope.value(given[name]) for name in names if name in given}
        return _facts(values.get("target_memory", MemorySpace.Vec), values.get("shape"), values.get("dtype"))
    value = UNKNOWN if node is None else kernel.scope.value(node)
    return _facts(getattr(value, "target_memory", UNKNOWN), getattr(value, "shape", None), getattr(value, "dtype", None))


def _only_value(function: ast.FunctionDef, name: str) -> ast.expr | None:
    """What a local name is bound to, if it is bound once."""
    found = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]
    return found[0] if len(found) == 1 else None


def _facts(space: Any, shape: Any, dtype: Any) -> TileFacts:
    known_space = space if isinstance(space, MemorySpace) else None
    known_dtype = dtype if isinstance(dtype, DataType) else None
    known = isinstance(shape, (list, tuple)) and len(shape) == 2 and all(isinstance(n, int) for n in shape)
    size = (shape[0] * shape[1] * known_dtype.facts.bits + 7) // 8 if known and known_dtype is not None else None
    return TileFacts(known_space, known_dtype, size)


# -- numbers ----------------------------------------------------------------------------------------------------------------


def _tokens(scope: Scope, node: ast.expr | None) -> tuple[tuple[int, ...], ...] | None:
    value = scope.value(node) if node is not None else None
    if not isinstance(value, (list, tuple)):
        return None
    entries = [tuple(one) if isinstance(one, (list, tuple)) else (one,) for one in value]
    return tuple(entries) if all(isinstance(i, int) for entry in entries for i in entry) else None


def _slots(scope: Scope, keywords: Mapping[str, ast.expr], buffer: Buffer) -> int | None:
    if buffer.tokens:
        return len(buffer.tokens)
    depth = scope.value(keywords["depth"]) if "depth" in keywords else None
    return depth if isinstance(depth, int) and not isinstance(depth, bool) and depth > 0 else None


def _ranges(scope: Scope, node: ast.expr | None, buffer: Buffer, size: int | None) -> tuple[tuple[int, int], ...] | None:
    addresses = scope.value(node) if node is not None else UNKNOWN
    if size is None:
        return None
    if isinstance(addresses, int) and buffer.slots is not None:
        return tuple((addresses + i * size, addresses + (i + 1) * size) for i in range(buffer.slots))
    if isinstance(addresses, (list, tuple)) and all(isinstance(address, int) for address in addresses):
        return tuple((address, address + size) for address in addresses)
    return None


# -- channels ---------------------------------------------------------------------------------------------------------------


def _event_ids(kernel: Kernel, buffer: Buffer, which: str, keywords: Mapping[str, ast.expr]) -> EventIds | None:
    node = keywords.get(which)
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return None
    facts = {"which": which, "group": buffer.name}
    outside = isinstance(node, ast.Name) and node.id not in kernel.scope.local_names
    if not outside and not isinstance(node, (ast.List, ast.Tuple)):
        raise kernel.fail(EventIdsForm, node, got=ast.unparse(node), **facts)
    values = kernel.scope.value(node)
    if values is None and outside:
        return None
    if not isinstance(values, (list, tuple)) or not all(isinstance(i, int) and not isinstance(i, bool) for i in values):
        raise kernel.fail(EventIdsForm, node, got=ast.unparse(node), **facts)
    if not values:
        raise kernel.fail(EventIdsEmpty, node, **facts)
    bad = [event for event in values if not 0 <= event < EVENTS]
    if bad:
        raise kernel.fail(EventIdOutOfRange, node, bad=bad, **facts)
    return EventIds(tuple(values), node)


def _check_channel(kernel: Kernel, buffer: Buffer, keywords: Mapping[str, ast.expr]) -> None:
    if buffer.space is None:
        raise kernel.fail(ChannelSpaceUnknown, keywords.get("type", buffer.node), group=buffer.name)
    if buffer.space not in CHANNEL_SPACES:
        raise kernel.fail(ChannelSpace, keywords["type"], group=buffer.name, space=buffer.space.name)
    if buffer.slots is None:
        raise kernel.fail(ChannelSlotsUnknown, keywords.get("mutex_ids", buffer.node), group=buffer.name)
    for which, ids in (("fwd_ids", buffer.forward), ("bwd_ids", buffer.backward)):
        if ids is not None and len(ids.values) not in (1, buffer.slots):
            got, suggestion = len(ids.values), list(range(buffer.slots))
            facts = {"which": which, "group": buffer.name, "got": got, "slots": buffer.slots, "suggestion": suggestion}
            raise kernel.fail(EventIdCount, keywords[which], **facts)
