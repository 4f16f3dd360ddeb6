"""Random programs: chains of elementwise ops, reductions, movement, stores and loops, compiled against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import agree, random_array

import pypto.ops  # noqa: F401  enters the rows
from pypto.dtypes import DataType
from pypto.ir.program import Block, Carried, Literal, Loop, TensorType, Value
from pypto.ir.symbols import Symbol, minimum
from pypto.ops.build import Builder

F32, BF16 = DataType.DT_FP32, DataType.DT_BF16
UNARY = ("neg", "abs", "relu", "floor", "sign")
BINARY = ("add", "sub", "mul", "maximum", "minimum")


class Maker:
    """Draws statements; keeps the values made so far and the storages that may be written."""

    def __init__(self, data: Any, dtype: DataType) -> None:
        self.data, self.dtype = data, dtype
        self.b = Builder("random")
        self.rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
        self.rank = data.draw(st.integers(1, 3))
        self.shape = tuple(data.draw(st.sampled_from([1, 2, 3, 5, 17, 40])) for _ in range(self.rank))
        self.arrays: list[np.ndarray] = []
        self.storages = [self.parameter() for _ in range(3)]
        self.count = self.b.scalar_parameter("n")

    def parameter(self) -> Any:
        storage = self.b.parameter(f"p{len(self.arrays)}", TensorType(self.dtype, self.shape))
        self.arrays.append(random_array(self.rng, self.shape, self.dtype.numpy))
        return storage

    def pick(self, things: Any) -> Any:
        return self.data.draw(st.sampled_from(list(things)))

    def statements(self, values: list[Value], number: int, depth: int = 0) -> None:
        for _ in range(number):
            self.statement(values, depth)

    def statement(self, values: list[Value], depth: int) -> None:
        kind = self.pick(["load", "unary", "binary", "binary", "scalar", "reduce", "move", "store", "slice", "loop"])
        v = self.pick(values)
        b = self.b
        if kind == "load":
            values.append(b.load(self.pick(self.storages)))
        elif kind == "unary":
            values.append(b.op(self.pick(UNARY), v))
        elif kind == "scalar":
            values.append(b.op(self.pick(BINARY), v, Literal(self.pick([0.5, -1.0, 2.0]), self.dtype)))
        elif kind == "binary":
            others = [w for w in values if broadcasts(v, w)]
            values.append(b.op(self.pick(BINARY), v, self.pick(others)))
        elif kind == "reduce":
            axis = self.pick(range(v.type.rank))
            values.append(b.op(self.pick(["sum", "amax", "amin"]), v, axis=axis, keepdim=True))
        elif kind == "move":
            values.append(self.moved(v))
        elif kind == "store":
            fitting = [w for w in values if fits(w, self.shape)]
            if fitting:
                b.store(self.pick(self.storages), self.pick(fitting))
        elif kind == "slice":
            self.sliced(values)
        elif kind == "loop" and depth < 2:
            self.loop(values, depth)

    def moved(self, v: Value) -> Value:
        if v.type.rank > 1 and self.data.draw(st.booleans()):
            axes = tuple(self.data.draw(st.permutations(range(v.type.rank))))
            return self.b.op("permute", v, axes=axes)
        if not v.type.is_full:
            return self.b.op("clone", v)
        return self.b.op("reshape", v, shape=tuple(reversed(v.type.shape)), valid=None)

    def sliced(self, values: list[Value]) -> None:
        """A load of a region that may reach past the edge, and a store of it somewhere else."""
        offsets = tuple(self.data.draw(st.integers(0, max(0, s - 1))) for s in self.shape)
        extent = tuple(self.data.draw(st.integers(1, s)) for s in self.shape)
        v = self.b.load(self.pick(self.storages), extent, offsets)
        values.append(v)
        if all(isinstance(e, int) for e in v.type.valid):
            start = tuple(self.data.draw(st.integers(0, s - int(e))) for s, e in zip(self.shape, v.type.valid, strict=True))
            self.b.store(self.pick(self.storages), self.b.op("mul", v, Literal(0.5, self.dtype)), start)

    def loop(self, values: list[Value], depth: int) -> None:
        trips = self.pick([0, 1, 3])
        start = self.pick(values)
        argument, result, index = Value(start.type), Value(start.type), Symbol("i")
        body: list[Any] = []
        inner = [*values, argument]
        with self.b.block(body):
            self.statements(inner, self.data.draw(st.integers(1, 4)), depth + 1)
        same = [w for w in inner if w.type == start.type]
        following = self.pick(same)
        carried = (Carried(argument, start, result),)
        self.b.append(Loop(index, 0, trips, 1, Block(tuple(body), (following,)), carried))
        values.append(result)


def broadcasts(v: Value, w: Value) -> bool:
    """Whether two values can be operands of one op without any run-time check."""
    if v.type.rank != w.type.rank:
        return False
    pairs = zip(v.type.shape, w.type.shape, strict=True)
    return all(isinstance(a, int) and isinstance(c, int) and (a == c or 1 in (a, c)) for a, c in pairs)


def fits(w: Value, shape: tuple[int, ...]) -> bool:
    return w.type.shape == shape


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.data(), st.sampled_from([F32, BF16]))
def test_random_programs(data, dtype):
    maker = Maker(data, dtype)
    values = [maker.b.load(s) for s in maker.storages]
    if data.draw(st.booleans()):
        valid = tuple(minimum(maker.count, s) for s in maker.shape)
        values.append(maker.b.load(maker.storages[0], valid=valid))
    maker.statements(values, data.draw(st.integers(2, 14)))
    for v in values[-3:]:
        if fits(v, maker.shape):
            maker.b.store(maker.storages[2], v)
    agree(maker.b.finish(), maker.arrays, [data.draw(st.integers(0, 45))], ulps=64, relative=1e-4, absolute=1e-3)
