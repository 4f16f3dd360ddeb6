"""The core of the compiled engine against the reference: fusion, views, order of memory, control flow, errors."""

from __future__ import annotations

import ctypes
import pickle

import numpy as np
import pytest
from programs import agree, both, launch, random_array

import pypto.ops  # noqa: F401  enters the rows
from pypto import options
from pypto.cpu import split
from pypto.cpu.kernel import Kernel, build, generate
from pypto.cpu.library import runtime_library
from pypto.cpu.target import host
from pypto.dtypes import DataType
from pypto.errors.runtime import (
    DivisionByZeroInRun,
    IndexOutOfBounds,
    LoopStepZeroInRun,
    RegionOutOfBounds,
    ScalarNotFiniteInRun,
)
from pypto.graph.storage import storage
from pypto.ir.program import Block, Carried, If, Literal, Loop, TensorType, Value
from pypto.ir.symbols import Symbol, add, apply, compare, evaluate, floordiv, maximum, minimum, mod, mul, select, sub
from pypto.ops.build import Builder

F32, BF16, I32, I8 = DataType.DT_FP32, DataType.DT_BF16, DataType.DT_INT32, DataType.DT_INT8


def array(*shape: int, dtype: DataType = F32, seed: int = 0) -> np.ndarray:
    return random_array(np.random.default_rng(seed), shape, dtype.numpy)


def matrix(b: Builder, name: str, *shape: int, dtype: DataType = F32):
    return b.parameter(name, TensorType(dtype, shape))


def softmax(b: Builder, v: Value, axis: int = 1) -> Value:
    e = b.op("exp", b.op("sub", v, b.op("amax", v, axis=axis, keepdim=True)))
    return b.op("div", e, b.op("sum", e, axis=axis, keepdim=True))


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (37, 300), (4, 1025), (130, 64)])
@pytest.mark.parametrize("axis", [0, 1])
def test_softmax(shape, dtype, axis):
    b = Builder("softmax")
    x, y = matrix(b, "x", *shape, dtype=dtype), matrix(b, "y", *shape, dtype=dtype)
    b.store(y, softmax(b, b.load(x), axis))
    agree(b.finish(), [array(*shape, dtype=dtype), np.zeros(shape, dtype.numpy)], ulps=16)


def test_softmax_is_one_nest():
    b = Builder("softmax")
    x, y = matrix(b, "x", 64, 512), matrix(b, "y", 64, 512)
    b.store(y, softmax(b, b.load(x)))
    assert generate(b.finish()).nests.count("nest ") == 1


@pytest.mark.parametrize("shape", [(7, 33), (2, 3, 40), (2, 3, 4, 5)])
def test_broadcasts(shape):
    b = Builder("broadcasts")
    column = (*shape[:-1], 1)
    row = (*(1 for _ in shape[:-1]), shape[-1])
    names = [matrix(b, n, *s) for n, s in (("x", shape), ("c", column), ("r", row), ("y", shape))]
    x, c, r = (b.load(n) for n in names[:3])
    total = b.op("add", b.op("mul", x, c), r)
    b.store(names[3], b.op("sub", total, b.op("mul", c, r)))
    agree(b.finish(), [array(*s) for s in (shape, column, row)] + [np.zeros(shape, np.float32)])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["sum", "amax", "amin", "prod", "argmax", "argmin"])
@pytest.mark.parametrize("keepdim", [True, False])
def test_reductions(axis, name, keepdim):
    shape = (3, 18, 37)
    b = Builder("reduce")
    x = matrix(b, "x", *shape)
    r = b.op(name, b.op("mul", b.load(x), Literal(0.5, F32)), axis=axis, keepdim=keepdim)
    y = b.parameter("y", TensorType(r.type.dtype, r.type.shape))
    b.store(y, r)
    agree(b.finish(), [array(*shape), np.zeros(r.type.shape, r.type.dtype.numpy)], ulps=20, relative=1e-5)


def test_argmax_takes_the_first_and_nan():
    x = array(6, 50)
    x[0, [7, 20]] = 9
    x[1, 30] = x[1, 40] = np.nan
    x[2] = -np.inf
    b = Builder("argmax")
    source = matrix(b, "x", 6, 50)
    y = matrix(b, "y", 6, 1, dtype=I32)
    b.store(y, b.op("argmax", b.load(source), axis=1, keepdim=True))
    agree(b.finish(), [x, np.zeros((6, 1), np.int32)])


def test_padding_is_never_read():
    b = Builder("partial")
    x, y = matrix(b, "x", 10, 40), matrix(b, "y", 10, 40)
    v = b.load(x, (16, 64), (2, 3))
    b.store(y, softmax(b, b.op("exp", b.op("mul", v, Literal(0.25, F32)))))
    agree(b.finish(), [array(10, 40), np.zeros((10, 40), np.float32)], ulps=16)


def test_symbolic_valid_extent():
    b = Builder("lengths")
    x, y, lengths = matrix(b, "x", 4, 64), matrix(b, "y", 4, 64), matrix(b, "n", 4, dtype=I32)
    with b.loop(0, 4) as i:
        n = b.read(lengths, (i,))
        v = b.load(x, (1, 64), (i, 0), (1, n))
        b.store(y, softmax(b, v), (i, 0))
    agree(b.finish(), [array(4, 64), np.zeros((4, 64), np.float32), np.array([1, 64, 0, 17], np.int32)], ulps=16)


def test_dynamic_axes():
    rows = Symbol("rows", low=1)
    b = Builder("dynamic")
    x = b.parameter("x", TensorType(F32, (rows, 33)))
    y = b.parameter("y", TensorType(F32, (rows, 33)))
    v = softmax(b, b.load(x))
    t = b.op("permute", v, axes=(1, 0))
    b.store(y, b.op("permute", b.op("exp", t), axes=(1, 0)))
    for count in (1, 5, 700):
        agree(b.finish(), [array(count, 33), np.zeros((count, 33), np.float32)], ulps=16)


def test_movement():
    b = Builder("movement")
    x, y = matrix(b, "x", 6, 20), matrix(b, "y", 20, 12)
    v = b.load(x)
    e = b.op("exp", v)
    turned = b.op("permute", e, axes=(1, 0))
    joined = b.op("concat", turned, b.op("mul", turned, Literal(2.0, F32)), axis=1)
    split = b.op("reshape", joined, shape=(4, 5, 12), valid=None)
    back = b.op("reshape", b.op("neg", b.op("permute", split, axes=(1, 0, 2))), shape=(20, 12), valid=None)
    b.store(y, back)
    agree(b.finish(), [array(6, 20), np.zeros((20, 12), np.float32)])


def test_shifted_overlapping_copy():
    b = Builder("shift")
    x = matrix(b, "x", 100)
    b.store(x, b.op("mul", b.load(x, (99,), (0,)), Literal(2.0, F32)), (1,))
    agree(b.finish(), [array(100)])


def test_view_sees_what_was_there():
    b = Builder("snapshot")
    x, y = matrix(b, "x", 8, 8), matrix(b, "y", 8, 8)
    old = b.load(x)
    b.store(x, b.op("add", old, Literal(1.0, F32)))
    b.store(y, b.op("mul", old, Literal(3.0, F32)))
    new = b.load(x)
    b.store(x, b.op("sub", new, old))
    agree(b.finish(), [array(8, 8), np.zeros((8, 8), np.float32)])


def test_alias_writes_through():
    b = Builder("alias")
    x, y = matrix(b, "x", 4, 6), matrix(b, "y", 24)
    flat = b.alias(x, (24,))
    b.store(flat, b.op("exp", b.load(flat, (5,), (3,))), (7,))
    b.store(y, b.load(flat))
    agree(b.finish(), [array(4, 6), np.zeros(24, np.float32)])


def test_store_literal_and_accumulate():
    b = Builder("fill")
    x, y = matrix(b, "x", 5, 9), matrix(b, "y", 5, 9)
    b.store(y, Literal(2.5, F32))
    b.effect("accumulate", y, b.load(x, (3, 4), (1, 2)), offsets=(2, 5))
    b.effect("accumulate", y, b.load(x), offsets=(0, 0))
    agree(b.finish(), [array(5, 9), np.zeros((5, 9), np.float32)])


def carried_loop(b: Builder, trips, start: Value | Literal, type: TensorType, body, count: int = 1):
    """A loop that carries one tensor."""
    index = Symbol("i")
    arguments = [Value(type) for _ in range(count)]
    results = [Value(type) for _ in range(count)]
    statements: list = []
    with b.block(statements):
        yields = body(index, *arguments)
    carried = tuple(Carried(a, s, r) for a, s, r in zip(arguments, start, results, strict=True))
    b.append(Loop(index, 0, trips, 1, Block(tuple(statements), tuple(yields)), carried))
    return results


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_carried_tensor(trips):
    b = Builder("carried")
    x, y = matrix(b, "x", 5, 16), matrix(b, "y", 1, 16)
    zero = b.op("full", Literal(0.5, F32), shape=(1, 16), valid=None)

    def body(i, total):
        return [b.op("add", b.op("mul", total, Literal(0.5, F32)), b.load(x, (1, 16), (i, 0)))]

    (result,) = carried_loop(b, trips, [zero], TensorType(F32, (1, 16)), body)
    b.store(y, result)
    agree(b.finish(), [array(5, 16), np.zeros((1, 16), np.float32)])


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_carried_swap(trips):
    b = Builder("swap")
    x, y, z = (matrix(b, n, 3, 16) for n in "xyz")
    first, second = b.load(x), b.op("exp", b.load(x))

    def body(i, p, q):
        return [q, b.op("add", p, Literal(1.0, F32))]

    p, q = carried_loop(b, trips, [first, second], TensorType(F32, (3, 16)), body, 2)
    b.store(y, p)
    b.store(z, q)
    agree(b.finish(), [array(3, 16), np.zeros((3, 16), np.float32), np.zeros((3, 16), np.float32)])


def test_carried_transposed():
    b = Builder("turn")
    x, y = matrix(b, "x", 8, 8), matrix(b, "y", 8, 8)
    (result,) = carried_loop(
        b, 3, [b.load(x)], TensorType(F32, (8, 8)), lambda i, p: [b.op("add", p, b.op("permute", p, axes=(1, 0)))]
    )
    b.store(y, result)
    agree(b.finish(), [array(8, 8), np.zeros((8, 8), np.float32)])


def test_carried_scalars_and_steps():
    b = Builder("scalars")
    x, y, n = matrix(b, "x", 32), matrix(b, "y", 32), b.scalar_parameter("n")
    index, argument, result = Symbol("i"), Symbol("a"), Symbol("r")
    statements: list = []
    with b.block(statements):
        place = mod(add(index, argument), 32)
        b.store(y, b.op("add", b.load(x, (1,), (place,)), b.op("full", Literal(argument, F32), shape=(1,), valid=None)), (place,))
        following = floordiv(add(mul(argument, 3), index), 2)
    b.append(Loop(index, 20, n, -3, Block(tuple(statements), (following,)), (Carried(argument, 1, result),)))
    b.effect("write", y, result, indices=(0,))
    for stop in (-5, 19, 20, 25):
        agree(b.finish(), [array(32), np.zeros(32, np.float32)], [stop])


def test_branch_results():
    b = Builder("branch")
    x, y, n = matrix(b, "x", 4, 16), matrix(b, "y", 4, 16), b.scalar_parameter("n")
    v = b.load(x)
    then: list = []
    orelse: list = []
    with b.block(then):
        a = b.op("exp", v)
    with b.block(orelse):
        pass
    result, number = Value(v.type), Symbol("k")
    b.append(If(compare("lt", n, 3), Block(tuple(then), (a, add(n, 1))), Block((), (v, mul(n, n))), (result, number)))
    b.store(y, b.op("mul", result, b.op("full", Literal(number, F32), shape=(4, 16), valid=None)))
    for value in (1, 7):
        agree(b.finish(), [array(4, 16), np.zeros((4, 16), np.float32)], [value])


def test_read_and_write_elements():
    b = Builder("elements")
    table, x, y = matrix(b, "t", 4, dtype=I32), matrix(b, "x", 8, dtype=BF16), matrix(b, "y", 8, dtype=BF16)
    with b.loop(0, 4) as i:
        j = b.read(table, (i,))
        e = b.read(x, (j,), kind="float")
        b.effect("write", y, e, indices=(sub(7, j),))
    agree(b.finish(), [np.array([3, 0, 7, 7], np.int32), array(8, dtype=BF16), np.zeros(8, BF16.numpy)])


def test_errors_name_their_numbers():
    b = Builder("errors")
    table, x, y = matrix(b, "t", 4, dtype=I32), matrix(b, "x", 8), matrix(b, "y", 4, 2)
    with b.loop(0, 4) as i:
        j = b.read(table, (i,))
        b.store(y, b.op("reshape", b.load(x, (2,), (j,), (2,)), shape=(1, 2), valid=None), (i, 0))
    program = b.finish()
    kernel = build(program, poison=True)
    arrays = [np.array([0, 3, 6, 1], np.int32), array(8), np.zeros((4, 2), np.float32)]
    launch(kernel, program, arrays)
    arrays[0][2] = -1
    with pytest.raises(RegionOutOfBounds, match="offset -1 leaves axis 0 of 'x'"):
        launch(kernel, program, arrays)
    arrays[0][2] = 7
    with pytest.raises(RegionOutOfBounds, match="of 2 elements at offset 7"):
        launch(kernel, program, arrays)
    arrays[0][2] = 6
    launch(kernel, program, arrays)


def test_division_by_zero_and_index():
    b = Builder("zero")
    y, n = matrix(b, "y", 8, dtype=I32), b.scalar_parameter("n")
    b.effect("write", y, floordiv(10, n), indices=(n,))
    program = b.finish()
    kernel = build(program)
    out = np.zeros(8, np.int32)
    with pytest.raises(DivisionByZeroInRun):
        launch(kernel, program, [out], [0])
    with pytest.raises(IndexOutOfBounds, match="index 9"):
        launch(kernel, program, [out], [9])
    launch(kernel, program, [out], [3])
    assert out[3] == 3


@pytest.fixture
def eager_tasks(monkeypatch):
    """Any independent work becomes tasks, however little it is."""
    monkeypatch.setattr(split, "SERIAL_BELOW", 0.0)
    monkeypatch.setattr(split, "PIECE", 1.0)


@pytest.mark.parametrize("independent", [False, True])
def test_independent_loops(independent, eager_tasks):
    b = Builder("parallel")
    x, y = matrix(b, "x", 3, 5, 70), matrix(b, "y", 3, 5, 70)
    outer: list = []
    i, j = Symbol("i"), Symbol("j")
    inner: list = []
    with b.block(inner):
        v = b.load(x, (1, 1, 70), (i, j, 0))
        s = softmax(b, b.op("reshape", v, shape=(1, 70), valid=None))
        b.store(y, b.op("reshape", b.op("exp", s), shape=(1, 1, 70), valid=None), (i, j, 0))
    outer.append(Loop(j, 0, 5, 1, Block(tuple(inner)), independent=independent))
    b.append(Loop(i, 0, 3, 1, Block(tuple(outer)), independent=independent))
    agree(b.finish(), [array(3, 5, 70), np.zeros((3, 5, 70), np.float32)], ulps=16)


def test_first_error_of_a_parallel_loop(eager_tasks):
    b = Builder("parallel")
    table, x, y = matrix(b, "t", 64, dtype=I32), matrix(b, "x", 8), matrix(b, "y", 64, 1)
    with b.loop(0, 64, independent=True) as i:
        j = b.read(table, (i,))
        b.store(y, b.op("reshape", b.load(x, (1,), (j,), (1,)), shape=(1, 1), valid=None), (i, 0))
    program = b.finish()
    kernel = build(program)
    numbers = np.zeros(64, np.int32)
    numbers[[20, 40, 60]] = [100, 101, 102]
    for _ in range(20):
        with pytest.raises(RegionOutOfBounds, match="offset 100"):
            launch(kernel, program, [numbers, array(8), np.zeros((64, 1), np.float32)])


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dtype", [F32, BF16, I8])
def test_matmul(turned, dtype):
    m, k, n = 33, 70, 45
    b = Builder("matmul")
    left, right = ((k, m) if turned[0] else (m, k)), ((n, k) if turned[1] else (k, n))
    x, w = matrix(b, "x", *left, dtype=dtype), matrix(b, "w", *right, dtype=dtype)
    out = I32 if dtype is I8 else dtype
    y = matrix(b, "y", m, n, dtype=out)
    p = b.op("matmul", b.load(x), b.load(w), out_dtype=out, a_trans=turned[0], b_trans=turned[1])
    b.store(y, b.op("mul", p, p) if dtype is F32 else p)
    arrays = [array(*left, dtype=dtype), array(*right, dtype=dtype, seed=1), np.zeros((m, n), out.numpy)]
    agree(b.finish(), arrays, ulps=2, relative=1e-4, absolute=1e-3)


def test_matmul_of_batches_and_views():
    b = Builder("matmul")
    x, w, y = matrix(b, "x", 2, 3, 9, 20), matrix(b, "w", 1, 3, 20, 17), matrix(b, "y", 2, 3, 17, 9)
    v = b.load(x, (2, 3, 8, 16), (0, 0, 1, 2))
    u = b.op("exp", b.load(w, (1, 3, 16, 17), (0, 0, 2, 0)))
    p = b.op("matmul", v, u, out_dtype=F32, a_trans=False, b_trans=False)
    b.store(y, b.op("permute", p, axes=(0, 1, 3, 2)), (0, 0, 0, 1))
    agree(
        b.finish(),
        [array(2, 3, 9, 20), array(1, 3, 20, 17, seed=1), np.zeros((2, 3, 17, 9), np.float32)],
        relative=1e-4,
        absolute=1e-3,
    )


def test_creation():
    b = Builder("creation")
    y, z = matrix(b, "y", 5, 40), matrix(b, "z", 40, dtype=I32)
    r = b.op("arange", start=1.5, step=0.25, count=40, dtype=F32)
    f = b.op("full", Literal(2.0, F32), shape=(5, 40), valid=None)
    b.store(y, b.op("mul", f, b.op("reshape", r, shape=(1, 40), valid=None)))
    b.store(z, b.op("arange", start=-3, step=7, count=40, dtype=I32))
    agree(b.finish(), [np.zeros((5, 40), np.float32), np.zeros(40, np.int32)])


def test_minimum_valid_of_two():
    b = Builder("valid")
    x, y, n = matrix(b, "x", 8, 40), matrix(b, "y", 8, 40), b.scalar_parameter("n")
    v = b.load(x, valid=(8, minimum(n, 40)))
    w = b.load(x, valid=(5, 40))
    b.store(y, b.op("add", b.op("exp", v), b.op("exp", w)))
    for count in (0, 3, 40):
        agree(b.finish(), [array(8, 40), np.zeros((8, 40), np.float32)], [count])


def test_results_do_not_depend_on_calls():
    b = Builder("large")
    x, y = matrix(b, "x", 512, 1000), matrix(b, "y", 512, 1000)
    b.store(y, softmax(b, b.load(x)))
    program = b.finish()
    (_, first), _ = both(program, [array(512, 1000), np.zeros((512, 1000), np.float32)])
    (_, second), _ = both(program, [array(512, 1000), np.zeros((512, 1000), np.float32)])
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("shape", [(300, 130, 500), (40, 64, 700), (33, 7, 17)])
def test_matmul_with_epilogue(shape, dtype):
    m, k, n = shape
    b = Builder("linear")
    x, w = matrix(b, "x", m, k, dtype=dtype), matrix(b, "w", k, n, dtype=dtype)
    bias, y = matrix(b, "b", 1, n), matrix(b, "y", m, n, dtype=dtype)
    p = b.op("matmul", b.load(x), b.load(w), out_dtype=F32, a_trans=False, b_trans=False)
    h = b.op("tanh", b.op("add", p, b.load(bias)))
    b.store(y, h if dtype is F32 else b.op("cast", h, dtype=dtype, mode="rint", saturate=False))
    program = b.finish()
    assert "then on every block" in generate(program).nests
    arrays = [array(m, k, dtype=dtype), array(k, n, dtype=dtype, seed=1), array(1, n, seed=2), np.zeros((m, n), dtype.numpy)]
    agree(program, arrays, ulps=2, relative=1e-4, absolute=1e-4)


def test_product_goes_straight_to_its_place():
    b = Builder("straight")
    x, w, y = matrix(b, "x", 64, 32), matrix(b, "w", 32, 48), matrix(b, "y", 70, 60)
    b.store(y, b.op("matmul", b.load(x), b.load(w), out_dtype=F32, a_trans=False, b_trans=False), (3, 5))
    program = b.finish()
    assert "nest" not in generate(program).nests
    agree(program, [array(64, 32), array(32, 48), array(70, 60)], relative=1e-4, absolute=1e-4)


def test_matmul_into_its_own_operand():
    b = Builder("own")
    x, w = matrix(b, "x", 64, 64), matrix(b, "w", 64, 64)
    b.store(x, b.op("matmul", b.load(x), b.load(w), out_dtype=F32, a_trans=False, b_trans=False))
    agree(b.finish(), [array(64, 64), array(64, 64)], relative=1e-4, absolute=1e-3)


def test_batches_shared_by_tasks():
    b = Builder("batches")
    x, w, y = matrix(b, "x", 40, 30, 64), matrix(b, "w", 40, 64, 48), matrix(b, "y", 40, 30, 48)
    b.store(y, b.op("exp", b.op("matmul", b.load(x), b.load(w), out_dtype=F32, a_trans=False, b_trans=False)))
    agree(b.finish(), [array(40, 30, 64) * 0.1, array(40, 64, 48), np.zeros((40, 30, 48), np.float32)], relative=1e-4)


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("shape", [(9, 40), (3, 20, 7), (1, 5), (5, 1)])
def test_triangles(name, shape):
    b = Builder("triangle")
    x, y, d = matrix(b, "x", *shape), matrix(b, "y", *shape), b.scalar_parameter("d")
    b.store(y, b.op(name, b.op("exp", b.load(x)), diagonal=d))
    for diagonal in (-3, 0, 2, 100):
        agree(b.finish(), [array(*shape), np.zeros(shape, np.float32)], [diagonal])


def test_light_branch_is_a_choice():
    b = Builder("choice")
    x, y, n = matrix(b, "x", 4, 16), matrix(b, "y", 4, 16), b.scalar_parameter("n")
    v = b.op("exp", b.load(x))
    then: list = []
    with b.block(then):
        full = b.op("full", Literal(-1.0, F32), shape=(4, 16), valid=None)
        a = b.op("add", v, b.op("triu", full, diagonal=n))
    result = Value(v.type)
    b.append(If(compare("lt", n, 3), Block(tuple(then), (a,)), Block((), (v,)), (result,)))
    b.store(y, softmax(b, result))
    program = b.finish()
    assert generate(program).nests.count("nest ") == 1
    for value in (-2, 1, 7):
        agree(program, [array(4, 16), np.zeros((4, 16), np.float32)], [value], relative=2e-5)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [F32, BF16, I8])
def test_gather(axis, dtype):
    shape, count = (4, 6, 20), [3, 5, 18]
    count[axis] = 25
    b = Builder("gather")
    x, i = matrix(b, "x", *shape, dtype=dtype), matrix(b, "i", *count, dtype=I32)
    y = matrix(b, "y", *count, dtype=dtype)
    b.store(y, b.op("add", b.op("gather", b.load(x), b.load(i), axis=axis), Literal(1, dtype)))
    numbers = np.random.default_rng(3).integers(0, shape[axis], count).astype(np.int32)
    agree(b.finish(), [array(*shape, dtype=dtype), numbers, np.zeros(count, dtype.numpy)])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("rank", [1, 2])
def test_index_select(axis, rank):
    shape, index_shape = (4, 6, 20), (7,) if rank == 1 else (3, 5)
    b = Builder("select")
    x, i = matrix(b, "x", *shape), matrix(b, "i", *index_shape, dtype=DataType.DT_INT64)
    r = b.op("index_select", b.op("exp", b.load(x)), b.load(i), axis=axis)
    y = matrix(b, "y", *r.type.shape)
    b.store(y, b.op("neg", r))
    numbers = np.random.default_rng(3).integers(0, shape[axis], index_shape)
    agree(b.finish(), [array(*shape), numbers, np.zeros(r.type.shape, np.float32)])


def test_index_outside_stops():
    b = Builder("select")
    x, i, y = matrix(b, "x", 8, 4), matrix(b, "i", 5, dtype=I32), matrix(b, "y", 5, 4)
    b.store(y, b.op("index_select", b.load(x), b.load(i), axis=0))
    program = b.finish()
    kernel = build(program)
    for wrong in (-1, 8):
        with pytest.raises(IndexOutOfBounds, match=f"index_select: index {wrong} is outside axis 0 of size 8"):
            launch(kernel, program, [array(8, 4), np.array([0, 7, wrong, 99, 1], np.int32), np.zeros((5, 4), np.float32)])


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("dtype", [F32, BF16])
def test_scatter_update(in_place, dtype):
    b = Builder("scatter")
    x, i, s = matrix(b, "x", 12, 10, dtype=dtype), matrix(b, "i", 2, 3, dtype=I32), matrix(b, "s", 6, 10, dtype=dtype)
    b.store(x, b.op("scatter_update", b.load(x), b.load(i), b.load(s)))
    program = storage(b.finish()) if in_place else b.finish()
    assert ("nest" not in generate(program).nests) == in_place
    agree(program, [array(12, 10, dtype=dtype), np.array([[3, 0, 11], [3, 5, 6]], np.int32), array(6, 10, dtype=dtype, seed=1)])


def test_scatter_update_of_blocks():
    b = Builder("scatter")
    x, i, s = matrix(b, "x", 3, 4, 1, 10), matrix(b, "i", 2, 3, dtype=I32), matrix(b, "s", 2, 3, 1, 10)
    b.store(x, b.op("scatter_update", b.load(x), b.load(i), b.load(s)))
    agree(b.finish(), [array(3, 4, 1, 10), np.array([[3, 0, 11], [3, 5, 6]], np.int32), array(2, 3, 1, 10, seed=1)])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [F32, BF16, I32])
def test_cumsum(axis, dtype):
    shape = (3, 18, 70)
    b = Builder("cumsum")
    x = matrix(b, "x", *shape, dtype=dtype)
    r = b.op("cumsum", b.op("abs", b.load(x)), axis=axis)
    r = b.op("add", r, b.op("amax", r, axis=axis, keepdim=True))
    y = matrix(b, "y", *shape, dtype=r.type.dtype)
    b.store(y, r)
    agree(b.finish(), [array(*shape, dtype=dtype), np.zeros(shape, r.type.dtype.numpy)], ulps=8, relative=1e-5)


def test_what_a_kernel_needs_can_be_kept():
    b = Builder("kept")
    x, y, i = matrix(b, "x", 8, 4), matrix(b, "y", 5, 4), matrix(b, "i", 5, dtype=I32)
    values, _ = b.op("topk", b.op("index_select", b.load(x), b.load(i), axis=0), k=4, largest=True)
    b.store(y, values)
    generated = pickle.loads(pickle.dumps(generate(b.finish(), host())))
    kernel = Kernel(generated, host().compile(generated.text), runtime_library())
    arrays = [array(8, 4), np.zeros((5, 4), np.float32), np.array([0, 7, 3, 3, 9], np.int32)]
    with pytest.raises(IndexOutOfBounds, match="index 9"):
        launch(kernel, b.finish(), arrays)
    arrays[2][4] = 1
    launch(kernel, b.finish(), arrays)
    np.testing.assert_array_equal(arrays[1], -np.sort(-arrays[0][arrays[2]], -1))


def test_same_bits_for_any_number_of_workers():
    b = Builder("bits")
    x, w, y, z = matrix(b, "x", 700, 300), matrix(b, "w", 300, 500), matrix(b, "y", 700, 500), matrix(b, "z", 1, 500)
    p = softmax(b, b.op("matmul", b.load(x), b.load(w), out_dtype=F32, a_trans=False, b_trans=False))
    b.store(y, p)
    b.store(z, b.op("sum", b.op("exp", p), axis=0, keepdim=True))
    program = b.finish()
    kernel = build(program)
    found = []
    for count in (1, 2, 4):
        with options.scope("test", {"cpu.threads": count}):
            runtime_library()
            arrays = [array(700, 300), array(300, 500, seed=1), np.zeros((700, 500), np.float32), np.zeros((1, 500), np.float32)]
            launch(kernel, program, arrays)
            found.append(arrays[2:])
    for other in found[1:]:
        for a, c in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, c)


@pytest.mark.parametrize("shift", [0, 1])
def test_large_outputs_bypass_the_caches(shift):
    rows, columns = 2100, 4096  # 34 MB
    b = Builder("large")
    x, y = matrix(b, "x", rows, 1), matrix(b, "y", rows, columns)
    b.store(y, b.op("add", b.op("expand_clone", b.load(x), shape=(rows, columns), valid=None), Literal(1.0, F32)))
    program = b.finish()
    assert "nontemporal" in generate(program).text
    space = np.zeros(rows * columns + 64, np.float32)
    start = (-space.ctypes.data // 4) % 16 + shift
    out = space[start : start + rows * columns].reshape(rows, columns)
    source = array(rows, 1)
    launch(build(program), program, [source, out])
    np.testing.assert_array_equal(out, np.broadcast_to(source + 1, out.shape))
    assert not space[:start].any() and not space[start + out.size :].any()


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", [F32, BF16, I8, DataType.DT_UINT64, DataType.DT_DOUBLE])
def test_topk(largest, dtype):
    x = array(3, 40, 50, dtype=dtype)
    if dtype.is_float:
        x[0, 0, [3, 9, 20]] = np.nan
        x[0, 1, :10] = 0.0
        x[0, 1, 5] = -0.0
        x[0, 2] = np.inf
        x[0, 3, ::2] = -np.inf
    b = Builder("topk")
    s = matrix(b, "x", 3, 40, 50, dtype=dtype)
    values, places = b.op("topk", b.load(s, (3, 40, 64), (0, 0, 0)), k=9, largest=largest)
    y, z = matrix(b, "y", 3, 40, 9, dtype=dtype), matrix(b, "z", 3, 40, 9, dtype=I32)
    b.store(y, values)
    b.store(z, places)
    agree(b.finish(), [x, np.zeros((3, 40, 9), dtype.numpy), np.zeros((3, 40, 9), np.int32)], ulps=0)


def test_what_has_no_native_code_calls_back():
    b = Builder("back")
    x, w, n = matrix(b, "x", 16, 24), matrix(b, "w", 24, 8), b.scalar_parameter("n")
    y = matrix(b, "y", 16, 8)
    with b.loop(0, n) as i:
        v = b.load(x, valid=(add(i, 1), 24))
        p = b.op("matmul", v, b.load(w), out_dtype=F32, a_trans=False, b_trans=False, trans_mode="rint")
        b.store(y, b.op("add", p, p))
    program = b.finish()
    generated = pickle.loads(pickle.dumps(generate(program, host())))
    assert "call matmul" in generated.nests
    Kernel(generated, host().compile(generated.text), runtime_library())
    agree(program, [array(16, 24), array(24, 8), np.zeros((16, 8), np.float32)], [5])


@pytest.mark.parametrize("out", [DataType.DT_FP16, I8])
@pytest.mark.parametrize("columns", [False, True])
def test_scaled_matmul(out, columns):
    b = Builder("scaled")
    x, w, s = matrix(b, "x", 40, 24, dtype=I8), matrix(b, "w", 24, 33, dtype=I8), matrix(b, "s", 1, 33, dtype=DataType.DT_INT64)
    y = matrix(b, "y", 40, 33, dtype=out)
    extra = {"scale_tensor": True} if columns else {"scale": 0.011}
    operands = [b.load(x), b.load(w), *([b.load(s)] if columns else [])]
    b.store(y, b.op("matmul", *operands, out_dtype=out, a_trans=False, b_trans=False, relu=True, **extra))
    program = b.finish()
    assert "call" not in generate(program).nests
    words = (array(1, 33, seed=4) * 0.02).view(np.uint32).astype(np.int64) | (7 << 40)
    agree(program, [array(40, 24, dtype=I8), array(24, 33, dtype=I8, seed=1), words, np.zeros((40, 33), out.numpy)], ulps=1)


@pytest.mark.parametrize("dtypes", [(DataType.DT_FP8E4M3, DataType.DT_FP8E5M2), (DataType.DT_FP8E5M2, DataType.DT_FP8E5M2)])
def test_matmul_of_eight_bit_floats(dtypes):
    b = Builder("eight")
    x, w, y = matrix(b, "x", 40, 24, dtype=dtypes[0]), matrix(b, "w", 33, 24, dtype=dtypes[1]), matrix(b, "y", 40, 33)
    b.store(y, b.op("matmul", b.load(x), b.load(w), out_dtype=F32, a_trans=False, b_trans=True))
    arrays = [array(40, 24, dtype=dtypes[0]), array(33, 24, dtype=dtypes[1]), np.zeros((40, 33), np.float32)]
    agree(b.finish(), arrays, relative=1e-5, absolute=1e-5)


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize("sizes", [(128, 256, 64), (100, 300, 40)])
@pytest.mark.parametrize("tasks", [True, False])
def test_attention(dtype, sizes, tasks, eager_tasks):
    """Online softmax: carried maximum, sum and result; inside tasks the chain runs in bands."""
    rows, columns, size = sizes
    b = Builder("attention")
    q, k, v = (matrix(b, n, 4, m, size, dtype=dtype) for n, m in (("q", rows), ("k", 3 * columns), ("v", 3 * columns)))
    y = matrix(b, "y", 4, rows, size)
    with b.loop(0, 4, independent=tasks) as h:
        query = b.op("reshape", b.load(q, (1, rows, size), (h, 0, 0), (1, rows, size)), shape=(rows, size), valid=None)
        start = [b.op("full", Literal(x, F32), shape=(rows, n), valid=None) for x, n in ((-1e30, 1), (0.0, 1), (0.0, size))]

        def step(j: Symbol, top: Value, total: Value, result: Value, query=query, h=h) -> list[Value]:
            region = ((1, columns, size), (h, mul(j, columns), 0), (1, columns, size))
            keys, values = (b.op("reshape", b.load(s, *region), shape=(columns, size), valid=None) for s in (k, v))
            scores = b.op("matmul", query, keys, out_dtype=F32, a_trans=False, b_trans=True)
            scores = b.op("mul", scores, Literal(0.2, F32))
            new_top = b.op("maximum", top, b.op("amax", scores, axis=1, keepdim=True))
            weights, decay = b.op("exp", b.op("sub", scores, new_top)), b.op("exp", b.op("sub", top, new_top))
            total = b.op("add", b.op("mul", total, decay), b.op("sum", weights, axis=1, keepdim=True))
            if dtype is not F32:
                weights = b.op("cast", weights, dtype=dtype, mode="rint", saturate=False)
            product = b.op("matmul", weights, values, out_dtype=F32, a_trans=False, b_trans=False)
            return [new_top, total, b.op("add", b.op("mul", result, decay), product)]

        index = Symbol("j")
        arguments = [Value(s.type) for s in start]
        results = [Value(s.type) for s in start]
        statements: list = []
        with b.block(statements):
            yields = step(index, *arguments)
        carried = tuple(Carried(a, s, r) for a, s, r in zip(arguments, start, results, strict=True))
        b.append(Loop(index, 0, 3, 1, Block(tuple(statements), tuple(yields)), carried))
        _, total, result = results
        b.store(y, b.op("reshape", b.op("div", result, total), shape=(1, rows, size), valid=None), (h, 0, 0))
    program = storage(b.finish())
    assert ("for every" in generate(program).nests) == tasks
    arrays = [array(4, n, size, dtype=dtype, seed=i) for i, n in enumerate((rows, 3 * columns, 3 * columns))]
    agree(
        program,
        [*arrays, np.zeros((4, rows, size), np.float32)],
        relative=1e-2 if dtype is BF16 else 1e-4,
        absolute=1e-2 if dtype is BF16 else 1e-4,
    )


def test_numbers_that_are_not_finite():
    b = Builder("finite")
    y, n = matrix(b, "y", 8, dtype=I32), b.scalar_parameter("n", "float")
    b.effect("write", y, apply("int", n), indices=(0,))
    program = b.finish()
    kernel = build(program)
    out = np.zeros(8, np.int32)
    launch(kernel, program, [out], [-3.7])
    assert out[0] == -3
    for wrong in (float("inf"), float("nan")):
        with pytest.raises(ScalarNotFiniteInRun):
            launch(kernel, program, [out], [wrong])


def test_deep_expressions():
    b = Builder("deep")
    y, n = matrix(b, "y", 8, dtype=I32), b.scalar_parameter("n")
    deep, choices, shared = n, n, n
    for step in range(900):
        deep = add(mul(mod(deep, 1000) if step % 7 == 0 else deep, 3 if step % 7 == 0 else 1), sub(n, step))
        choices = select(compare("lt", choices, step), add(choices, 2), floordiv(choices, maximum(n, 1)))
    for _ in range(60):
        shared = sub(add(shared, 1), mul(shared, n))
    b.effect("write", y, mod(deep, 1000), indices=(0,))
    b.effect("write", y, choices, indices=(1,))
    b.effect("write", y, mod(shared, 1000), indices=(2,))
    b.effect("write", y, select(compare("eq", n, 0), 7, floordiv(10, n)), indices=(3,))
    program = b.finish()
    kernel = build(program)
    for value in (0, 1, 2):
        out = np.zeros(8, np.int32)
        launch(kernel, program, [out], [value])
        assert out[0] == evaluate(deep, {n: value}) % 1000
        assert out[1] == evaluate(choices, {n: value})
        assert out[2] == evaluate(shared, {n: value}) % 1000
        assert out[3] == (7 if value == 0 else 10 // value)


@pytest.mark.parametrize("shape", [(64, 48), (50, 70), (33, 100)])
@pytest.mark.parametrize("dtype", [F32, BF16, I8, DataType.DT_DOUBLE])
@pytest.mark.parametrize("axes", [(0, 2, 1), (2, 1, 0), (2, 0, 1)])
def test_turned_loads(shape, dtype, axes):
    b = Builder("turned")
    full = (3, *shape)
    x = matrix(b, "x", *full, dtype=dtype)
    t = b.op("permute", b.load(x), axes=axes)
    w, y = matrix(b, "w", *t.type.shape, dtype=dtype), matrix(b, "y", *t.type.shape, dtype=dtype)
    b.store(y, b.op("add", b.op("neg", t), b.load(w)))
    agree(b.finish(), [array(*full, dtype=dtype), array(*t.type.shape, dtype=dtype, seed=1), np.zeros(t.type.shape, dtype.numpy)])


@pytest.mark.parametrize("tasks", [True, False])
def test_sizes_found_on_the_way(tasks, eager_tasks):
    b = Builder("late")
    sizes, x, y = matrix(b, "n", 5, dtype=I32), matrix(b, "x", 1, 16), matrix(b, "y", 5, 16)
    with b.loop(0, 5, independent=tasks) as i:
        n = b.read(sizes, (i,))
        full = b.op("expand_clone", b.op("exp", b.load(x)), shape=(n, 16), valid=None)
        turned = b.op("permute", b.op("cumsum", full, axis=0), axes=(1, 0))
        total = b.op("amax", b.op("neg", turned), axis=1, keepdim=True)
        b.store(y, b.op("permute", total, axes=(1, 0)), (i, 0))
    program = b.finish()
    assert "pypto_acquire" in generate(program).text
    agree(program, [np.array([3, 1, 700, 2, 64], np.int32), array(1, 16), np.zeros((5, 16), np.float32)], relative=1e-5)


@pytest.mark.parametrize("tasks", [True, False])
def test_a_kernel_that_stops_gives_back_what_it_acquired_on_the_way(tasks, eager_tasks):
    b = Builder("leak")
    sizes, x, y = matrix(b, "n", 2, dtype=I32), matrix(b, "x", 1, 16), matrix(b, "y", 2, 16)
    with b.loop(0, 2, independent=tasks) as i:
        n = b.read(sizes, (i,))
        full = b.op("expand_clone", b.op("exp", b.load(x)), shape=(n, 16), valid=None)
        largest, _ = b.op("topk", full, k=16, largest=True)
        b.effect("check", compare("lt", n, 3), error=LoopStepZeroInRun())
        b.store(y, b.op("amax", largest, axis=0, keepdim=True), (i, 0))
    program = b.finish()
    kernel = build(program)
    trim = ctypes.CFUNCTYPE(ctypes.c_int64)(runtime_library().parts["core"]["pypto_scratch_trim"])
    trim()
    for _ in range(3):
        with pytest.raises(LoopStepZeroInRun):
            launch(kernel, program, [np.array([1, 1000], np.int32), array(1, 16), np.zeros((2, 16), np.float32)])
    assert trim() >= 1000 * 16 * 4


@pytest.mark.parametrize("seen", [False, True])
def test_only_products_may_flush(seen):
    b = Builder("flush")
    x, w, y, z = (
        matrix(b, "x", 32, 64),
        matrix(b, "w", 64, 32, dtype=BF16),
        matrix(b, "y", 32, 32),
        matrix(b, "z", 32, 64, dtype=BF16),
    )
    narrow = b.op("cast", b.op("mul", b.load(x), Literal(1.0, F32)), dtype=BF16, mode="rint", saturate=False)
    b.store(y, b.op("matmul", narrow, b.load(w), out_dtype=F32, a_trans=False, b_trans=False))
    if seen:
        b.store(z, b.op("add", b.op("permute", b.op("permute", narrow, axes=(1, 0)), axes=(1, 0)), Literal(0.0, BF16)))
    program = b.finish()
    if host().has("avx512bf16"):
        assert ("cvtneps2bf16" in generate(program).text) != seen
    small = array(32, 64)
    small[0] *= np.float32(1e-39)
    agree(
        program,
        [small, array(64, 32, dtype=BF16), np.zeros((32, 32), np.float32), np.zeros((32, 64), BF16.numpy)],
        relative=1e-4,
        absolute=1e-4,
    )
