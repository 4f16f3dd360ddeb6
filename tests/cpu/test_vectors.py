"""The vector builder against numpy and ml_dtypes: arithmetic, types, memory, reductions, per instruction set."""

import numpy as np
import pytest
from vector_harness import ALL, RUNNABLE, call, floats, load, module_of, run

from pypto.cpu.link import undefined_symbols
from pypto.cpu.target import Target, named
from pypto.cpu.text import Module
from pypto.cpu.vectors import LANES, Vectors
from pypto.dtypes import DataType as D

INTEGERS = [D.DT_INT8, D.DT_INT16, D.DT_INT32, D.DT_INT64, D.DT_UINT8, D.DT_UINT16, D.DT_UINT32, D.DT_UINT64]
NARROW = [D.DT_BF16, D.DT_FP16, D.DT_FP8E4M3, D.DT_FP8E5M2, D.DT_FP8E8M0]
MEMORY = [D.DT_BOOL, D.DT_INT8, D.DT_UINT16, D.DT_BF16, D.DT_FP16, D.DT_FP32, D.DT_INT32, D.DT_DOUBLE, D.DT_INT64]
X = floats(2**14)
Y = np.random.default_rng(3).permutation(X)


def integers(dtype, count=1000, seed=0):
    info = np.iinfo(dtype.numpy)
    random = np.random.default_rng(seed)
    edges = np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, info.max // 2], dtype.numpy)
    small = random.integers(max(info.min, -9), 9, count).astype(dtype.numpy)
    wide = random.integers(info.min, info.max, count, dtype=dtype.numpy, endpoint=True)
    return np.concatenate([np.repeat(edges, len(edges)), small, wide]), np.concatenate(
        [np.tile(edges, len(edges)), random.permutation(small), random.permutation(wide)]
    )


def same(got, want):
    """Bit-equal, any NaN equal to any NaN."""
    if got.dtype.kind == "f":
        nan = np.isnan(want)
        return bool((np.isnan(got) == nan).all() and (got.view(f"u{got.itemsize}") == want.view(f"u{got.itemsize}"))[~nan].all())
    return got.tobytes() == want.tobytes()


# -- floats --------------------------------------------------------------------------------------------------------------------

FLOAT_OPERATIONS = {
    "add": (lambda b, x, y: b.add(x, y), lambda x, y: x + y),
    "sub": (lambda b, x, y: b.sub(x, y), lambda x, y: x - y),
    "mul": (lambda b, x, y: b.mul(x, y), lambda x, y: x * y),
    "div": (lambda b, x, y: b.div(x, y), lambda x, y: x / y),
    "min": (lambda b, x, y: b.min(x, y), np.minimum),
    "max": (lambda b, x, y: b.max(x, y), np.maximum),
    "copysign": (lambda b, x, y: b.copysign(x, y), np.copysign),
    "neg": (lambda b, x, y: b.neg(x), lambda x, y: -x),
    "abs": (lambda b, x, y: b.abs(x), lambda x, y: np.abs(x)),
    "sqrt": (lambda b, x, y: b.sqrt(x), lambda x, y: np.sqrt(x)),
    "floor": (lambda b, x, y: b.floor(x), lambda x, y: np.floor(x)),
    "ceil": (lambda b, x, y: b.ceil(x), lambda x, y: np.ceil(x)),
    "trunc": (lambda b, x, y: b.trunc(x), lambda x, y: np.trunc(x)),
    "round_even": (lambda b, x, y: b.round_even(x), lambda x, y: np.rint(x)),
    "round_away": (
        lambda b, x, y: b.round_away(x),
        lambda x, y: np.where(np.abs(x - np.trunc(x)) >= 0.5, np.trunc(x) + np.copysign(1, x), np.trunc(x)).astype(x.dtype),
    ),
}


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("dtype", [D.DT_FP32, D.DT_DOUBLE])
@pytest.mark.parametrize("name", FLOAT_OPERATIONS)
def test_float_operations(name, dtype, isa):
    build, meaning = FLOAT_OPERATIONS[name]
    x, y = X.astype(dtype.numpy), Y.astype(dtype.numpy)
    with np.errstate(all="ignore"):
        want = meaning(x, y)
        got = run(build, [x, y], dtype, isa)
    if name in ("min", "max"):
        assert (got.view(f"u{got.itemsize}") == want.view(f"u{got.itemsize}"))[~np.isnan(want) & (want != 0)].all()
        assert (np.isnan(got) == np.isnan(want)).all() and (got == want)[want == 0].all()
    else:
        assert same(got, want)


@pytest.mark.parametrize("isa", RUNNABLE)
def test_fma_rounds_once(isa):
    x, y, z = (np.random.default_rng(k).standard_normal(999).astype(np.float32) for k in range(3))
    got = run(lambda b, x, y, z: b.fma(x, y, z), [x, y, z], D.DT_FP32, isa)
    assert same(got, (x.astype(np.float64) * y + z).astype(np.float32))


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize(
    "predicate, meaning",
    [
        ("eq", np.equal),
        ("ne", np.not_equal),
        ("lt", np.less),
        ("le", np.less_equal),
        ("gt", np.greater),
        ("ge", np.greater_equal),
        ("uno", lambda x, y: np.isnan(x) | np.isnan(y)),
    ],
)
@pytest.mark.parametrize("dtype", [D.DT_FP32, D.DT_INT8, D.DT_UINT32, D.DT_INT64])
def test_comparisons(predicate, meaning, dtype, isa):
    x, y = (X, Y) if dtype is D.DT_FP32 else integers(dtype)
    want = np.zeros(len(x), bool) if predicate == "uno" and dtype is not D.DT_FP32 else meaning(x, y)
    assert (run(lambda b, x, y: b.compare(predicate, x, y), [x, y], D.DT_BOOL, isa) == want).all()
    both = run(lambda b, x, y: b.mask_not(b.mask_and(b.compare(predicate, x, y), b.compare("eq", x, x))), [x, y], D.DT_BOOL, isa)
    assert (both == ~(want & (x == x))).all()


# -- integers ------------------------------------------------------------------------------------------------------------------


def truncating(x, y):
    """(quotient, remainder) as documented: 0 where the divisor is 0 or the quotient does not fit."""
    quotient, rest = np.zeros_like(x), np.zeros_like(x)
    info = np.iinfo(x.dtype)
    for place, (a, b) in enumerate(zip(x.tolist(), y.tolist())):
        if b != 0:
            q = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
            quotient[place] = q if q <= info.max else 0
            rest[place] = a - q * b
    return quotient, rest


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_operations(dtype, isa):
    x, y = integers(dtype)
    amount = np.random.default_rng(5).integers(0, 2 * dtype.bits, len(x)).astype(dtype.numpy)
    quotient, rest = truncating(x, y)
    with np.errstate(all="ignore"):
        cases = [
            (lambda b, x, y: b.add(x, y), [x, y], x + y),
            (lambda b, x, y: b.sub(x, y), [x, y], x - y),
            (lambda b, x, y: b.mul(x, y), [x, y], x * y),
            (lambda b, x, y: b.min(x, y), [x, y], np.minimum(x, y)),
            (lambda b, x, y: b.max(x, y), [x, y], np.maximum(x, y)),
            (lambda b, x, y: b.bit_xor(b.bit_and(x, y), b.bit_not(b.bit_or(x, y))), [x, y], (x & y) ^ ~(x | y)),
            (lambda b, x: b.neg(x), [x], (0 - x).astype(dtype.numpy)),
            (lambda b, x: b.abs(x), [x], np.abs(x)),
            (lambda b, x: b.shift_right(x, b.constant(3)), [x], x >> dtype.numpy.type(3)),
            (lambda b, x, y: b.shift_left(x, y), [x, amount], x << amount),
            (lambda b, x, y: b.shift_right(x, y), [x, amount], x >> amount),
            (lambda b, x, y: b.divide_integers(x, y), [x, y], quotient),
            (lambda b, x, y: b.remainder_integers(x, y), [x, y], rest),
        ]
    for number, (build, arrays, want) in enumerate(cases):
        got = run(build, arrays, dtype, isa)
        assert same(got, want), number


# -- types ---------------------------------------------------------------------------------------------------------------------


def without_f16c():
    base = named("avx2")
    return Target(base.triple, base.features - {"f16c"}, base.host)


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats_as_ml_dtypes(dtype, isa):
    x = floats(2**17)
    with np.errstate(all="ignore"):
        want = x.astype(dtype.numpy)
    got = run(lambda b, v: v, [x], dtype, isa)
    assert same_bits(got, want)
    everything = np.arange(2 ** (8 * dtype.size), dtype=f"u{dtype.size}").view(dtype.numpy)
    wide = run(lambda b, v: v, [everything], D.DT_FP32, isa)
    assert same(wide, everything.astype(np.float32))
    rounded = run(lambda b, v: b.rounded(v, dtype), [x], D.DT_FP32, isa)
    assert same(rounded, want.astype(np.float32))


def same_bits(got, want):
    kind = f"u{got.itemsize}"
    skip = np.isnan(want.astype(np.float32)) if want.dtype == np.float16 else np.zeros(len(want), bool)
    return (got.view(kind) == want.view(kind))[~skip].all() and np.isnan(got.astype(np.float32))[skip].all()


@pytest.mark.skipif("avx2" not in RUNNABLE, reason="x86 only")
@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats_without_hardware_conversion(dtype, monkeypatch):
    import vector_harness

    monkeypatch.setattr(vector_harness, "named", lambda isa: without_f16c())
    test_narrow_floats_as_ml_dtypes(dtype, "avx2")


COMPUTE = [D.DT_FP32, D.DT_DOUBLE, *INTEGERS]


def converted(x, source, target):
    """numpy's meaning where it has one: truncate, saturate, NaN 0; integers wrap."""
    if source.is_float and not target.is_float:
        info = np.iinfo(target.numpy)
        limit = [min(max(int(v), info.min), info.max) if np.isfinite(v) else 0 for v in np.nan_to_num(x.astype(float), nan=0.0)]
        limit = [info.max if v == np.inf else info.min if v == -np.inf else n for v, n in zip(x, limit)]
        return np.array(limit, target.numpy)
    return x.astype(target.numpy)


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("source", COMPUTE)
def test_convert(source, isa):
    x = floats(2**11).astype(source.numpy) if source.is_float else integers(source)[0]
    if source.is_float:
        x = np.concatenate([x, np.array([127.5, 128, 255.9, 256, 32767.5, 65535.5, 2147483648.0, -129, -32769.5], source.numpy)])
    with np.errstate(all="ignore"):
        for target in COMPUTE:
            got = run(lambda b, v: b.convert(v, target), [x], target, isa, inputs=[source])
            assert same(got, converted(x, source, target)), target
        as_bool = run(lambda b, v: b.convert(v, D.DT_BOOL), [x], D.DT_BOOL, isa, inputs=[source])
    assert (as_bool == (x != 0)).all()


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("target", [D.DT_FP32, D.DT_INT8, D.DT_INT64, D.DT_BF16])
def test_convert_from_bool(target, isa):
    x = np.array([0, 1, 1, 0, 1] * 7, bool)
    assert same_bits(run(lambda b, v: b.convert(v, target), [x], target, isa), x.astype(target.numpy))


CASTS = [
    (D.DT_FP32, [D.DT_BF16, D.DT_FP16, D.DT_FP8E4M3, D.DT_FP8E5M2, D.DT_INT8, D.DT_INT16, D.DT_INT32, D.DT_INT64, D.DT_UINT8]),
    (D.DT_FP16, [D.DT_INT8, D.DT_UINT8, D.DT_INT32, D.DT_FP32]),
    (D.DT_BF16, [D.DT_FP16, D.DT_INT32, D.DT_FP32]),
]


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("mode", ["rint", "round", "floor", "ceil", "trunc", "odd"])
@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("source, targets", CASTS)
def test_cast_is_the_reference_engine(source, targets, mode, saturate, isa):
    from pypto.ops.casting import convert

    with np.errstate(all="ignore"):
        near = np.random.default_rng(0).standard_normal(4000).astype(np.float32) * np.float32(300)
        x = np.concatenate([floats(2**13), near, np.arange(-600, 600, dtype=np.float32) / 4]).astype(source.numpy)
        for target in targets:
            want = convert(x, dtype=target, mode=mode, saturate=saturate)
            got = run(lambda b, v: b.cast(v, source, target, mode, saturate), [x], target, isa, inputs=[source])
            if target.is_float:
                assert same_bits(got, want) or same(got.astype(np.float32), want.astype(np.float32)), target
            else:
                assert same(got, want), target


# -- memory --------------------------------------------------------------------------------------------------------------------


def memory_kernel(target, build):
    """``void kernel(ptr source, ptr target, i64 a, i64 b)``."""
    module = Module()
    f = module.function("void", "kernel", [("ptr", "source"), ("ptr", "target"), ("i64", "a"), ("i64", "b")])
    build(Vectors(f, target, D.DT_FP32), *f.arguments)
    f.ret()
    return load(module, target)


def sample(dtype, count):
    random = np.random.default_rng(7)
    if dtype is D.DT_BOOL:
        return random.integers(0, 2, count).astype(bool)
    return random.integers(0, 100, count).astype(dtype.numpy)


def filled(dtype, count):
    """Memory whose every byte is known, as elements."""
    return np.full(count * dtype.size, 0x01 if dtype is D.DT_BOOL else 0x5A, np.uint8).view(dtype.numpy)


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("dtype", MEMORY)
def test_tails_touch_nothing_else(dtype, isa):
    def build(b, source, target, count, _):
        tail = b.tail(count)
        b.store(dtype, b.load(dtype, source, tail), target, tail)

    library = memory_kernel(named(isa), build)
    data = sample(dtype, LANES)
    for count in range(1, LANES + 1):
        # The source ends exactly where an unreadable page begins.
        page = guarded_page(data[:count].tobytes())
        out = filled(dtype, LANES + 4)
        call(library["kernel"], page.address, out.ctypes.data, count, 0)
        assert (out[:count] == data[:count]).all() and out[count:].tobytes() == filled(dtype, LANES + 4 - count).tobytes()


class guarded_page:
    """Bytes placed at the end of a mapping whose next page cannot be read."""

    def __init__(self, data):
        import ctypes
        import mmap

        self.memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        protect = ctypes.CDLL(None).mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        assert protect(start + mmap.PAGESIZE, mmap.PAGESIZE, 0) == 0
        self.address = start + mmap.PAGESIZE - len(data)
        self.memory[mmap.PAGESIZE - len(data) : mmap.PAGESIZE] = data


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("dtype", MEMORY)
def test_strides(dtype, isa):
    def build(b, source, target, stride, count):
        tail = b.tail(count)
        b.store(dtype, b.load_strided(dtype, source, stride, tail), target, tail)
        b.store_strided(dtype, b.load(dtype, source), b.function.gep("i8", target, 64 * dtype.size), stride)
        b.store(dtype, b.load_broadcast(dtype, source), b.function.gep("i8", target, 200 * dtype.size))
        b.store(dtype, b.load_strided(dtype, source, 3), b.function.gep("i8", target, 232 * dtype.size))

    library = memory_kernel(named(isa), build)
    data = sample(dtype, LANES * 5)
    for stride, count in ((1, 16), (2, 5), (5, 16), (3, 1)):
        out = filled(dtype, 256)
        call(library["kernel"], data.ctypes.data, out.ctypes.data, stride, count)
        assert (out[:count] == data[: stride * LANES : stride][:count]).all()
        assert out[count:64].tobytes() == filled(dtype, 64 - count).tobytes()
        want = filled(dtype, 136)
        want[: stride * LANES : stride] = data[:LANES]
        assert out[64:200].tobytes() == want.tobytes()
        assert (out[200:216] == data[0]).all() and (out[232:248] == data[:48:3]).all()


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("dtype", MEMORY)
def test_gather_and_scatter(dtype, isa):
    places = np.array([3, 1, 4, 15, 9, 2, 6, 5, 35, 8, 97, 93, 23, 84, 62, 3, 3, 1], np.int64)

    def build(b, source, target, index, count):
        lanes = b.load(D.DT_INT64, b.function.cast("inttoptr", "i64", index, "ptr"))
        tail = b.tail(count)
        b.store(dtype, b.gather(dtype, source, lanes, tail), target, tail)
        b.scatter(dtype, b.load(dtype, source), b.function.gep("i8", target, 32 * dtype.size), lanes, tail)

    library = memory_kernel(named(isa), build)
    data = sample(dtype, 100)
    for count in (16, 5):
        out = filled(dtype, 160)
        wild = places.copy()
        wild[count:16] = 1 << 40  # dead lanes may hold anything
        call(library["kernel"], data.ctypes.data, out.ctypes.data, wild.ctypes.data, count)
        assert (out[:count] == data[places[:count]]).all()
        want = filled(dtype, 128)
        for lane in range(count):
            want[places[lane]] = data[lane]
        assert out[32:].tobytes() == want.tobytes()


@pytest.mark.parametrize("isa", RUNNABLE)
def test_streaming_store(isa):
    def build(b, source, target, *_):
        b.store(D.DT_FP32, b.load(D.DT_FP32, source), target, align=64, streaming=True)

    library = memory_kernel(named(isa), build)
    data, raw = sample(D.DT_FP32, 16), np.zeros(64, np.float32)
    out = raw[(-raw.ctypes.data % 64) // 4 :][:16]
    call(library["kernel"], data.ctypes.data, out.ctypes.data, 0, 0)
    assert (out == data).all()


# -- reductions ----------------------------------------------------------------------------------------------------------------


def tree(values, join):
    while len(values) > 1:
        half = len(values) // 2
        values = [join(values[i], values[i + half]) for i in range(half)]
    return values[0]


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("kind, join", [("add", np.add), ("mul", np.multiply), ("max", np.maximum), ("min", np.minimum)])
@pytest.mark.parametrize("dtype", [D.DT_FP32, D.DT_INT8, D.DT_INT64])
def test_reductions_use_one_tree(kind, join, dtype, isa):
    def build(b, source, target, *_):
        v = b.load(dtype, source)
        b.function.store(v.element, b.reduce(kind, v), target)

    library = memory_kernel(named(isa), build)
    for seed in range(20):
        random = np.random.default_rng(seed)
        data = random.standard_normal(16).astype(np.float32) if dtype.is_float else integers(dtype, seed=seed)[0][-16:].copy()
        if dtype.is_float and seed % 4 == 3:
            data[random.integers(16)] = np.nan
        out = np.zeros(1, dtype.numpy)
        call(library["kernel"], data.ctypes.data, out.ctypes.data, 0, 0)
        with np.errstate(all="ignore"):
            assert same(out, np.array([tree(list(data), join)]))


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("kind, meaning", [("argmax", np.argmax), ("argmin", np.argmin)])
@pytest.mark.parametrize("dtype", [D.DT_FP32, D.DT_INT32])
def test_argument_reductions(kind, meaning, dtype, isa):
    def build(b, source, target, *_):
        v = b.load(dtype, source)
        value, place = b.reduce_argument(kind, v, b.iota(dtype=D.DT_INT32))
        b.function.store("i32", place, target)
        b.function.store(v.element, value, b.function.gep("i32", target, 1))

    library = memory_kernel(named(isa), build)
    for seed in range(40):
        random = np.random.default_rng(seed)
        data = random.integers(-3, 4, 16).astype(dtype.numpy)
        if dtype.is_float:
            data[random.integers(0, 16, seed % 4)] = np.nan
        out = np.zeros(2, np.int32)
        call(library["kernel"], data.ctypes.data, out.ctypes.data, 0, 0)
        assert out[0] == meaning(data)  # numpy too: the first NaN wins, ties take the lowest place
        assert out[1:].view(dtype.numpy)[0] == data[out[0]] or np.isnan(data[out[0]])


# -- foreign targets -----------------------------------------------------------------------------------------------------------


def everything(b, *vectors):
    """One of each kind of line that might need help from a library."""
    x = vectors[0]
    y = b.fma(b.round_even(x), b.sqrt(b.abs(x)), b.floor(x))
    for dtype in NARROW:
        y = b.add(y, b.rounded(x, dtype))
    for dtype in INTEGERS:
        whole = b.convert(x, dtype)
        whole = b.divide_integers(whole, b.like(whole, 3)) if dtype.bits < 64 else whole
        y = b.add(y, b.convert(whole, D.DT_FP32))
    y = b.add(y, b.convert(b.convert(y, D.DT_DOUBLE), D.DT_FP32))
    return b.max(b.min(y, x), b.trunc(b.ceil(x)))


@pytest.mark.parametrize("isa", ALL)
@pytest.mark.parametrize("dtype", [*NARROW, D.DT_FP32])
def test_no_foreign_symbols(isa, dtype):
    """Nothing like __truncsfbf2 or floorf is left for a linker that has no such thing."""
    module = module_of(everything, [dtype], dtype, named(isa))
    object_bytes = named(isa).compile(module.text(), verify=True)
    assert set(undefined_symbols(object_bytes)) <= {"memcpy", "memset"}


# -- rounding after every op ---------------------------------------------------------------------------------------------------


def halves(seed, dtype):
    """Pairs over all bit patterns of a 16-bit type: random, small exponents, specials."""
    random = np.random.default_rng(seed)
    patterns = random.integers(0, 2**16, (2, 2**17)).astype(np.uint16)
    patterns[:, : 2**16] &= 0x87FF  # denormals and the smallest normals
    patterns[1, ::3] = random.integers(0, 2**16, len(patterns[1, ::3]))
    return [p.view(dtype.numpy) for p in patterns]


STEPS = {
    "add": (lambda b, x, y: b.add(x, y), np.add),
    "sub": (lambda b, x, y: b.sub(x, y), np.subtract),
    "mul": (lambda b, x, y: b.mul(x, y), np.multiply),
    "div": (lambda b, x, y: b.div(x, y), np.divide),
    "sqrt": (lambda b, x, y: b.sqrt(x), lambda x, y: np.sqrt(x)),
    "add 1.5": (lambda b, x, y: b.add(x, b.constant(1.5)), lambda x, y: x + np.float32(1.5)),
    "add 0.1": (lambda b, x, y: b.add(x, b.constant(0.1)), lambda x, y: x + np.float32(0.1)),
    "relu": (
        lambda b, x, y: b.select(b.compare("le", x, b.constant(0.0)), b.constant(0.0), x),
        lambda x, y: np.where(x <= 0, 0, x),
    ),
    "neg": (lambda b, x, y: b.neg(x), lambda x, y: -x),
    "floor": (lambda b, x, y: b.floor(x), lambda x, y: np.floor(x)),
    "where": (
        lambda b, x, y: b.select(b.compare("lt", x, y), y, b.constant(0.3)),
        lambda x, y: np.where(x < y, y, np.float32(0.3)),
    ),
}


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("dtype", [D.DT_FP16, D.DT_BF16])
@pytest.mark.parametrize("name", STEPS)
def test_rounded_operations(name, dtype, isa):
    """What is known about the operands may change the spelling (fp16 arithmetic, no NaN patch), never the numbers."""
    build, meaning = STEPS[name]
    x, y = halves(1, dtype)
    with np.errstate(all="ignore"):
        want = meaning(x.astype(np.float32), y.astype(np.float32)).astype(np.float32).astype(dtype.numpy)
        got = run(lambda b, x, y: b.rounded(build(b, x, y), dtype), [x, y], dtype, isa)
        chained = run(lambda b, x, y: b.mul(b.rounded(build(b, x, y), dtype), y), [x, y], dtype, isa)
        product = (want.astype(np.float32) * y.astype(np.float32)).astype(dtype.numpy)
    assert same_numbers(got, want) and same_numbers(chained, product)


def same_numbers(got, want):
    nan = np.isnan(want.astype(np.float32))
    return (got.view(np.uint16) == want.view(np.uint16))[~nan].all() and np.isnan(got.astype(np.float32))[nan].all()


@pytest.mark.parametrize("isa", RUNNABLE)
def test_a_stranger_s_nan_survives_rounding(isa):
    """An fp32 NaN with low payload bits only, or all bits set, must not become an infinity or a zero in bf16."""
    x = np.array([0x7F800001, 0xFFFFFFFF, 0x7FFFFFFF, 0x7FBFFFFF, 0xFF800001], np.uint32).view(np.float32)
    for build in (lambda b, v: v, lambda b, v: b.neg(v), lambda b, v: b.select(b.compare("eq", v, v), b.constant(0.0), v)):
        assert np.isnan(run(build, [x], D.DT_BF16, isa).astype(np.float32)).all()
    half = np.arange(0x7C01, 0x8000, dtype=np.uint16).view(np.float16)
    assert np.isnan(run(lambda b, v: b.rounded(b.neg(v), D.DT_BF16), [half], D.DT_BF16, isa).astype(np.float32)).all()
