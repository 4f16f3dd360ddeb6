"""Programs written by hand with the builder: small ones for the passes, and the shapes that real kernels take."""

from contextlib import contextmanager

import pypto.ops  # noqa: F401  # enters the rows
from pypto.diagnostics import Span
from pypto.dtypes import DataType
from pypto.ir import symbols as ir
from pypto.ir.program import Block, Carried, If, Literal, Loop, TensorType, Value
from pypto.ops.build import Builder

FP32, BF16, INT32 = DataType.DT_FP32, DataType.DT_BF16, DataType.DT_INT32


def fp32(*shape, valid=None):
    return TensorType(FP32, shape, valid)


def number(value, dtype=FP32):
    return Literal(value, dtype)


def zeros(b, *shape, hint=""):
    return b.op("full", number(0.0), shape=shape, valid=None, hint=hint)


@contextmanager
def carrying_loop(b, start, stop, *initials, step=1, name="i", **flags):
    """``with carrying_loop(b, 0, n, acc) as (i, args, carry): ... carry(next)``; then ``carry.results`` holds the results."""
    index = ir.Symbol(name)

    def like(x, suffix):
        if isinstance(x, Value):
            return Value(x.type, x.hint)
        return ir.Symbol(f"count{suffix}", ir.kind_of(x))

    arguments = [like(x, "") for x in initials]
    results = [like(x, "_after") for x in initials]
    yields = []

    def carry(*values):
        yields.extend(values)

    carry.results = results
    statements = []
    with b.block(statements):
        yield index, arguments, carry
    carried = tuple(Carried(a, x, r) for a, x, r in zip(arguments, initials, results))
    b.append(Loop(index, start, stop, step, Block(tuple(statements), tuple(yields)), carried, name=name, span=b.span, **flags))


@contextmanager
def branch(b, condition, *results):
    """``with branch(b, c, r) as (then, orelse)``: two context managers; call ``then.give(...)`` for the values."""

    class Arm:
        def __init__(self):
            self.statements, self.values = [], ()

        def __enter__(self):
            self.context = b.block(self.statements)
            self.context.__enter__()
            return self

        def __exit__(self, *error):
            return self.context.__exit__(*error)

        def give(self, *values):
            self.values = values

        def block(self):
            return Block(tuple(self.statements), tuple(self.values))

    then, orelse = Arm(), Arm()
    yield then, orelse
    b.append(If(condition, then.block(), orelse.block(), tuple(results), b.span))


def at(line, file="kernel.py"):
    return Span(file, line)


# -- programs ------------------------------------------------------------------------------------------------------------------


def double():
    b = Builder("double")
    n = ir.Symbol("n", low=0)
    x, y = b.parameter("x", fp32(n, 8)), b.parameter("y", fp32(n, 8))
    b.span = at(3)
    v = b.load(x)
    b.store(y, b.op("add", v, v))
    return b.finish()


def tail():
    """Rows in blocks of 16 with a partial last block."""
    b = Builder("tail")
    n = ir.Symbol("n", low=0)
    x, y = b.parameter("x", fp32(n, 8)), b.parameter("y", fp32(n, 8))
    with b.loop(0, ir.floordiv(ir.add(n, 15), 16), name="i", parallel=False) as i:
        offset = ir.mul(i, 16)
        b.span = at(4)
        part = b.load(x, (16, 8), (offset, 0), hint="part")
        b.store(y, b.op("exp", part), (offset, 0))
    return b.finish()


def reshape_in_place():
    """A view of other shape, written through; the base is read afterwards."""
    b = Builder("reshape_in_place")
    y = b.parameter("y", fp32(4, 8))
    t = b.allocate("t", fp32(4, 8))
    flat = b.alias(t, (32,), "flat")
    b.store(flat, b.op("full", number(2.0), shape=(32,), valid=None))
    b.store(y, b.load(t))
    return b.finish()


def view_then_write():
    """FC-004: the view keeps what the storage held when it was taken."""
    b = Builder("view_then_write")
    y = b.parameter("y", fp32(32, 32))
    b.store(y, zeros(b, 32, 32))
    corner = b.load(y, (16, 16), (0, 0), hint="corner")
    b.store(y, b.op("exp", corner), (16, 16))
    b.store(y, b.op("add", corner, number(1.0)), (0, 0))
    return b.finish()


def swap():
    b = Builder("swap")
    x, y = b.parameter("x", fp32(4, 8)), b.parameter("y", fp32(4, 8))
    first, second = b.load(x, hint="first"), b.load(y, hint="second")
    b.store(x, second)
    b.store(y, first)
    return b.finish()


def accumulate():
    """FC-059: a carried tensor and a carried count."""
    b = Builder("accumulate")
    n = ir.Symbol("n", low=0)
    x, y, z = b.parameter("x", fp32(n, 8)), b.parameter("y", fp32(1, 8)), b.parameter("z", TensorType(INT32, (1,)))
    acc = zeros(b, 1, 8, hint="acc")
    with carrying_loop(b, 0, n, acc, 0) as (i, (before, count), carry):
        row = b.load(x, (1, 8), (i, 0), hint="row")
        carry(b.op("add", before, row), ir.add(count, 1))
    total, trips = carry.results
    b.store(y, total)
    b.effect("write", z, trips, indices=(0,))
    return b.finish()


def before_loop():
    """FC-058: a statement before a loop that may run zero times, used inside it."""
    b = Builder("before_loop")
    n = ir.Symbol("n", low=0)
    a, c = b.parameter("a", fp32(1, 8)), b.parameter("c", fp32(n, 8))
    t = b.op("add", b.load(a), number(1.0), hint="t")
    with b.loop(0, n) as i:
        row = b.load(c, (1, 8), (i, 0))
        b.store(c, b.op("mul", row, t), (i, 0))
    return b.finish()


def two_arms():
    """FC-068: each arm of a branch gives its own valid extent."""
    b = Builder("two_arms")
    x, y = b.parameter("x", fp32(16, 8)), b.parameter("y", fp32(16, 8))
    k = b.scalar_parameter("k")
    v = b.load(x, hint="v")
    valid = ir.Symbol("rows", low=0, high=16)
    result = Value(TensorType(FP32, (16, 8), (valid, 8)), "r")
    with branch(b, ir.compare("lt", k, 3), result, valid) as (then, orelse):
        with then:
            then.give(b.op("view", v, shape=(16, 8), offsets=(0, 0), valid=(2, 8)), 2)
        with orelse:
            orelse.give(v, 16)
    b.store(y, b.op("neg", result))
    return b.finish()


def paged():
    """Paged decode: lengths and block numbers read from tensors, begin and end branches, a carried running sum."""
    b = Builder("paged")
    batch, blocks, width = ir.Symbol("batch", low=0), ir.Symbol("blocks", low=0), ir.Symbol("width", low=0)
    lengths = b.parameter("lengths", TensorType(INT32, (batch,)))
    table = b.parameter("table", TensorType(INT32, (batch, width)))
    cache = b.parameter("cache", TensorType(BF16, (blocks, 128, 64)))
    out = b.parameter("out", fp32(batch, 64))
    with b.loop(0, batch, name="s") as s:
        length = b.read(lengths, (s,), "length")
        count = ir.floordiv(ir.add(length, 127), 128)
        zero = zeros(b, 1, 64, hint="total")
        with carrying_loop(b, 0, count, zero, name="k") as (k, (total,), carry):
            block = b.read(table, (s, k), "block")
            left = ir.minimum(ir.sub(length, ir.mul(k, 128)), 128)
            tile = b.load(cache, (1, 128, 64), (block, 0, 0), (1, left, 64), hint="tile")
            flat = b.op("reshape", tile, shape=(128, 64), valid=(left, 64))
            part = b.op("sum", b.op("cast", flat, dtype=FP32, mode=None, saturate=False), axis=0, keepdim=True)
            added = b.op("add", total, part, hint="total")
            carry(added)
            with branch(b, ir.compare("eq", k, ir.sub(count, 1))) as (then, orelse):
                with then:
                    b.store(out, added, (s, 0))
    return b.finish()


PROGRAMS = [double, tail, reshape_in_place, view_then_write, swap, accumulate, before_loop, two_arms, paged]
