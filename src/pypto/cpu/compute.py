"""Computations: what becomes a term of a nest, a product, or an item of its own.

Cheap elementwise ops on memory that nothing writes become formulas (*recipes*): every nest repeats them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pypto.cpu import indexing, missing, shapes
from pypto.cpu.fuse import BlockPlan, again
from pypto.cpu.hold import Held, kept_axes, operand_axes
from pypto.cpu.items import MatmulItem, NestItem, TopkItem
from pypto.cpu.nests import Apply, Reduce, Scan, Term
from pypto.cpu.storages import StoragePlan
from pypto.cpu.views import same, whole
from pypto.dtypes import DataType
from pypto.ir.program import Literal, Op, Storage, TensorType, Value
from pypto.ir.symbols import Scalar, add
from pypto.ops.matmul import truncated_scale
from pypto.ops.table import OPERATIONS, Operation, Reduction

_D = DataType
NATIVE = frozenset(
    {_D.DT_FP32, _D.DT_DOUBLE, _D.DT_BF16, _D.DT_FP16, _D.DT_BOOL, _D.DT_FP8E4M3, _D.DT_FP8E5M2, _D.DT_FP8E8M0}
    | {d for d in _D if d.is_integer and d.bits >= 8}
)
# Cheap enough to be computed again in every nest that needs them, up to so many in a row.
REPEATED = frozenset({"add", "sub", "mul"})
MOST_REPEATED = 3
EIGHT_BIT_FLOATS = frozenset({_D.DT_FP8E4M3, _D.DT_FP8E5M2})
MATMUL_KINDS = {_D.DT_FP32: "f32", _D.DT_BF16: "bf16", _D.DT_FP16: "f16", _D.DT_INT8: "i8"}


class ComputePlan(StoragePlan):
    def apply(
        self,
        plan: BlockPlan,
        type: TensorType,
        name: str,
        lower: Callable[..., Any],
        operands: Sequence[Held],
        attributes: Mapping[str, Any] | None = None,
    ) -> Held:
        """An elementwise computation on broadcast operands."""

        def make(item: Any, embedding: tuple[int, ...], terms: list[Term]) -> Term:
            axes = frozenset().union(*(t.axes for t in terms))
            return Apply(type.dtype, axes, name, lower, tuple(terms), attributes or {})

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
                if (
                    isinstance(term, Apply)
                    and term.recipe is made
                    and all(a is b for a, b in zip(term.arguments, terms, strict=True))
                ):
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

    def accumulate(self, plan: BlockPlan, op: Op) -> None:
        storage, value = op.operands
        offsets = op.attributes["offsets"]
        held = self.stored_value(plan, storage, value, offsets)
        self.check_region(plan, "write", storage, offsets, held.type.valid, op)
        missing.demand(self, plan, op, offsets, held.type)
        view = self.storages[storage].slice(offsets, held.type.shape, held.type.valid)  # type: ignore[index]
        before = Held(held.type, plan, self.ready(plan, view), view)
        plan.store(self.apply(plan, held.type, "add", OPERATIONS["add"].lower, [before, held]), view)

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
        axis, ready = op.attributes["axis"], -1
        start: Scalar = 0
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

    def sort(self, plan: BlockPlan, op: Op, row: Operation) -> bool:
        operand = self.operand(plan, op.operands[0])
        if op.name != "topk" or operand.type.dtype not in NATIVE:
            return False
        values, places = (r for r in op.results if isinstance(r, Value))
        views = [whole(self.buffer(r.type), r.type) for r in (values, places)]
        item = TopkItem(plan.memory(operand), views[0], views[1], op.attributes["k"], op.attributes["largest"])
        index = plan.append(item)
        for value, view in zip((values, places), views, strict=True):
            self.hold(value, Held(value.type, plan, index, view))
        return True

    # -- matmul -------------------------------------------------------------------------------------------------------------------

    def matmul(self, plan: BlockPlan, op: Op, row: Operation) -> bool:
        result = op.result
        attributes = op.attributes
        a, b = (self.operand(plan, o) for o in op.operands[:2])
        if attributes.get("trans_mode", "none") != "none":
            return False
        if {a.type.dtype, b.type.dtype} <= EIGHT_BIT_FLOATS:  # bf16 holds their numbers, and the products are exact in fp32
            a, b = (
                self.apply(plan, h.type.with_(dtype=_D.DT_BF16, valid=h.type.valid), "cast", lambda v, x: x, [h]) for h in (a, b)
            )
        kind = MATMUL_KINDS.get(a.type.dtype)
        if kind is None or b.type.dtype is not a.type.dtype:
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
        """Bias, scale, ReLU and conversion of a product, in that order."""
        if op.attributes.get("bias"):
            bias = self.operand(plan, op.operands[2])
            sums = held.type.dtype
            held = self.apply(plan, held.type, "add", lambda b, x, y: b.add(x, b.convert(y, sums)), [held, bias])
        if op.attributes.get("scale") or op.attributes.get("scale_tensor"):
            held = self._scaled(plan, op, held)
        if op.attributes.get("relu"):
            lower = lambda b, x: b.select(b.compare("le", x, b.constant(0)), b.constant(0), x)  # noqa: E731
            held = self.apply(plan, held.type, "relu", lower, [held])
        if type.dtype is _D.DT_INT8:
            cast = OPERATIONS["cast"].lower
            return self.apply(plan, type, "cast", cast, [held], {"dtype": type.dtype, "mode": "rint", "saturate": True})
        if type.dtype is not held.type.dtype:
            held = self.apply(plan, type, "cast", lambda b, x: x, [held])
        return held

    def _scaled(self, plan: BlockPlan, op: Op, held: Held) -> Held:
        """Times a number, or times one number per column: FP32 in the low halves of 64-bit words."""
        type = held.type.with_(dtype=_D.DT_FP32, valid=held.type.valid)
        scale = op.attributes.get("scale")
        if scale:
            factor = self.constant(plan, TensorType(_D.DT_FP32, ()), truncated_scale(scale))
            return self.apply(plan, type, "scale", lambda b, x, y: b.mul(b.convert(x, _D.DT_FP32), y), [held, factor])

        def lower(b: Any, x: Any, words: Any) -> Any:
            return b.mul(b.convert(x, _D.DT_FP32), b.from_bits(b.convert(words, _D.DT_INT32)))

        return self.apply(plan, type, "scale", lower, [held, self.operand(plan, op.operands[-1])])
