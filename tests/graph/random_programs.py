"""Random programs over a few storages, for comparing what they do before and after a pass. Regions always lie inside."""

import numpy as np

import handmade
from handmade import FP32, INT32, Builder, branch, carrying_loop, fp32, number
from pypto.errors.base import UserError
from pypto.ir import symbols as ir
from pypto.ir.program import TensorType, Value

ROWS, COLUMNS = 12, 4
SIZES = (0, 1, 2, 5)


class Maker:
    """Appends random statements. ``scalars`` and ``values`` are what is visible at the current place."""

    def __init__(self, random, partial=False):
        self.random = random
        self.b = Builder("random")
        self.n = ir.Symbol("n", low=0)
        self.b.parameter("sizes", TensorType(INT32, (self.n,)))
        self.x, self.y = (self.b.parameter(name, fp32(ROWS, COLUMNS)) for name in "xy")
        self.counts = self.b.parameter("counts", TensorType(INT32, (8,)))
        self.k = self.b.scalar_parameter("k")
        local = self.b.allocate("t", fp32(ROWS, COLUMNS))
        if partial:
            self.fill_partly(local)
        else:
            self.b.store(local, handmade.zeros(self.b, ROWS, COLUMNS))
        flat = self.b.alias(local, (ROWS * COLUMNS // 8, 8), "flat")
        self.storages = [self.x, self.y, local]
        self.flat = flat
        self.scalars = [self.k, self.n, 0, 1, 2]
        self.values = []
        self.depth = 0

    def fill_partly(self, local):
        """Some rows of a local, by loops of various kinds: reads of the rest are mistakes."""
        for _ in range(self.random.randrange(3)):
            rows, start = self.pick([1, 2, 3]), self.pick([0, 2, 6])
            stop = self.pick([3, 4, ir.minimum(self.n, 4), ir.minimum(ir.maximum(self.k, 0), 3)])
            zero = handmade.zeros(self.b, rows, COLUMNS)
            step = self.pick([1, 1, -1])
            bounds = (0, stop, 1) if step == 1 else (ir.sub(stop, 1), -1, -1)
            with self.b.loop(*bounds) as i:
                row = ir.minimum(ir.add(ir.mul(i, self.pick([rows, rows, 1, 3])), start), ROWS - rows)
                self.b.store(local, zero, (row, 0))

    def pick(self, things):
        return things[self.random.randrange(len(things))]

    def program(self):
        self.statements(7)
        return self.b.finish()

    def statements(self, count):
        visible = len(self.values), len(self.scalars)
        for _ in range(count):
            self.pick([self.load, self.compute, self.store, self.store, self.update, self.update, self.scalar] + self.nested())()
        del self.values[visible[0] :], self.scalars[visible[1] :]

    def nested(self):
        return [self.loop, self.loop, self.carry, self.branch] if self.depth < 3 else []

    def small(self):
        """A scalar of any value."""
        a, b = self.pick(self.scalars), self.pick(self.scalars)
        return self.pick(
            [lambda: a, lambda: ir.add(a, b), lambda: ir.sub(a, 1), lambda: ir.mul(a, 2), lambda: ir.minimum(a, b)]
        )()

    def row(self, rows):
        """An offset at which ``rows`` rows fit."""
        if self.random.random() < 0.7:  # few places, so that statements meet
            return self.pick([0, 0, 3, 7])
        return ir.mod(self.small(), ROWS - rows + 1)

    def condition(self):
        return ir.compare(self.pick(["lt", "le", "eq", "ne"]), self.small(), self.small())

    # -- statements ------------------------------------------------------------------------------------------------------------

    def load(self):
        if self.random.random() < 0.1:
            eight = self.b.load(self.flat)
            self.values.append(
                self.b.op(
                    "view", self.b.op("reshape", eight, shape=(ROWS, 4), valid=None), shape=(3, 4), offsets=(1, 0), valid=None
                )
            )
            return
        self.values.append(self.b.load(self.pick(self.storages), (3, COLUMNS), (self.row(3), 0)))

    def compute(self):
        if not self.values:
            return self.load()
        a, b = self.recent(), self.pick([*self.values[-4:], number(2.0)])
        name = self.pick(["add", "sub", "maximum", "neg", "reshape"])
        if name == "reshape":
            self.values.append(self.b.op("reshape", a, shape=(3, COLUMNS), valid=None))
        else:
            self.values.append(self.b.op(name, a) if name == "neg" else self.b.op(name, a, b))

    def store(self):
        if self.values:
            self.b.store(self.pick(self.storages), self.recent(), (self.row(3), 0))

    def recent(self):
        return self.values[-1] if self.random.random() < 0.5 else self.pick(self.values)

    def update(self):
        """Read a region, change it, write it somewhere: what depends on order shows."""
        self.load()
        self.compute()
        self.b.store(self.pick(self.storages), self.values[-1], (self.row(3), 0))

    def scalar(self):
        index = ir.mod(self.small(), 8)
        if self.random.random() < 0.5:
            self.scalars.append(self.b.read(self.counts, (index,), "count"))
        else:
            self.b.effect("write", self.counts, self.small(), indices=(index,))

    def loop(self):
        self.depth += 1
        start, stop, step = self.pick([(0, self.pick(self.scalars), 1), (0, 3, 1), (1, 2, 1), (5, -1, -2), (self.k, self.n, 2)])
        stop = ir.minimum(stop, 4)
        with self.b.loop(start, stop, step) as i:
            self.scalars.append(i)
            self.statements(4)
            self.scalars.remove(i)
        self.depth -= 1

    def carry(self):
        self.depth += 1
        if not self.values:
            self.load()
        value, count = self.pick(self.values), self.pick(self.scalars)
        with carrying_loop(self.b, 0, self.pick([self.n, 3]), value, count) as (i, (v, c), carry):
            self.values.append(v)
            self.scalars += [i, c]
            self.statements(3)
            given = self.pick([v, value, self.b.op("add", v, self.pick(self.values))])
            carry(given, self.pick([c, ir.add(c, 1), ir.add(c, i), count]))
            self.values.remove(v)
            self.scalars = [s for s in self.scalars if s is not i and s is not c]
        self.values.append(carry.results[0])
        self.scalars.append(carry.results[1])
        self.depth -= 1

    def branch(self):
        self.depth += 1
        if not self.values:
            self.load()
        value, number_ = Value(TensorType(FP32, (3, COLUMNS))), ir.Symbol("chosen")
        with branch(self.b, self.condition(), value, number_) as (then, orelse):
            for arm in (then, orelse):
                with arm:
                    self.statements(2)
                    arm.give(self.pick(self.values), self.small())
        self.values.append(value)
        self.scalars.append(number_)
        self.depth -= 1


def random_program(random, partial=False):
    return Maker(random, partial).program()


def outcome(program, n, k, run_program=None):
    """What a program leaves, or the class of the error it stops with."""
    try:
        return run(program, n, k, run_program)
    except UserError as error:
        return type(error)


def run(program, n, k, run_program=None):
    """What a program leaves in its parameters: the reference engine (or another) on fixed data."""
    from pypto.reference.engine import run as run_reference

    generator = np.random.default_rng(3)
    arrays = {}
    for parameter in program.parameters:
        if not isinstance(parameter, ir.Symbol):
            shape = [n if isinstance(s, ir.Expression) else s for s in parameter.type.shape]
            numbers = generator.integers(-3, 4, shape)
            arrays[parameter] = numbers.astype(parameter.type.dtype.numpy)
    (run_program or run_reference)(program, arrays, {p: k for p in program.parameters if isinstance(p, ir.Symbol)})
    return [array.copy() for array in arrays.values()]
