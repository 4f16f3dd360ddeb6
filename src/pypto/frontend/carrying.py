"""The body of a device loop: what it carries from iteration to iteration, and what it leaves behind.

A name is carried when an iteration may read what an earlier one bound, or when it is read after the loop (``names.Flow``). Its value
is a tensor, a number, or a list, tuple or dict of those; inside the body it is an argument of the loop, afterwards a result. What does
not fit from one iteration to the next is an error naming both; two things are tried again instead: a valid shape that
changes becomes carried too, and an int that becomes a float is a float from the start (``Tracer.want``).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pypto.dtypes import DataType
from pypto.errors.frontend import AmbiguousWrite, CarriedChanges, ConflictedVariable, MaybeUnbound
from pypto.frontend.containers import watched
from pypto.frontend.control import DeviceRange, trip_count
from pypto.frontend.frames import MISSING, Deferred, Frame, Poison, is_poison
from pypto.frontend.interpret import Interpreter
from pypto.frontend.names import binding_line, bound_names, stored_names
from pypto.frontend.symbolic import SymbolicScalar, scalar_of
from pypto.frontend.tensor import Tensor
from pypto.frontend.trace import OpenLoop
from pypto.frontend.values import (
    collapse,
    converted,
    describe,
    fits,
    is_number,
    leaves,
    rebuilt,
    same_static,
    same_structure,
    wider_kind,
    write_into,
)
from pypto.ir import symbols as ir
from pypto.ir.program import Block, Carried, Loop, Operand, Statement, TensorType, Value
from pypto.ir.symbols import Scalar, Symbol
from pypto.ops.table import OPERATIONS
from pypto.options import scopes as options

if TYPE_CHECKING:
    from pypto.frontend.loops import Segment


@dataclass
class Leaf:
    """One carried tensor or number: a part of the value of a name."""

    name: str
    path: tuple[Any, ...]
    initial: Operand
    argument: Value | Symbol
    handle: Any  # what the body sees
    axes: dict[int, tuple[Scalar, Symbol]] = field(default_factory=dict)  # carried valid extents: initial and argument


class Body:
    """The tracing of one device loop."""

    def __init__(
        self, interpreter: Interpreter, frame: Frame, node: ast.For, loop: DeviceRange, segment: Segment, targets: list[str]
    ) -> None:
        self.interpreter = interpreter
        self.tracer = interpreter.tracer
        self.frame = frame
        self.node = node
        self.loop = loop
        self.segment = segment
        self.targets = targets
        self.tracer.loops_opened += 1
        self.number = self.tracer.loops_opened
        self.bound = bound_names(node.body)
        self.before = dict(frame.locals)
        self.stored = [name for name in stored_names(node.body) if type(self.before.get(name)) in (list, dict)]
        self.leaves: dict[tuple[str, tuple[Any, ...]], Leaf] = {}
        self.statements: list[Statement] = []
        self.carried: list[Carried] = []
        self.yields: list[Operand] = []
        trips = loop.trips
        self.ran = ir.compare("gt", trips, 0)
        self.span = self.tracer.span

    def trace(self) -> None:
        """Trace the body, append the ``Loop``, bind its results."""
        self.settle()
        names = [name for name in self.carried_names() if name not in self.targets]
        entries = {name: self.enter(name) for name in names}
        index = self.index()
        opened = self.opened(index)
        self.tracer.loops.append(opened)
        self.tracer.branch_depth += 1
        try:
            where = f"the loop at line {self.node.lineno}"
            with watched(self.frame, where), options.scope("loop"), self.tracer.block(self.statements):
                self.make_handles(entries)
                self.run(index)
                results = self.leave(names)
                later = self.results_only(names)
        finally:
            self.tracer.branch_depth -= 1
            self.tracer.loops.remove(opened)
        self.append(index)
        self.rebind({**results, **later})

    # -- before ------------------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """A name that an earlier loop may not have bound is checked now when the body goes on with it."""
        live = self.frame.code.flow.live_into(self.node)
        for name in self.bound:
            value = self.before.get(name, MISSING)
            if name in live and isinstance(value, Deferred):
                self.before[name] = self.frame.locals[name] = value.resolve(self.tracer)

    def carried_names(self) -> list[str]:
        """Names an iteration may read before it binds them."""
        live = self.frame.code.flow.live_into(self.node)
        found = [name for name in (*self.bound, *self.stored) if name in live and name in self.before]
        return [name for name in found if not is_poison(self.before[name]) and self.carriable(self.before[name])]

    @staticmethod
    def carriable(value: Any) -> bool:
        return any(isinstance(leaf, Tensor) or is_number(leaf) for _, leaf in leaves(value))

    def enter(self, name: str) -> Any:
        """Make the arguments of a name's leaves; the loads of their initial values stand before the loop."""
        for path, leaf in leaves(self.before[name]):
            if isinstance(leaf, Tensor):
                self.leaves[name, path] = self.enter_tensor(name, path, leaf)
            elif is_number(leaf):
                self.leaves[name, path] = self.enter_number(name, path, leaf)
        return self.before[name]

    def enter_number(self, name: str, path: tuple[Any, ...], leaf: Any) -> Leaf:
        initial = scalar_of(leaf)
        assert initial is not None
        kind = self.tracer.hints.get(("kind", self.number, name, path), ir.kind_of(initial))
        symbol = Symbol(name, kind)
        return Leaf(name, path, converted(initial, kind), symbol, SymbolicScalar(symbol))

    def enter_tensor(self, name: str, path: tuple[Any, ...], leaf: Tensor) -> Leaf:
        value = self.tracer.value_of(leaf)
        valid, axes = list(value.type.valid), {}
        for axis in sorted(self.tracer.hints.get(("valid", self.number, name, path), ())):
            symbol = Symbol(f"{name}_valid{axis}", "int", 0, ir.bounds_of(value.type.shape[axis])[1])
            axes[axis] = (valid[axis], symbol)
            valid[axis] = symbol
        argument = Value(value.type.with_(valid=tuple(valid)), name)
        return Leaf(name, path, value, argument, leaf, axes)

    def index(self) -> Symbol:
        """The index symbol, with the bounds that the range gives it."""
        segment, name = self.segment, self.targets[0]
        label = f"loop_idx_{self.loop.idx_name}" if self.loop.idx_name else name
        low, high = ir.bounds_of(segment.start)[0], ir.bounds_of(segment.stop)[1] - 1
        if isinstance(segment.step, int) and segment.step < 0:
            low, high = ir.bounds_of(segment.stop)[0] + 1, ir.bounds_of(segment.start)[1]
        known = isinstance(segment.step, int) and low <= high
        return Symbol(label, "int", low, high) if known else Symbol(label)

    def opened(self, index: Symbol) -> OpenLoop:
        loop, depth = self.loop, len(self.tracer.blocks)
        return OpenLoop(
            index,
            loop.start,
            loop.stop,
            loop.step,
            self.segment.factor,
            loop.idx_name,
            loop.parallel,
            self.node.lineno,
            depth,
            self.number,
        )

    # -- inside ------------------------------------------------------------------------------------------------------------------

    def make_handles(self, entries: dict[str, Any]) -> None:
        """Bind the carried names to the loop's arguments."""
        for name, value in entries.items():
            self.frame.locals[name] = rebuilt(value, lambda path, leaf, name=name: self.argument(name, path, leaf))

    def argument(self, name: str, path: tuple[Any, ...], leaf: Any) -> Any:
        found = self.leaves.get((name, path))
        if found is None:
            return leaf
        if isinstance(found.argument, Value):
            original = found.handle
            found.handle = self.tracer.handle(found.argument)
            if original._storage is not None and original._storage.root.role == "parameter":
                found.handle._frozen = lambda: AmbiguousWrite(why=f"the loop binds '{name}' anew, so it may be another tensor")
        return found.handle

    def run(self, index: Symbol) -> None:
        self.frame.locals[self.targets[0]] = SymbolicScalar(index)
        if len(self.targets) == 2:
            self.frame.locals[self.targets[1]] = self.segment.factor
        self.interpreter.run(self.frame, self.node.body)

    def leave(self, names: list[str]) -> dict[str, Any]:
        """Yield the final values of the carried names; gives what the names hold after the loop."""
        results = {}
        for name in names:
            before, after = self.before[name], self.frame.locals.get(name, MISSING)
            if is_poison(after):
                after.resolve(self.tracer)
            if after is MISSING or not same_structure(before, after):
                self.changes(name, before, None if after is MISSING else after)
            final = dict(leaves(after))
            results[name] = rebuilt(before, lambda path, leaf, name=name, final=final: self.result(name, path, leaf, final[path]))
        return results

    def result(self, name: str, path: tuple[Any, ...], before: Any, after: Any) -> Any:
        leaf = self.leaves.get((name, path))
        if leaf is None:
            if not same_static(before, after):
                self.changes(name, before, after)
            return before
        if isinstance(leaf.argument, Symbol):
            return self.number_result(leaf, before, after)
        return self.tensor_result(leaf, before, after)

    def number_result(self, leaf: Leaf, before: Any, after: Any) -> Any:
        if not is_number(after):
            self.changes(leaf.name, before, after)
        scalar, kind = scalar_of(after), leaf.argument.kind  # type: ignore[union-attr]
        assert scalar is not None
        wider = wider_kind(kind, ir.kind_of(scalar))
        if wider != kind:
            self.tracer.want(("kind", self.number, leaf.name, leaf.path), wider)
        return SymbolicScalar(self.carry(leaf.argument, leaf.initial, converted(scalar, kind)))

    def tensor_result(self, leaf: Leaf, before: Any, after: Any) -> Any:
        argument = leaf.argument
        assert isinstance(argument, Value)
        if not isinstance(after, Tensor):
            self.changes(leaf.name, before, after)
        value = self.tracer.value_of(after)
        if (value.type.dtype, value.type.shape) != (argument.type.dtype, argument.type.shape):
            self.changes(leaf.name, leaf.handle, after)
        self.compare_valid(leaf, value)
        valid = list(argument.type.valid)
        for axis, (initial, symbol) in leaf.axes.items():
            valid[axis] = self.carry(symbol, initial, value.type.valid[axis])  # type: ignore[call-overload]
        result = Value(argument.type.with_(valid=tuple(valid)), leaf.name)
        return self.carry(argument, leaf.initial, value, result)

    def compare_valid(self, leaf: Leaf, value: Value) -> None:
        """A valid extent that changes over the iterations is carried: ask for another attempt that knows."""
        from pypto.ir.simplify_symbols import simplify

        pairs = enumerate(zip(leaf.argument.type.valid, value.type.valid, strict=True))  # type: ignore[union-attr]
        different = {axis for axis, (a, b) in pairs if axis not in leaf.axes and simplify(a) != simplify(b)}
        if different:
            key = ("valid", self.number, leaf.name, leaf.path)
            self.tracer.want(key, frozenset(different | set(leaf.axes)))

    def carry(self, argument: Any, initial: Operand, final: Operand, result: Any = None) -> Any:
        """Add a carried binding; gives its result."""
        if result is None:
            result = Symbol(argument.name, argument.kind, *argument.bounds)
        self.carried.append(Carried(argument, initial, result))
        self.yields.append(final)
        return result

    def changes(self, name: str, before: Any, after: Any) -> None:
        for statement in self.node.body:
            for inner in ast.walk(statement):
                if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Store):
                    self.frame.node = inner
        advice = "use the same type before the loop and in it"
        raise CarriedChanges(name=name, first=describe(before), second=describe(after), advice=advice)

    # -- names that are only read after the loop -----------------------------------------------------------------------------------

    def results_only(self, carried: list[str]) -> dict[str, Any]:
        """Names that every iteration binds anew and that are read after the loop."""
        live = self.frame.code.flow.live_after(self.node)
        results = {}
        for name in self.bound:
            if name in carried or (name in self.targets and name not in bound_names(self.node.body)):
                continue
            before, after = self.before.get(name, MISSING), self.frame.locals.get(name, MISSING)
            if after is before:
                results[name] = before
            elif name not in live or is_poison(after) or after is MISSING:
                results[name] = self.unusable(name)
            else:
                results[name] = self.last_value(name, before, after)
        return results

    def unusable(self, name: str) -> Poison:
        line = binding_line(self.node.body, name) or self.node.lineno
        return Poison(MaybeUnbound, name=name, line=line, when="inside the loop", other=self.node.lineno)

    def last_value(self, name: str, before: Any, after: Any) -> Any:
        """What the last iteration bound; what the name held before when there was none.

        A name that no loop has bound for certain is ``Deferred``; chunks of one ``loop_unroll`` follow each other (``origin``).
        """
        held, condition = before, self.ran
        if isinstance(before, Deferred):
            held, chained = before.value, before.origin is self.node
            condition = before.condition if chained else ir.logical_or(before.condition, self.ran)
        ran = ir.compare("gt", trip_count(self.segment.start, self.segment.stop, self.segment.step), 0)
        kept = held is not MISSING and not is_poison(held) and ran is not True
        if kept and not (same_structure(held, after) and self.all_fit(held, after)):
            facts = {"first": describe(held), "second": describe(after)}
            return Poison(ConflictedVariable, name=name, line=self.node.lineno, **facts)
        initial = dict(leaves(held)) if kept else {}
        value = rebuilt(after, lambda path, leaf: self.last_leaf(name, initial.get(path, MISSING), leaf))
        if condition is True or ran is True or (kept and held is before):
            return value
        line = binding_line(self.node.body, name) or self.node.lineno
        return Deferred.after_loop(value, condition, self.node, name, line)

    def all_fit(self, before: Any, after: Any) -> bool:
        others = dict(leaves(after))
        return all(fits(leaf, others[path]) for path, leaf in leaves(before))

    def last_leaf(self, name: str, before: Any, after: Any) -> Any:
        if isinstance(after, Tensor):
            return self.last_tensor(name, before, after)
        if not is_number(after) or same_static(before, after):
            return after
        final = scalar_of(after)
        if before is MISSING and not isinstance(final, ir.Expression):
            return after
        assert final is not None
        kind = ir.kind_of(final)
        initial = converted(0 if before is MISSING else scalar_of(before), kind)  # type: ignore[arg-type]
        return SymbolicScalar(self.carry(Symbol(name, kind), initial, final))

    def last_tensor(self, name: str, before: Any, after: Tensor) -> Any:
        value = self.tracer.value_of(after)
        with self.outside():
            initial = self.tracer.value_of(before) if before is not MISSING else self.blank(value.type)
        inside, after_loop = list(value.type.valid), list(value.type.valid)
        for axis, (a, b) in enumerate(zip(initial.type.valid, value.type.valid, strict=True)):
            if a is not b and not (ir.is_constant(a) and a == b):
                inside[axis] = symbol = Symbol(f"{name}_valid{axis}", "int", 0)
                after_loop[axis] = self.carry(symbol, a, b)
        argument = Value(value.type.with_(valid=tuple(inside)), name)
        return self.carry(argument, initial, value, Value(value.type.with_(valid=tuple(after_loop)), name))

    def outside(self) -> Any:
        """Append to the block around the loop, before it."""
        return self.tracer.at_block(self.tracer.blocks[-2])

    def blank(self, type: TensorType) -> Value:
        """A value for a name that has none before the loop; never observed, since using the name checks that the loop ran."""
        zero: Any = False if type.dtype is DataType.DT_BOOL else 0.0 if type.dtype.is_float else 0
        made = OPERATIONS["full"].function([SymbolicScalar(size) for size in type.shape], zero, type.dtype)
        return self.tracer.value_of(made)

    # -- after -------------------------------------------------------------------------------------------------------------------

    def append(self, index: Symbol) -> None:
        segment, loop = self.segment, self.loop
        self.tracer.append(
            Loop(
                index,
                segment.start,
                segment.stop,
                segment.step,
                Block(tuple(self.statements), tuple(self.yields)),
                tuple(self.carried),
                loop.name or f"loop_{self.number}",
                loop.parallel,
                unroll=loop.factors if loop.function == "loop" and loop.factors != (1,) else (),
                submit_before=loop.submit_before,
                span=self.span,
            )
        )

    def rebind(self, results: dict[str, Any]) -> None:
        """Names after the loop: those before it, with results bound to handles of the outer block."""
        self.frame.locals = dict(self.before)
        for name, value in results.items():
            outer = value.value if isinstance(value, Deferred) else value
            if not is_poison(outer):
                outer = rebuilt(outer, lambda path, leaf: self.outer(leaf))
            if name in self.stored:
                write_into(self.before[name], outer)
                continue
            if isinstance(value, Deferred):
                value.value = outer
                outer = value
            self.frame.restore(name, outer)

    def outer(self, leaf: Any) -> Any:
        return self.tracer.handle(leaf) if isinstance(leaf, Value) else collapse(leaf)
