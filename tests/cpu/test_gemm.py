"""Matrix multiplication of the runtime library against numpy in float64 (integers: exact)."""

import ctypes
import dataclasses
import functools
import mmap

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto import options
from pypto.cpu.gemm_symbols import KINDS
from pypto.cpu.library import Runtime, library_module, runtime_library
from pypto.cpu.target import Target, host, named

P, I = ctypes.c_void_p, ctypes.c_int64
TYPES = {"f32": np.dtype(np.float32), "bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16), "i8": np.dtype(np.int8)}
# Rounding of a sum of k products of about unit size, in fp32: far below k · 2^-24 · |a|·|b|; products are exact.
UNIT = 2.0**-23


@functools.cache
def targets() -> dict[str, Target]:
    """The ways this machine can multiply: as it is, without tiles, with AVX2 only."""
    here = host()
    plain = dataclasses.replace(here, features=frozenset(one for one in here.features if not one.startswith("amx")))
    no_bf16 = dataclasses.replace(plain, features=plain.features - {"avx512bf16", "avx512vnni"})
    found = {"host": here, "no tiles": plain, "no bf16": no_bf16} if plain != here else {"host": here}
    return found | ({"avx2": named("avx2")} if named("avx2").host and here.isa != "avx2" else {})


@functools.cache
def runtime(isa: str) -> Runtime:
    return runtime_library(targets()[isa])


ISAS = list(targets())


def numbers(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    if kind == "i8":
        return rng.integers(-128, 128, shape, dtype=np.int8)
    return rng.standard_normal(shape).astype(TYPES[kind])


def result_type(kind: str) -> np.dtype:
    return np.dtype(np.int32) if kind == "i8" else np.dtype(np.float32)


def expected(a: np.ndarray, b: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Product and bound of its error."""
    wide = np.int64 if kind == "i8" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    return a @ b, 0 * (a @ b) if kind == "i8" else UNIT * (4 + np.sqrt(a.shape[1])) * (np.abs(a) @ np.abs(b)) + 1e-30


def scratch(size: int) -> tuple[np.ndarray, int]:
    block = np.full(size + 64, 0xFF, np.uint8)  # every float read from it by mistake is NaN
    return block, -(-block.ctypes.data // 64) * 64


def matmul(
    isa: str, kind: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, m: int, n: int, k: int, ta: int, tb: int, add: int
) -> None:
    one = runtime(isa)
    size = one.function(f"pypto_matmul_scratch_{kind}", I, I, I, I)(m, n, k)
    keep, place = scratch(size)
    call = one.function(f"pypto_matmul_{kind}", None, P, I, I, P, I, I, I, I, I, P, I, I, P)
    call(a.ctypes.data, pitch(a), ta, b.ctypes.data, pitch(b), tb, m, n, k, c.ctypes.data, pitch(c), add, place)
    assert keep[-1] == 0xFF or size % 64


def pitch(array: np.ndarray) -> int:
    return array.strides[0] // array.itemsize


def check(isa: str, kind: str, m: int, n: int, k: int, ta: int, tb: int, add: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    extra = [int(x) for x in rng.integers(0, 9, 3)]
    a = numbers(kind, (k, m + extra[0]) if ta else (m, k + extra[0]), rng)
    b = numbers(kind, (n, k + extra[1]) if tb else (k, n + extra[1]), rng)
    inside = (a[:, :m].T if ta else a[:, :k], b[:, :k].T if tb else b[:, :n])
    if kind != "i8":  # whatever stands beside the operands must not matter
        a[:, (m if ta else k) :] = np.nan
        b[:, (k if tb else n) :] = np.nan
    before = rng.integers(-9, 9, (m, n + extra[2])).astype(result_type(kind))
    c = before.copy()
    matmul(isa, kind, a, b, c, m, n, k, ta, tb, add)
    want, bound = expected(*inside, kind)
    want = want + before[:, :n] * add
    assert (np.abs(c[:, :n] - want) <= bound + UNIT * 9 * add * (1 + np.sqrt(k))).all()
    assert np.array_equal(c[:, n:], before[:, n:])


SHAPES = [
    (1, 1, 1),
    (6, 64, 16),
    (12, 128, 128),
    (7, 65, 17),
    (13, 100, 33),
    (200, 130, 520),
    (37, 77, 1030),
    (64, 32, 3),
    (128, 256, 64),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("isa", ISAS)
def test_shapes_and_transposes(isa: str, kind: str) -> None:
    for m, n, k in SHAPES:
        for ta in (0, 1):
            for tb in (0, 1):
                check(isa, kind, m, n, k, ta, tb, (m + ta + tb) % 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("isa", ISAS)
def test_empty_axes(isa: str, kind: str) -> None:
    for m, n, k in [(0, 4, 4), (4, 0, 4), (5, 3, 0), (0, 0, 0)]:
        for add in (0, 1):
            check(isa, kind, m, n, k, 0, 0, add)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    m=st.integers(0, 70),
    n=st.integers(0, 150),
    k=st.integers(0, 150),
    flags=st.integers(0, 7),
    seed=st.integers(0, 99),
    isa=st.sampled_from(ISAS),
)
def test_random_shapes(kind: str, m: int, n: int, k: int, flags: int, seed: int, isa: str) -> None:
    check(isa, kind, m, n, k, flags & 1, flags >> 1 & 1, flags >> 2, seed)


@pytest.mark.parametrize("kind", ["f32", "bf16", "f16"])
@pytest.mark.parametrize("isa", ISAS)
def test_infinities_and_nans_go_where_they_belong(isa: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    m, n, k = 40, 70, 90
    for _ in range(4):
        a, b = numbers(kind, (m, k), rng), numbers(kind, (k, n), rng)
        a[rng.random(a.shape) < 0.3] = 0
        b[rng.random(b.shape) < 0.3] = 0
        for value in (np.inf, -np.inf, np.nan):
            a[rng.integers(m), rng.integers(k)] = value
            b[rng.integers(k), rng.integers(n)] = value
        c = np.zeros((m, n), np.float32)
        matmul(isa, kind, a, b, c, m, n, k, 0, 0, 0)
        with np.errstate(invalid="ignore"):
            want = a.astype(np.float64) @ b.astype(np.float64)
        assert np.array_equal(np.isnan(c), np.isnan(want))
        assert np.array_equal(np.isinf(c), np.isinf(want)) and np.array_equal(
            np.sign(c[np.isinf(c)]), np.sign(want[np.isinf(want)])
        )


@pytest.mark.parametrize("isa", ISAS)
def test_fp16_is_as_accurate_as_fp32_accumulation(isa: str) -> None:
    rng = np.random.default_rng(1)
    a, b = (
        (rng.standard_normal((96, 600)) * 2.0 ** rng.integers(-14, 5, (96, 600))).astype(np.float16),
        numbers("f16", (600, 70), rng),
    )
    c = np.zeros((96, 70), np.float32)
    matmul(isa, "f16", a, b, c, 96, 70, 600, 0, 0, 0)
    want, bound = expected(a, b, "f16")
    assert (np.abs(c - want) <= bound).all()


@pytest.mark.parametrize("isa", ISAS)
def test_integers_wrap_like_int32(isa: str) -> None:
    a, b = np.full((3, 200_000), -128, np.int8), np.full((200_000, 5), -128, np.int8)
    c = np.zeros((3, 5), np.int32)
    matmul(isa, "i8", a, b, c, 3, 5, 200_000, 0, 0, 0)
    assert (c == np.int64(128 * 128 * 200_000).astype(np.int32)).all()


class Guarded:
    """Memory whose first or last byte touches a page that must not be read."""

    def __init__(self, size: int, at_end: bool) -> None:
        page = mmap.PAGESIZE
        body = -(-size // page) * page
        self.map = mmap.mmap(-1, body + 2 * page)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        protect = ctypes.CDLL(None).mprotect
        for guard in (self.base, self.base + page + body):
            assert protect(ctypes.c_void_p(guard), ctypes.c_size_t(page), 0) == 0
        self.address = self.base + page + (body - size if at_end else 0)

    def hold(self, values: np.ndarray) -> int:
        ctypes.memmove(self.address, values.ctypes.data, values.nbytes)
        return self.address


@pytest.mark.skipif(not hasattr(mmap, "PAGESIZE") or not hasattr(ctypes.CDLL(None), "mprotect"), reason="needs mprotect")
@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_outside_the_operands_is_touched(kind: str, at_end: bool) -> None:
    rng = np.random.default_rng(3)
    for isa in ISAS:
        for m, n, k in [(1, 1, 1), (7, 67, 33), (32, 64, 64), (33, 17, 130), (65, 129, 31)]:
            for ta, tb in [(0, 0), (0, 1), (1, 0), (1, 1)]:
                a, b = numbers(kind, (k, m) if ta else (m, k), rng), numbers(kind, (n, k) if tb else (k, n), rng)
                c = np.zeros((m, n), result_type(kind))
                held = [Guarded(x.nbytes, at_end) for x in (a, b, c)]
                places = [guard.hold(x) for guard, x in zip(held, (a, b, c), strict=True)]
                one = runtime(isa)
                keep, place = scratch(one.function(f"pypto_matmul_scratch_{kind}", I, I, I, I)(m, n, k))
                call = one.function(f"pypto_matmul_{kind}", None, P, I, I, P, I, I, I, I, I, P, I, I, P)
                call(places[0], a.shape[1], ta, places[1], b.shape[1], tb, m, n, k, places[2], n, 0, place)
                ctypes.memmove(c.ctypes.data, places[2], c.nbytes)
                want, bound = expected(a.T if ta else a, b.T if tb else b, kind)
                assert (np.abs(c - want) <= bound).all()
                del keep


# -- whole products on the workers -----------------------------------------------------------------------------------------------

PRODUCT = [I, P, I, I, P, I, I, I, I, I, P, I, I, P, P]
EPILOGUE = ctypes.CFUNCTYPE(None, P, I, I, I, I, P, I)


def product(isa: str, kind: str, a: np.ndarray, b: np.ndarray, c: np.ndarray, flags: tuple[int, int, int]) -> None:
    ta, tb, add = flags
    m, k = a.shape[::-1] if ta else a.shape
    n = b.shape[0] if tb else b.shape[1]
    call = runtime(isa).function(f"pypto_product_{kind}", *PRODUCT)
    values = (a.ctypes.data, pitch(a), ta, b.ctypes.data, pitch(b), tb, m, n, k, c.ctypes.data, pitch(c), add, None, None)
    assert call(*values) == 0


PRODUCTS = [(300, 200, 100), (600, 130, 70), (40, 700, 90), (257, 65, 600), (1, 1000, 50), (0, 5, 5), (300, 70, 0), (3, 0, 7)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("isa", ISAS)
def test_products(isa: str, kind: str) -> None:
    rng = np.random.default_rng(2)
    for index, (m, n, k) in enumerate(PRODUCTS):
        for ta, tb in [(0, 0), (0, 1), (1, 0), (1, 1)]:
            a, b = numbers(kind, (k, m) if ta else (m, k), rng), numbers(kind, (n, k) if tb else (k, n), rng)
            add = (index + ta + tb) % 2
            before = rng.integers(-9, 9, (m, n)).astype(result_type(kind))
            c = before.copy()
            product(isa, kind, a, b, c, (ta, tb, add))
            want, bound = expected(a.T if ta else a, b.T if tb else b, kind)
            assert (np.abs(c - want - before * add) <= bound + UNIT * 9 * add * (1 + np.sqrt(k))).all()


@pytest.mark.parametrize("kind", KINDS)
def test_products_do_not_depend_on_the_number_of_workers(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = runtime("host")
    monkeypatch.setattr(one.team, "_torch_team", lambda: 0)
    rng = np.random.default_rng(2)
    for m, n, k in [(700, 300, 650), (100, 900, 650)]:
        a, b = numbers(kind, (m, k), rng), numbers(kind, (k, n), rng)
        results = []
        for workers in (1, 2, 4, 7):
            with options.scope("test", {"cpu.threads": workers}):
                one.team.ensure()
                c = np.zeros((m, n), result_type(kind))
                product("host", kind, a, b, c, (0, 0, 0))
                results.append(c)
        assert all(np.array_equal(results[0], other) for other in results[1:])
    monkeypatch.undo()
    one.team.ensure()


@pytest.mark.parametrize("kind", KINDS)
def test_epilogues_see_every_block_once(kind: str) -> None:
    rng = np.random.default_rng(4)
    for m, n, k in [(300, 200, 90), (30, 500, 90), (270, 33, 0)]:
        a, b = numbers(kind, (m, k), rng), numbers(kind, (k, n), rng)
        c, seen = np.zeros((m, n), result_type(kind)), np.zeros((m, n), np.int64)

        def take(argument: int, row: int, rows: int, column: int, columns: int, block: int, ld: int, c=c, seen=seen) -> None:
            assert argument == 77
            flat = (ctypes.c_int32 * (rows * ld)).from_address(block)
            values = np.frombuffer(flat, c.dtype).reshape(rows, ld)[:, :columns]
            c[row : row + rows, column : column + columns] = values
            seen[row : row + rows, column : column + columns] += 1

        callback = EPILOGUE(take)
        call = runtime("host").function(f"pypto_product_{kind}", *PRODUCT)
        values = (a.ctypes.data, k, 0, b.ctypes.data, n, 0, m, n, k, None, 0, 0, ctypes.cast(callback, P), 77)
        assert call(*values) == 0
        want, bound = expected(a, b, kind)
        assert (seen == 1).all() and (np.abs(c - want) <= bound).all()


@pytest.mark.parametrize("kind", ["bf16", "f16"])
@pytest.mark.parametrize("isa", ISAS)
def test_ready_epilogues_round(isa: str, kind: str) -> None:
    rng = np.random.default_rng(4)
    block = (rng.standard_normal((37, 85)) * 1e4).astype(np.float32)
    block[0, :3] = np.nan, np.inf, -np.inf
    out = np.zeros((50, 100), TYPES[kind])
    argument = np.array([out.ctypes.data, 100], np.int64)
    call = runtime(isa).function(f"pypto_store_{kind}", None, P, I, I, I, I, P, I)
    call(argument.ctypes.data, 5, 37, 11, 83, block.ctypes.data, 85)
    want = np.zeros_like(out)
    with np.errstate(over="ignore"):
        want[5:42, 11:94] = block[:, :83].astype(TYPES[kind])
    assert np.array_equal(out.view(np.uint16), want.view(np.uint16))


@pytest.mark.parametrize("isa", ["neon", "avx2", "avx512"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_target_generates_code(isa: str, kind: str) -> None:
    target = named(isa)
    assert target.compile(library_module(target, kind).text(), verify=True)
