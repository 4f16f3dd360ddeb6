"""The fast rounding to bf16 whose mistakes raise flags: the primitive, which signs of zero may go, and whole kernels bit by bit."""

import ml_dtypes
import numpy as np
import pytest
from programs import launch

import pypto.ops  # noqa: F401  enters the rows
from pypto.cpu import emit_nest_watched, kernel, program, rounding_check
from pypto.cpu.target import named
from pypto.dtypes import DataType
from pypto.ir.program import Literal, TensorType
from pypto.ops.build import Builder

BF16, F32 = DataType.DT_BF16, DataType.DT_FP32
BFLOAT = ml_dtypes.bfloat16
HERE = [isa for isa in ("avx512", "avx2") if named(isa).host]
EDGES = [0x0, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x3F7FFFFF, 0x3F808000, 0x3F818000, 0x77800000, 0x777FFFFF]

pytestmark = pytest.mark.skipif(not HERE, reason="the flags are read on x86 only")


# -- one number ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("isa", HERE)
@pytest.mark.parametrize("signless", [False, True])
def test_a_sample_of_all_numbers_is_right_or_raises_a_flag(isa, signless):
    near = np.array([edge + step for edge in EDGES for step in range(-70, 70)], np.int64)
    bits = np.concatenate([near, near + (1 << 31), np.arange(77, 1 << 32, 16411)])
    rounding_check.check((bits & 0xFFFFFFFF).astype(np.uint32).view(np.float32), named(isa), signless)


def test_the_check_notices_a_wrong_rounding(monkeypatch):
    monkeypatch.setattr(rounding_check, "expected", lambda numbers: numbers.view(np.uint32) & np.uint32(0xFFFF0000))
    with pytest.raises(AssertionError, match="without a flag"):
        rounding_check.check(np.arange(1, 2, 0.001, np.float32), named(HERE[0]), False)


# -- whole kernels -------------------------------------------------------------------------------------------------------------


def compiled(made, monkeypatch, watched):
    """The kernel, and how often its nests were written in two ways."""
    count = []

    def asked(nest, target, ask=emit_nest_watched.worth_watching):
        found = ask(nest, target) if watched else False
        count.append(found)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(program, "worth_watching", asked)
        return kernel.build(made, poison=True), sum(count)


def both_ways(made, arrays, monkeypatch):
    """Bits of the last array from the fast and from the exact code."""
    results = []
    for watched in (True, False):
        own = [a.copy() for a in arrays]
        code, count = compiled(made, monkeypatch, watched)
        assert bool(count) == watched
        launch(code, made, own)
        results.append(own[-1].view(np.uint16))
    return results


def kernel_of(expression, shape, in_place=False):
    b = Builder("rounding")
    x, y, out = (b.parameter(name, TensorType(BF16, shape)) for name in ("x", "y", "out"))
    b.store(x if in_place else out, expression(b, b.load(x), b.load(y)))
    return b.finish()


def number(value):
    return Literal(value, BF16)


def chain(b, x, y):
    inner = b.op("sub", b.op("mul", b.op("add", b.op("mul", x, y), number(1.5)), x), b.op("mul", y, number(0.5)))
    return b.op("div", b.op("exp", inner), b.op("add", b.op("mul", x, x), number(2.0)))


def patterns(rng, shape, kind):
    """bf16 arrays of one class of numbers."""
    bits = rng.integers(0, 1 << 16, shape)
    if kind == "tiny":
        bits = bits & 0x8FFF  # below 2**-94
    elif kind == "zeros":
        bits = np.where(rng.random(shape) < 0.5, bits & 0x8000, 0x3F80 | bits & 0x80FF)
    elif kind == "usual":
        return rng.standard_normal(shape).astype(BFLOAT)
    elif kind == "one bad":
        found = rng.standard_normal(shape).astype(BFLOAT)
        found.flat[found.size // 2] = np.inf
        return found
    return bits.astype(np.uint16).view(BFLOAT)


KINDS = ["usual", "any", "tiny", "zeros", "one bad"]


@pytest.mark.parametrize("isa", HERE)
@pytest.mark.parametrize("shape", [(3, 1024 + 7), (2, 65536 + 33)])
def test_a_chain_is_the_same_bit_by_bit(isa, shape, monkeypatch):
    monkeypatch.setattr(kernel, "host", lambda: named(isa))
    made, rng = kernel_of(chain, shape), np.random.default_rng(1)
    for kind in KINDS:
        arrays = [patterns(rng, shape, kind), patterns(rng, shape, kind), np.zeros(shape, BFLOAT)]
        fast, exact = both_ways(made, arrays, monkeypatch)
        np.testing.assert_array_equal(fast, exact, err_msg=kind)


def test_arithmetic_is_that_of_numpy(monkeypatch):
    """Against op by op in ml_dtypes: the exact code is not the only judge."""
    expression = lambda b, x, y: b.op("sub", b.op("mul", b.op("add", b.op("mul", x, y), x), y), b.op("mul", y, number(0.5)))
    shape, rng = (5, 4096 + 5), np.random.default_rng(2)
    for kind in KINDS:
        x, y = patterns(rng, shape, kind), patterns(rng, shape, kind)
        fast, _ = both_ways(kernel_of(expression, shape), [x, y, np.zeros(shape, BFLOAT)], monkeypatch)
        with np.errstate(all="ignore"):
            want = (x * y + x) * y - y * BFLOAT(0.5)
        same = (fast == want.view(np.uint16)) | np.isnan(fast.view(BFLOAT)) & np.isnan(want)
        assert same.all(), (kind, np.argwhere(~same)[0])


BINARY, UNARY = ("add", "sub", "mul", "mul", "div", "maximum", "minimum"), ("neg", "abs", "exp", "relu", "tanh", "sqrt")


def random_expression(rng, operations):
    def write(b, x, y):
        values = [x, y]
        for _ in range(operations):
            first = values[rng.integers(len(values))]
            kind = rng.random()
            if kind < 0.25:
                values.append(b.op(UNARY[rng.integers(len(UNARY))], first))
            elif kind < 0.5:
                value = number(float(rng.choice([0.0, -0.0, 1.5, -2.0])))
                pair = (first, value) if rng.random() < 0.7 else (value, first)
                values.append(b.op(BINARY[rng.integers(4)], *pair))
            else:
                values.append(b.op(BINARY[rng.integers(len(BINARY))], first, values[rng.integers(len(values))]))
        for value in values[-4:-1]:  # products, in which the sign of a zero can be seen
            values[-1] = b.op("mul", values[-1], value)
        return b.op("mul", values[-1], number(-1.0))

    return write


@pytest.mark.parametrize("seed", range(14))
def test_random_expressions_on_zeros_are_the_same_bit_by_bit(seed, monkeypatch):
    rng, shape = np.random.default_rng(seed), (2, 2048 + 19)
    made = kernel_of(random_expression(rng, 7), shape)
    for kind in ("zeros", "any"):
        fast, exact = both_ways(
            made, [patterns(rng, shape, kind), patterns(rng, shape, kind), np.zeros(shape, BFLOAT)], monkeypatch
        )
        np.testing.assert_array_equal(fast, exact, err_msg=kind)


@pytest.mark.parametrize("columns", [1000, 96, 33000])
def test_rows_against_a_broadcast_row_and_column(columns, monkeypatch):
    """Nests that stay two-dimensional: chunks are rows."""
    rows, rng = 70000 // columns, np.random.default_rng(columns)
    b = Builder("rows")
    shapes = [(rows, columns), (1, columns), (rows, 1), (rows, columns)]
    x, y, z, out = (b.parameter(f"p{i}", TensorType(BF16, shape)) for i, shape in enumerate(shapes))
    scaled = b.op("mul", chain(b, b.load(x), b.load(y)), b.load(z))
    b.store(out, b.op("sub", scaled, b.load(y)))
    made = b.finish()
    for kind in KINDS:
        arrays = [patterns(rng, shape, kind) for shape in shapes]
        fast, exact = both_ways(made, arrays, monkeypatch)
        np.testing.assert_array_equal(fast, exact, err_msg=kind)


def test_what_is_stored_keeps_the_sign_of_zero(monkeypatch):
    shape = (1, 4096)
    x, y = np.full(shape, -0.0, BFLOAT), np.full(shape, 2.0, BFLOAT)
    expression = lambda b, x, y: b.op("mul", b.op("mul", b.op("mul", x, y), y), y)
    fast, exact = both_ways(kernel_of(expression, shape), [x, y, np.ones(shape, BFLOAT)], monkeypatch)
    assert (fast == 0x8000).all() and (exact == 0x8000).all()


def test_nests_with_fp64_are_not_watched(monkeypatch):
    def through_double(b, x, y):
        wide = b.op("cast", x, dtype=DataType.DT_DOUBLE, mode="none", saturate=False)
        return chain(b, b.op("cast", wide, dtype=BF16, mode="none", saturate=False), y)

    _, count = compiled(kernel_of(through_double, (2, 4096)), monkeypatch, True)
    assert count == 0


def test_a_nest_that_overwrites_its_input_is_not_written_twice(monkeypatch):
    shape = (2, 4096)
    made = kernel_of(chain, shape, in_place=True)
    code, count = compiled(made, monkeypatch, True)
    assert count == 0
    rng = np.random.default_rng(3)
    arrays = [patterns(rng, shape, "any"), patterns(rng, shape, "any"), np.zeros(shape, BFLOAT)]
    own = [a.copy() for a in arrays]
    launch(code, made, own)
    _, exact = both_ways(kernel_of(chain, shape), arrays, monkeypatch)
    np.testing.assert_array_equal(own[0].view(np.uint16), exact)


@pytest.mark.parametrize("isa", HERE)
def test_exp_of_every_bf16_number_is_right_or_raises_a_flag(isa):
    """Its clamps are left out where the flags are looked at."""

    def exp(b, vector):
        b.facts.held[vector.name] = BF16
        return b.call("exp", vector)

    x = (np.arange(1 << 16, dtype=np.uint32) << 16).view(np.float32)
    x = x[~np.isnan(x)]
    fast, raised = rounding_check.flagging(named(isa), exp, single=True)(x)
    exact, must = rounding_check.flagging(named(isa), exp, single=True, watched=False)(x)
    assert (raised | (fast.view(np.uint32) == exact.view(np.uint32))).all()
    assert raised[must].all()  # both flush, so equal is not enough
    assert not raised[(np.abs(x) < 87) & (np.abs(x) > 2.0**-60)].any()
