"""Program → schedule: every statement becomes part of a nest, an item of its own, or nothing at all.

    allocate alias load view reshape permute …   → views (no code); a load that is not lazy is copied where it stands
    elementwise rows, reductions, stores         → nests (``fuse.py``)
    full, arange                                 → formulas, repeated where they are used
    matmul                                       → MatmulItem, then its bias and conversion as a nest
    read write check                             → items of the control function
    Loop, If                                     → items with inner schedules; carried values live in one buffer each
    everything else                              → CallItem: the reference computes it

``load`` may carry ``lazy=True`` (set by graph/storage.py): nothing writes that region before the value's last use.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from pypto.cpu import indexing, shapes
from pypto.cpu.fuse import BlockPlan, Node, again
from pypto.cpu.hold import Held, extents_of, kept_axes, operand_axes
from pypto.cpu.items import (
    AllocateItem,
    Call,
    CallItem,
    CheckItem,
    IfItem,
    Item,
    LoopItem,
    MatmulItem,
    ReadItem,
    ScalarSlot,
    WriteItem,
)
from pypto.cpu.nests import Apply, Constant, Reduce, Scan, Term
from pypto.cpu.stages import cost_of_name
from pypto.cpu.views import Buffer, View, same, whole
from pypto.diagnostics import Span
from pypto.dtypes import DataType
from pypto.errors.runtime import CarriedExtentChanges, IndexOutOfBounds, NegativeExtent, RegionOutOfBounds
from pypto.ir.program import PASS_FACTS, Block, If, Literal, Loop, Op, Program, Statement, Storage, TensorType, Value, walk
from pypto.ir.symbols import Expression, Scalar, Symbol, add, bounds_of, compare, logical_and, logical_or, mul, sub
from pypto.ops.table import OPERATIONS, Kind, Operation, Reduction

_D = DataType
NATIVE = frozenset(
    {_D.DT_FP32, _D.DT_DOUBLE, _D.DT_BF16, _D.DT_FP16, _D.DT_BOOL, _D.DT_FP8E4M3, _D.DT_FP8E5M2, _D.DT_FP8E8M0}
    | {d for d in _D if d.is_integer and d.bits >= 8}
)
# Cheap enough to be computed again in every nest that needs them, up to so many in a row.
REPEATED = frozenset({"add", "sub", "mul"})
MOST_REPEATED = 3
MATMUL_KINDS = {_D.DT_FP32: "f32", _D.DT_BF16: "bf16", _D.DT_FP16: "f16", _D.DT_INT8: "i8"}


class Planner:
    """Makes the schedule of one program. ``calls`` describes its call-backs, ``buffers`` its memory."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.numbers = itertools.count()
        self.held: dict[Value, Held] = {}
        self.storages: dict[Storage, View] = {}
        self.calls: list[Call] = []
        self.parameters: list[Buffer] = []
        tensors = [p for p in program.parameters if isinstance(p, Storage)]
        for slot, storage in enumerate(tensors):
            buffer = Buffer(storage.type.dtype, storage.type.shape, storage.name, "parameter", slot)
            self.parameters.append(buffer)
            self.storages[storage] = whole(buffer, storage.type)
        self.written = _written(program)
        self.trusting = bool(program.options.get("regions_checked"))  # graph/valid.py has put every check where it belongs
        self.unwritten = {self.storages[s].buffer for s in tensors if s not in self.written}
        self.settled = bool(program.options.get("regions_checked"))  # graph/valid.py proved or checked every region
        self.top = BlockPlan(self, None)
        self.statements(self.top, program.body)

    def next_number(self) -> int:
        return next(self.numbers)

    def buffer(self, type: TensorType, name: str = "") -> Buffer:
        return Buffer(type.dtype, type.shape, name or f"v{self.next_number()}")

    # -- statements ------------------------------------------------------------------------------------------------------------

    def statements(self, plan: BlockPlan, block: Block) -> None:
        for statement in block.statements:
            self.statement(plan, statement)

    def statement(self, plan: BlockPlan, statement: Statement) -> None:
        if isinstance(statement, Loop):
            self.loop(plan, statement)
        elif isinstance(statement, If):
            self.branch(plan, statement)
        elif statement.name in _STORAGE_OPS:
            _STORAGE_OPS[statement.name](self, plan, statement)
        else:
            self.operation(plan, statement, OPERATIONS[statement.name])

    def operation(self, plan: BlockPlan, op: Op, row: Operation) -> None:
        self.check_extents(plan, op)
        handler = _BY_KIND.get(row.kind)
        if handler is None or not handler(self, plan, op, row):
            self.call(plan, op)

    def hold(self, value: Value, held: Held) -> bool:
        self.held[value] = held
        return True

    def operand(self, plan: BlockPlan, operand: Any, dtype: DataType | None = None) -> Held:
        """What is known about an operand; numbers become formulas."""
        if isinstance(operand, Value):
            return self.held[operand]
        if isinstance(operand, Storage):
            view = self.storages[operand]
            return Held(operand.type, plan, self.ready(plan, view), view)
        if isinstance(operand, Literal):
            return self.constant(plan, TensorType(operand.dtype, ()), operand.value)
        return self.constant(plan, TensorType(dtype or _D.DT_FP32, ()), operand)

    def constant(self, plan: BlockPlan, type: TensorType, value: Scalar) -> Held:
        formula = lambda item, mapping: plan.constant(item, value, type.dtype)  # noqa: E731
        return Held(type, plan, formula=formula, scalars=(value,), uniform=True)

    def ready(self, plan: BlockPlan, view: View) -> int:
        """The item after which a view of a storage may be read."""
        return max(plan.wrote.get(view.buffer, -1), plan.scalar_ready((view.offset, *view.strides, *view.valid)))

    # -- storages --------------------------------------------------------------------------------------------------------------

    def allocate(self, plan: BlockPlan, op: Op) -> None:
        storage = op.result
        buffer = self.buffer(storage.type, storage.name)
        self.storages[storage] = whole(buffer, storage.type)
        plan.append(AllocateItem(buffer))

    def alias(self, plan: BlockPlan, op: Op) -> None:
        (base,) = op.operands
        view = self.storages[base]  # type: ignore[index]
        self.storages[op.result] = whole(view.buffer, op.result.type)

    def load(self, plan: BlockPlan, op: Op) -> None:
        (storage,) = op.operands
        value = op.result
        self.check_region(plan, "read", storage, op.attributes["offsets"], value.type.valid, op)
        self.check_extents(plan, op)
        view = self.storages[storage].slice(op.attributes["offsets"], value.type.shape, value.type.valid)  # type: ignore[index]
        held = Held(value.type, plan, self.ready(plan, view), view)
        lazy = op.attributes.get("lazy") or storage.root not in self.written  # type: ignore[union-attr]
        self.held[value] = held if lazy else self.copied(plan, held)

    def copied(self, plan: BlockPlan, held: Held) -> Held:
        """The value read here and now: a term of a nest, which writes it to memory only if a later nest needs it."""
        node = self.node(plan, held.type, [(held, kept_axes(held.type))])
        return plan.compute(held.type, node, lambda item, embedding, terms: terms[0])

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

    def check_extents(self, plan: BlockPlan, op: Op) -> None:
        """No valid extent of a result is negative: loops rely on it."""
        for value in op.results if not self.trusting else ():
            if isinstance(value, Value):
                for axis, extent in enumerate(value.type.valid):
                    if bounds_of(extent)[0] < 0:
                        self.check(plan, compare("le", 0, extent), NegativeExtent(extent=extent, axis=axis, span=op.span), op)

    def check_same_extents(self, plan: BlockPlan, type: TensorType, held: Held, span: Span | None) -> None:
        """A value bound to a name of ``type`` has the valid extents that the type says."""
        if self.trusting:
            return
        pairs = zip(type.valid, held.type.valid, strict=True)
        wrong = [compare("eq", a, b) for a, b in pairs if not same(a, b)]
        for condition in wrong:
            error = CarriedExtentChanges(first=list(type.valid), second=list(held.type.valid), span=span)
            self.check(plan, condition, error, Op("yield", span=span))

    def check(self, plan: BlockPlan, condition: Scalar, error: Any, op: Op) -> None:
        if condition is True or plan.is_checked(condition):
            return
        plan.append(CheckItem(condition, error, op.span))
        plan.barrier()
        if isinstance(condition, Expression):
            plan.checked.add(condition)

    def store(self, plan: BlockPlan, op: Op) -> None:
        if op.attributes.get("in_place"):
            return  # the update wrote it
        storage, value = op.operands
        offsets = op.attributes["offsets"]
        held = self.stored_value(plan, storage, value, offsets)
        self.check_region(plan, "write", storage, offsets, held.type.valid, op)
        view = self.storages[storage].slice(offsets, held.type.shape, held.type.valid)  # type: ignore[index]
        plan.store(held, view)

    def stored_value(self, plan: BlockPlan, storage: Any, value: Any, offsets: Sequence[Scalar]) -> Held:
        if not isinstance(value, Literal):
            return self.operand(plan, value)
        extent = tuple(sub(size, offset) for size, offset in zip(storage.type.shape, offsets, strict=True))
        return self.constant(plan, TensorType(value.dtype, extent), value.value)

    def accumulate(self, plan: BlockPlan, op: Op) -> None:
        storage, value = op.operands
        offsets = op.attributes["offsets"]
        held = self.stored_value(plan, storage, value, offsets)
        self.check_region(plan, "write", storage, offsets, held.type.valid, op)
        view = self.storages[storage].slice(offsets, held.type.shape, held.type.valid)  # type: ignore[index]
        before = Held(held.type, plan, self.ready(plan, view), view)
        plan.store(self.apply(plan, held.type, "add", OPERATIONS["add"].lower, [before, held]), view)

    def read(self, plan: BlockPlan, op: Op) -> None:
        (source,) = op.operands
        indices = op.attributes["indices"]
        held = self.operand(plan, source)
        view = plan.memory(held)
        name = source.name if isinstance(source, Storage) else ""
        for axis, (index, size) in enumerate(zip(indices, held.type.valid, strict=True) if not self.trusting else ()):
            inside = self.settled or logical_and(compare("le", 0, index), compare("lt", index, size))
            error = IndexOutOfBounds(
                operation=f"read of '{name}'" if name else "read", index=index, axis=axis, size=size, span=op.span
            )
            self.check(plan, inside, error, op)
        plan.symbols[op.result] = plan.append(ReadItem(op.result, view.slice(indices, (1,) * len(indices), (1,) * len(indices))))

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

    def checked(self, plan: BlockPlan, op: Op) -> None:
        condition = op.operands[0]
        self.check(plan, condition.value if isinstance(condition, Literal) else condition, op.attributes["error"], op)  # type: ignore[arg-type]

    def printed(self, plan: BlockPlan, op: Op) -> None:
        self.call(plan, op)

    # -- nests -----------------------------------------------------------------------------------------------------------------

    def node(self, plan: BlockPlan, type: TensorType, operands: list[tuple[Held, Any]]) -> Node:
        node = Node.of(type, operands)
        scalars = [*node.extents, *node.guards, *(s for held, _ in operands for s in held.scalars)]
        node.after = plan.scalar_ready(scalars)
        return node

    def apply(
        self,
        plan: BlockPlan,
        type: TensorType,
        name: str,
        lower: Callable[..., Any],
        operands: Sequence[Held],
        attributes: Any = {},
    ) -> Held:
        """An elementwise computation on broadcast operands."""

        def make(item: Any, embedding: tuple[int, ...], terms: list[Term]) -> Term:
            axes = frozenset().union(*(t.axes for t in terms))
            return Apply(type.dtype, axes, name, lower, tuple(terms), attributes)

        pairs = [(held, operand_axes(held.type, type)) for held in operands]
        if all(self._repeatable(held) for held in operands) and (name == "cast" or name in REPEATED and len(kept_axes(type)) < 2):
            return self._recipe(plan, type, pairs, make)
        return plan.compute(type, self.node(plan, type, pairs), make)

    def _repeatable(self, held: Held) -> bool:
        """Whether an operand can be had again at any later place: a number, a formula, or memory that nothing writes."""
        if held.formula is not None:
            return held.repeats < MOST_REPEATED
        return held.term is None and held.view is not None and held.view.buffer in self.unwritten

    def _recipe(self, plan: BlockPlan, type: TensorType, pairs: list[tuple[Held, Any]], make: Callable[..., Term]) -> Held:
        """A cheap computation from memory that every nest repeats, instead of one that stores it for the others to load."""
        kept = kept_axes(type)

        def formula(item: NestItem, mapping: Any) -> Term:
            terms = []
            for operand, axes in pairs:
                own = dict(zip(kept, axes, strict=True))
                terms.append(again(operand, item, tuple(None if a is None else own.get(a) for a in mapping)))
            for term in item.nest.terms:
                if isinstance(term, Apply) and term.recipe is made and all(a is b for a, b in zip(term.arguments, terms, strict=True)):
                    return term
            term = make(item, (), terms)
            assert isinstance(term, Apply)
            term.recipe = made
            item.nest.terms.append(term)
            return term

        scalars = [*type.valid, *(s for held, _ in pairs for s in held.scalars)]
        for held, _ in pairs:
            if held.view is not None:
                scalars += [held.view.offset, *held.view.strides]
        made = Held(type, plan, formula=formula, scalars=tuple(scalars))
        made.repeats = 1 + max(held.repeats for held, _ in pairs)
        return made

    def elementwise(self, plan: BlockPlan, op: Op, row: Operation) -> bool:
        (result,) = op.results
        assert isinstance(result, Value)
        if not callable(row.lower) or not op.operands or result.type.dtype not in NATIVE:
            return False
        first = next((o.type.dtype for o in op.operands if isinstance(o, (Value, Storage))), result.type.dtype)
        operands = [self.operand(plan, o, first) for o in op.operands]
        if any(held.type.dtype not in NATIVE for held in operands):
            return False
        return self.hold(result, self.apply(plan, result.type, op.name, row.lower, operands, op.attributes))

    def reduction(self, plan: BlockPlan, op: Op, row: Operation) -> bool:
        (result,) = op.results
        assert isinstance(result, Value)
        operand = self.operand(plan, op.operands[0])
        if not isinstance(row.lower, Reduction) or operand.type.dtype not in NATIVE:
            return False
        combine, axis, kept = row.lower.combine, op.attributes["axis"], kept_axes(operand.type)
        if axis not in kept:
            return same(operand.type.valid[axis], 1) and self._reduce_nothing(plan, result, operand, combine)
        place = kept.index(axis)

        def make(item: Any, embedding: tuple[int, ...], terms: list[Term]) -> Term:
            return Reduce(result.type.dtype, terms[0].axes - {embedding[place]}, combine, terms[0])

        node = self.node(plan, operand.type, [(operand, kept)])
        node.reduces = place
        return self.hold(result, plan.compute(result.type, node, make))

    def _reduce_nothing(self, plan: BlockPlan, result: Value, operand: Held, combine: str) -> bool:
        """Reducing an axis of size 1: the element itself, or position 0."""
        if combine.startswith("arg"):
            return self.hold(result, self.constant(plan, result.type, 0))
        return self.hold(result, shapes.retyped(plan, operand, result.type))

    def creation(self, plan: BlockPlan, op: Op, row: Operation) -> bool:
        (result,) = op.results
        assert isinstance(result, Value)
        if result.type.dtype not in NATIVE:
            return False
        if op.name == "full":
            literal = op.operands[0]
            assert isinstance(literal, Literal)
            return self.hold(result, self.constant(plan, result.type, literal.value))
        if op.name == "arange":
            start, step = op.attributes["start"], op.attributes["step"]
            return self.hold(result, shapes.arange(plan, result.type, start, step))
        return False

    def movement(self, plan: BlockPlan, op: Op, row: Operation) -> bool:
        (result,) = op.results
        assert isinstance(result, Value)
        if op.name == "concat":
            return self.hold(result, self.concatenated(plan, op, result.type))
        mover = shapes.MOVERS.get(op.name)
        if mover is None:
            return False
        moved = mover(plan, self.operand(plan, op.operands[0]), result.type, op.attributes)
        return moved is not None and self.hold(result, moved)

    def concatenated(self, plan: BlockPlan, op: Op, type: TensorType) -> Held:
        """Each part is stored into its region of one buffer, by the nest that makes it where possible."""
        view = whole(self.buffer(type), type)
        axis, start, ready = op.attributes["axis"], 0, -1
        for operand in op.operands:
            held = self.operand(plan, operand)
            offsets = tuple(start if a == axis else 0 for a in range(type.rank))
            ready = max(ready, plan.store(held, view.slice(offsets, held.type.shape, held.type.valid)))
            start = add(start, held.type.shape[axis])
        return Held(type, plan, ready, view)

    def scan(self, plan: BlockPlan, op: Op, row: Operation) -> bool:
        operand = self.operand(plan, op.operands[0])
        if op.result.type.dtype not in NATIVE or operand.type.dtype not in NATIVE:
            return False
        if op.name == "cumsum":
            return self._running_sum(plan, op, operand)
        if op.name not in ("tril", "triu"):
            return False
        return self.hold(op.result, shapes.triangle(plan, operand, op.name, op.attributes["diagonal"]))

    def _running_sum(self, plan: BlockPlan, op: Op, operand: Held) -> bool:
        type, axis = op.result.type, op.attributes["axis"]
        if operand.type.dtype is not type.dtype:
            operand = self.apply(plan, type, "cast", lambda b, x: b.convert(x, type.dtype), [operand])
        kept = kept_axes(type)
        if axis not in kept:
            return self.hold(op.result, operand)
        node = self.node(plan, type, [(operand, kept)])
        node.reduces = kept.index(axis)

        def make(item: NestItem, embedding: tuple[int, ...], terms: list[Term]) -> Term:
            return Scan(type.dtype, terms[0].axes | {embedding[kept.index(axis)]}, terms[0])

        return self.hold(op.result, plan.compute(type, node, make, keeps=True))

    def indexing(self, plan: BlockPlan, op: Op, row: Operation) -> bool:
        native = indexing.NATIVE.get(op.name)
        dtypes = {o.type.dtype for o in op.operands if isinstance(o, (Value, Storage))}
        if native is None or not dtypes <= NATIVE:
            return False
        operands = [self.operand(plan, o) for o in op.operands]
        return self.hold(op.result, native(plan, op, operands))

    # -- matmul ----------------------------------------------------------------------------------------------------------------

    def matmul(self, plan: BlockPlan, op: Op, row: Operation) -> bool:
        result = op.result
        attributes = op.attributes
        a, b = (self.operand(plan, o) for o in op.operands[:2])
        kind = MATMUL_KINDS.get(a.type.dtype)
        scaled = attributes.get("scale") or attributes.get("scale_tensor") or attributes.get("trans_mode", "none") != "none"
        if kind is None or b.type.dtype is not a.type.dtype or scaled:
            return False
        sums = _D.DT_INT32 if kind == "i8" else _D.DT_FP32
        batch = result.type.shape[:-2]
        left = shapes.matrix(plan, a, bool(attributes.get("a_trans")), batch, result.type.valid[:-2])
        right = shapes.matrix(plan, b, bool(attributes.get("b_trans")), batch, result.type.valid[:-2])
        type = result.type.with_(dtype=sums, shape=result.type.shape, valid=result.type.valid)
        view = whole(self.buffer(type), type)
        index = plan.append(MatmulItem(kind, left, right, view))
        held = Held(type, plan, index, view)
        return self.hold(result, self._finished(plan, op, held, result.type))

    def _finished(self, plan: BlockPlan, op: Op, held: Held, type: TensorType) -> Held:
        """Bias, ReLU and conversion of a product."""
        if op.attributes.get("bias"):
            bias = self.operand(plan, op.operands[2])
            sums = held.type.dtype
            held = self.apply(plan, held.type, "add", lambda b, x, y: b.add(x, b.convert(y, sums)), [held, bias])
        if op.attributes.get("relu"):
            lower = lambda b, x: b.select(b.compare("le", x, b.constant(0)), b.constant(0), x)  # noqa: E731
            held = self.apply(plan, held.type, "relu", lower, [held])
        if type.dtype is not held.type.dtype:
            held = self.apply(plan, type, "cast", lambda b, x: x, [held])
        return held

    # -- call-backs ------------------------------------------------------------------------------------------------------------

    def call(self, plan: BlockPlan, op: Op) -> None:
        """Hand an operation to the reference."""
        scalars: list[Expression] = []
        slotted = lambda thing: _slotted(thing, scalars)  # noqa: E731
        described: list[tuple[Any, ...]] = []
        views: list[View | None] = []
        for operand in op.operands:
            if isinstance(operand, (Value, Storage)):
                held = self.operand(plan, operand)
                views.append(plan.memory(held))
                described.append(("view", held.type.dtype))
            else:
                number = operand.value if isinstance(operand, Literal) else operand
                views.append(None)
                described.append(("scalar", slotted(number), operand.dtype if isinstance(operand, Literal) else None))
        results = []
        for value in op.results:
            assert isinstance(value, Value), value
            results.append(whole(self.buffer(value.type), value.type))
        number = len(self.calls)
        attributes = {key: slotted(thing) for key, thing in op.attributes.items() if key not in PASS_FACTS}
        self.calls.append(Call(op.name, tuple(described), attributes, tuple(v.dtype for v in results), op.span))
        index = plan.append(CallItem(number, op.name, tuple(views), tuple(results), tuple(scalars)))
        for value, view in zip(op.results, results, strict=True):
            assert isinstance(value, Value)
            self.held[value] = Held(value.type, plan, index, view)

    # -- control ---------------------------------------------------------------------------------------------------------------

    def loop(self, plan: BlockPlan, loop: Loop) -> None:
        body = BlockPlan(self, plan)
        symbols: list[tuple[Symbol, Scalar, Scalar, Symbol]] = []
        places: list[View | None] = []
        for carried, following in zip(loop.carried, loop.body.yields, strict=True):
            if isinstance(carried.argument, Symbol):
                assert isinstance(carried.result, Symbol)
                symbols.append((carried.argument, _number(carried.initial), _number(following), carried.result))
                places.append(None)
                continue
            view = whole(self.buffer(carried.argument.type, carried.argument.hint), carried.argument.type)
            initial = self.operand(plan, carried.initial)
            self.check_same_extents(plan, carried.argument.type, initial, loop.span)
            plan.store(initial, view)
            self.held[carried.argument] = Held(carried.argument.type, body, -1, view)
            places.append(view)
        self.statements(body, loop.body)
        self._yields(body, loop, places)
        index = plan.append(LoopItem(loop, body.items, symbols))
        for carried, place in zip(loop.carried, places, strict=True):
            if place is None:
                plan.symbols[carried.result] = index  # type: ignore[index]
            else:
                type = carried.result.type  # type: ignore[union-attr]
                self.held[carried.result] = Held(type, plan, index, whole(place.buffer, type))  # type: ignore[index]

    def _yields(self, body: BlockPlan, loop: Loop, places: Sequence[View | None]) -> None:
        """Write the next values of carried tensors. All are read before any is written."""
        carried = {place.buffer for place in places if place is not None}
        ready: list[tuple[Held, View]] = []
        for operand, place, carried_one in zip(loop.body.yields, places, loop.carried, strict=True):
            if place is None:
                continue
            type, span = carried_one.argument.type, loop.span  # type: ignore[union-attr]
            held = self.operand(body, operand)
            self.check_same_extents(body, type, held, span)
            view = held.view
            if view is not None and held.term is None and view.buffer in carried:
                if view.buffer is place.buffer and same(view.offset, 0) and view.strides == place.strides:
                    continue  # unchanged
                held = self.copied(body, held)
            ready.append((held, place))
        for held, place in ready:
            body.store(held, place)

    def branch(self, plan: BlockPlan, branch: If) -> None:
        if is_choice(branch):
            self._choice(plan, branch)
        else:
            self._branch(plan, branch)

    def _choice(self, plan: BlockPlan, branch: If) -> None:
        """Both arms computed, one chosen element by element: stays inside the nest that uses it."""
        self.statements(plan, branch.then)
        self.statements(plan, branch.orelse)
        condition = self.constant(plan, TensorType(_D.DT_BOOL, ()), branch.condition)
        for result, a, b in zip(branch.results, branch.then.yields, branch.orelse.yields, strict=True):
            assert isinstance(result, Value)
            operands = [condition, self.operand(plan, a), self.operand(plan, b)]
            self.hold(result, self.apply(plan, result.type, "where", lambda v, c, x, y: v.select(c, x, y), operands))

    def _branch(self, plan: BlockPlan, branch: If) -> None:
        places = [None if isinstance(r, Symbol) else whole(self.buffer(r.type, r.hint), r.type) for r in branch.results]
        schedules: list[list[Item]] = []
        for block in (branch.then, branch.orelse):
            inner = BlockPlan(self, plan)
            self.statements(inner, block)
            for operand, place, result in zip(block.yields, places, branch.results, strict=True):
                if place is not None:
                    held = self.operand(inner, operand)
                    self.check_same_extents(inner, result.type, held, branch.span)  # type: ignore[union-attr]
                    inner.store(held, place)
            schedules.append(inner.items)
        symbols = [
            (r, _number(a), _number(b))
            for r, a, b in zip(branch.results, branch.then.yields, branch.orelse.yields, strict=True)
            if isinstance(r, Symbol)
        ]
        index = plan.append(IfItem(branch, *schedules, symbols))
        for result, place in zip(branch.results, places, strict=True):
            if isinstance(result, Symbol):
                plan.symbols[result] = index
            else:
                assert place is not None
                self.held[result] = Held(result.type, plan, index, place)


CHOICE_COST = 12  # instructions a vector that computing both arms may add


def is_choice(branch: If) -> bool:
    """Whether both arms are a little elementwise arithmetic on tensors of one type, so that computing both costs less than a copy."""
    if not branch.results or any(isinstance(r, Symbol) for r in branch.results) or not isinstance(branch.condition, Expression):
        return False
    cost = 0
    for block in (branch.then, branch.orelse):
        for statement in block.statements:
            if not isinstance(statement, Op) or not _is_light(statement):
                return False
            cost += 1 if statement.name == "full" else cost_of_name(statement.name, statement.result.type.dtype)
        if any(not isinstance(y, Value) or y.type != r.type for y, r in zip(block.yields, branch.results, strict=True)):
            return False
    return cost <= CHOICE_COST


def _is_light(op: Op) -> bool:
    row = OPERATIONS.get(op.name)
    if row is None or not all(isinstance(o, (Value, Literal)) for o in op.operands) or len(op.results) != 1:
        return False
    types = [op.result.type, *(o.type for o in op.operands if isinstance(o, Value))]
    return all(t.dtype in NATIVE for t in types) and (
        op.name in ("full", "tril", "triu") or (row.kind is Kind.ELEMENTWISE and callable(row.lower))
    )


def _written(program: Program) -> set[Storage]:
    """Storages that some statement writes."""
    written = set()
    for statement in walk(program.body):
        if isinstance(statement, Op) and statement.name in ("store", "accumulate", "write"):
            target = statement.operands[0]
            assert isinstance(target, Storage)
            written.add(target.root)
    return written


def _number(operand: Any) -> Scalar:
    return operand.value if isinstance(operand, Literal) else operand


def _slotted(thing: Any, scalars: list[Expression]) -> Any:
    """``thing`` with run-time numbers replaced by ``ScalarSlot``; the numbers are collected in ``scalars``."""
    if isinstance(thing, Expression):
        found = next((i for i, s in enumerate(scalars) if s is thing), None)
        if found is None:
            found = len(scalars)
            scalars.append(thing)
        return ScalarSlot(found)
    if isinstance(thing, (tuple, list)):
        return type(thing)(_slotted(x, scalars) for x in thing)
    if isinstance(thing, dict):
        return {k: _slotted(v, scalars) for k, v in thing.items()}
    return thing


_STORAGE_OPS: dict[str, Callable[[Planner, BlockPlan, Op], None]] = {
    "allocate": Planner.allocate,
    "alias": Planner.alias,
    "load": Planner.load,
    "store": Planner.store,
    "accumulate": Planner.accumulate,
    "read": Planner.read,
    "write": Planner.write,
    "check": Planner.checked,
    "print": Planner.printed,
}
_BY_KIND: dict[Kind, Callable[[Planner, BlockPlan, Op, Operation], bool]] = {
    Kind.ELEMENTWISE: Planner.elementwise,
    Kind.REDUCTION: Planner.reduction,
    Kind.CREATION: Planner.creation,
    Kind.MOVEMENT: Planner.movement,
    Kind.MATMUL: Planner.matmul,
    Kind.SCAN: Planner.scan,
    Kind.INDEXING: Planner.indexing,
}
__all__ = ["Constant", "Planner", "extents_of", "mul"]
