"""Storage ops: views and hazards, copies only where a load is not lazy.

``load`` may carry ``lazy=True`` (graph/storage.py): nothing writes that region before the value's last use. Parameters that the
program never writes are always lazy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto.cpu import missing
from pypto.cpu.fuse import BlockPlan
from pypto.cpu.hold import Held
from pypto.cpu.items import AllocateItem, ReadItem, WriteItem
from pypto.cpu.plan_base import PlanBase
from pypto.cpu.views import whole
from pypto.dtypes import DataType
from pypto.errors.runtime import IndexOutOfBounds, RegionOutOfBounds
from pypto.ir.program import Literal, Op, Storage, TensorType
from pypto.ir.symbols import Expression, Scalar, add, compare, logical_and, logical_or, sub


class StoragePlan(PlanBase):
    def allocate(self, plan: BlockPlan, op: Op) -> None:
        storage = op.result
        buffer = self.buffer(storage.type, storage.name)
        self.storages[storage] = whole(buffer, storage.type)
        plan.append(AllocateItem(buffer))
        if op.attributes.get("unproven"):
            missing.begin(self, plan, storage)

    def alias(self, plan: BlockPlan, op: Op) -> None:
        (base,) = op.operands
        view = self.storages[base]  # type: ignore[index]
        self.storages[op.result] = whole(view.buffer, op.result.type)
        missing.alias(self, base, op.result)

    def load(self, plan: BlockPlan, op: Op) -> None:
        (storage,) = op.operands
        value = op.result
        self.check_region(plan, "read", storage, op.attributes["offsets"], value.type.valid, op)
        self.check_extents(plan, op)
        missing.demand(self, plan, op, op.attributes["offsets"], value.type)
        view = self.storages[storage].slice(op.attributes["offsets"], value.type.shape, value.type.valid)  # type: ignore[index]
        held = Held(value.type, plan, self.ready(plan, view), view)
        lazy = op.attributes.get("lazy") or storage.root not in self.written  # type: ignore[union-attr]
        self.held[value] = held if lazy else self.copied(plan, held)

    def check_region(
        self, plan: BlockPlan, action: str, storage: Any, offsets: Sequence[Scalar], extents: Sequence[Scalar], op: Op
    ) -> None:
        if self.settled:
            return
        if self.trusting:
            return
        for axis, (offset, extent, size) in enumerate(zip(offsets, extents, storage.type.shape, strict=True)):
            inside = logical_and(compare("le", 0, offset), compare("le", add(offset, extent), size))
            if inside is True or (not isinstance(extent, Expression) and extent == 0):
                continue
            condition = logical_or(inside, compare("le", extent, 0)) if isinstance(extent, Expression) else inside
            error = RegionOutOfBounds(
                action=action, extent=extent, offset=offset, axis=axis, tensor=storage.name, size=size, span=op.span
            )
            self.check(plan, condition, error, op)

    def store(self, plan: BlockPlan, op: Op) -> None:
        if op.attributes.get("in_place"):
            return  # the update wrote it
        storage, value = op.operands
        offsets = op.attributes["offsets"]
        held = self.stored_value(plan, storage, value, offsets)
        self.check_region(plan, "write", storage, offsets, held.type.valid, op)
        view = self.storages[storage].slice(offsets, held.type.shape, held.type.valid)  # type: ignore[index]
        plan.store(held, view)
        missing.wrote(self, plan, storage, offsets, held.type)

    def stored_value(self, plan: BlockPlan, storage: Any, value: Any, offsets: Sequence[Scalar]) -> Held:
        if not isinstance(value, Literal):
            return self.operand(plan, value)
        extent = tuple(sub(size, offset) for size, offset in zip(storage.type.shape, offsets, strict=True))
        return self.constant(plan, TensorType(value.dtype, extent), value.value)

    def read(self, plan: BlockPlan, op: Op) -> None:
        (source,) = op.operands
        indices = op.attributes["indices"]
        missing.demand(self, plan, op, indices, _one(indices))
        held = self.operand(plan, source)
        view = plan.memory(held)
        name = source.name if isinstance(source, Storage) else ""
        for axis, (index, size) in enumerate(zip(indices, held.type.valid, strict=True) if not self.trusting else ()):
            inside = self.settled or logical_and(compare("le", 0, index), compare("lt", index, size))
            error = IndexOutOfBounds(
                operation=f"read of '{name}'" if name else "read", index=index, axis=axis, size=size, span=op.span
            )
            self.check(plan, inside, error, op)
        one = view.slice(indices, (1,) * len(indices), (1,) * len(indices))
        plan.symbols[op.result] = plan.append(ReadItem(op.result, one, op.span))

    def write(self, plan: BlockPlan, op: Op) -> None:
        storage, value = op.operands
        indices = op.attributes["indices"]
        view = self.storages[storage]  # type: ignore[index]
        for axis, (index, size) in enumerate(zip(indices, view.shape, strict=True) if not self.trusting else ()):
            inside = self.settled or logical_and(compare("le", 0, index), compare("lt", index, size))
            error = IndexOutOfBounds(operation=f"write to '{storage.name}'", index=index, axis=axis, size=size, span=op.span)  # type: ignore[union-attr]
            self.check(plan, inside, error, op)
        number = value.value if isinstance(value, Literal) else value
        plan.append(WriteItem(view.slice(indices, (1,) * len(indices), (1,) * len(indices)), number))  # type: ignore[arg-type]
        missing.wrote(self, plan, storage, indices, _one(indices))

    def checked(self, plan: BlockPlan, op: Op) -> None:
        condition = op.operands[0]
        self.check(plan, condition.value if isinstance(condition, Literal) else condition, op.attributes["error"], op)  # type: ignore[arg-type]


def _one(indices: Sequence[Scalar]) -> TensorType:
    """The type of one element as a region."""
    return TensorType(DataType.DT_UINT8, (1,) * len(indices))
