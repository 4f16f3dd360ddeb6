"""Symbolic scalars on both engines: the same number, or the same error, for random expressions and awkward numbers."""

import random

import numpy as np
import pytest
from programs import launch

import pypto.ops  # noqa: F401  enters the rows
from pypto.cpu.kernel import build, generate
from pypto.cpu.link import undefined_symbols
from pypto.cpu.target import named
from pypto.dtypes import DataType
from pypto.errors.base import UserError
from pypto.ir import symbols as ir
from pypto.ir.program import Storage, TensorType
from pypto.ops.build import Builder
from pypto.reference import engine

INTEGERS = [0, 1, -1, 2, 3, -3, 7, 10, -128, 2**31 - 1, -(2**31), 2**40, -(2**53) - 1, 2**53 + 1, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e-320, 3e8, 2.0**53, 2.0**63, -(2.0**63), 1e300, float("inf"), float("nan")]


class Grower:
    """Random expressions over symbols ``n``, ``m`` (int) and ``f``, ``g`` (float)."""

    def __init__(self, seed, symbols):
        self.random = random.Random(seed)
        self.integers, self.floats = symbols[:2], symbols[2:]

    def number(self, depth, kind):
        pick = self.random.random()
        if depth == 0 or pick < 0.15:
            return self.leaf(kind)
        if pick < 0.3:
            return ir.select(self.truth(depth - 1), self.number(depth - 1, kind), self.number(depth - 1, kind))
        if kind == "float":
            name = self.random.choice(["add", "sub", "mul", "floordiv", "mod", "truediv", "min", "max", "neg", "float"])
        else:
            name = self.random.choice(["add", "sub", "mul", "floordiv", "mod", "min", "max", "neg", "int"])
        if name == "neg":
            return ir.neg(self.number(depth - 1, kind))
        if name in ("int", "float"):
            return ir.apply(name, self.number(depth - 1, "float" if name == "int" else "int"))
        return ir.BUILDERS[name](self.number(depth - 1, kind), self.number(depth - 1, kind))

    def leaf(self, kind):
        if self.random.random() < 0.25:
            return self.random.choice([1, 2, -3, 5, 64] if kind == "int" else [1.0, -0.5, 3.0, 0.1])
        return self.random.choice(self.integers if kind == "int" else self.floats)

    def truth(self, depth):
        pick = self.random.random()
        if depth > 0 and pick < 0.4:
            build = self.random.choice([ir.logical_and, ir.logical_or])
            return build(self.truth(depth - 1), self.truth(depth - 1))
        if depth > 0 and pick < 0.5:
            return ir.logical_not(self.truth(depth - 1))
        kinds = [self.random.choice(["int", "float"]) for _ in range(2)]
        return ir.compare(self.random.choice(["lt", "le", "eq", "ne"]), *(self.number(max(depth - 1, 0), k) for k in kinds))


def outcome(run, arrays):
    try:
        run(arrays)
    except UserError as error:
        return type(error).__name__
    return [a.copy() for a in arrays]


@pytest.mark.parametrize("seed", (*range(60), 195))
def test_random_expressions(seed):
    b = Builder("scalars")
    ints, floats = (b.parameter(n, TensorType(d, (2,))) for n, d in (("i", DataType.DT_INT64), ("d", DataType.DT_DOUBLE)))
    symbols = [b.scalar_parameter(n, k) for n, k in (("n", "int"), ("m", "int"), ("f", "float"), ("g", "float"))]
    grow = Grower(seed, symbols)
    b.effect("write", ints, grow.number(4, "int"), indices=(0,))
    b.effect("write", ints, ir.select(grow.truth(3), 1, 0), indices=(1,))
    b.effect("write", floats, grow.number(4, "float"), indices=(0,))
    program = b.finish()
    kernel = build(program)
    storages = [p for p in program.parameters if isinstance(p, Storage)]
    for _ in range(12):
        values = [grow.random.choice(INTEGERS), grow.random.choice(INTEGERS), *grow.random.sample(FLOATS, 2)]
        given = [np.zeros(2, np.int64), np.zeros(2, np.float64)]

        def native(arrays, values=values):
            launch(kernel, program, arrays, values)

        def reference(arrays, values=values):
            engine.run(program, dict(zip(storages, arrays, strict=True)), dict(zip(symbols, values, strict=True)))

        got, want = (outcome(run, [a.copy() for a in given]) for run in (native, reference))
        assert isinstance(got, str) == isinstance(want, str), (values, got, want)
        if isinstance(want, str):
            assert got == want, values
        else:
            for a, c in zip(got, want, strict=True):
                np.testing.assert_array_equal(a, c, err_msg=str(values))


@pytest.mark.parametrize("isa", ["generic", "avx2", "avx512", "neon"])
def test_nothing_is_left_to_the_c_library(isa):
    b = Builder("scalars")
    n, f, g = b.scalar_parameter("n"), b.scalar_parameter("f", "float"), b.scalar_parameter("g", "float")
    out = b.parameter("d", TensorType(DataType.DT_DOUBLE, (2,)))
    b.effect("write", out, ir.floordiv(f, ir.mod(g, f)), indices=(0,))
    b.effect("write", out, ir.apply("float", ir.mul(ir.apply("int", ir.truediv(f, g)), ir.mul(n, n))), indices=(1,))
    target = named(isa)
    symbols = undefined_symbols(target.compile(generate(b.finish(), target).text))
    assert not symbols, symbols
