"""The call guard: what it lets through, what it hands to the slow path; compiled and in Python alike."""

import gc
import sys
import weakref

import ml_dtypes
import numpy as np
import pytest

from pypto.cpu import guard
from pypto.cpu.guard import constant_row, make_guard, number_row, share_pattern, tensor_row
from pypto.cpu.link import Library, load
from pypto.cpu.target import host

torch = pytest.importorskip("torch")

# Copies the block to where slot 2 points and reports the number that slot 3 points to as an error.
KERNEL = """
declare ptr @memcpy(ptr, ptr, i64)
define void @kernel(ptr %block) {
  %p = getelementptr i64, ptr %block, i64 2
  %out = load ptr, ptr %p
  call ptr @memcpy(ptr %out, ptr %block, i64 128)
  %e = getelementptr i64, ptr %block, i64 3
  %error = load ptr, ptr %e
  %number = load i64, ptr %error
  %record = load ptr, ptr %block
  store i64 %number, ptr %record
  ret void
}
"""


@pytest.fixture(scope="module")
def library() -> Library:
    return load(host().compile(KERNEL, verify=True), exports=["kernel"])


@pytest.fixture(params=["compiled", "python"])
def build(request, monkeypatch, library):
    """``build(rows, values)`` makes a guard whose first two tensors are the copy of the block and the error number."""
    if request.param == "python":
        monkeypatch.setattr(guard, "compiled", lambda: False)

    def make(rows, **more):
        settings = {"slots": 16, "slow": lambda *a, **k: ("slow", len(a), k), "on_error": _raise} | more
        return make_guard(library["kernel"], rows, **settings)

    return make


def _raise(record: bytes):
    raise ArithmeticError(int.from_bytes(record[:8], "little"))


SLOW3 = ("slow", 3, {})


def makers():
    return [("torch", lambda *s: torch.zeros(*s, dtype=torch.int64)), ("numpy", lambda *s: np.zeros(s, np.int64))]


@pytest.mark.parametrize("name,new", makers())
def test_the_block_holds_pointers_and_dynamic_sizes(build, name, new) -> None:
    out, error, x = new(16), new(1), new(3, 4)
    rows = [
        tensor_row(out, 2, written=True),
        tensor_row(error, 3),
        tensor_row(x, 4, dynamic={0: 5, 1: 6}),
        number_row("int", 7),
        number_row("float", 8),
    ]
    call = build(share_pattern(rows, [out, error, x, 1, 1.0]))
    for shape in [(3, 4), (5, 2), (1, 9), (0, 4)]:
        x = new(*shape)
        assert call(out, error, x, -7, 0.5) is None
        where = x.data_ptr() if name == "torch" else x.ctypes.data
        assert [int(v) for v in out[4:8]] == [where, *shape, -7]
        assert float(np.asarray(out[8:9]).view(np.float64)[0]) == 0.5


@pytest.mark.parametrize("name,new", makers())
def test_what_does_not_match_goes_the_slow_way(build, name, new) -> None:
    out, error, x = new(16), new(1), new(4, 4)
    call = build(share_pattern([tensor_row(out, 2, written=True), tensor_row(error, 3), tensor_row(x, 4)], [out, error, x]))
    assert call(out, error, x) is None
    assert call(out, error) == ("slow", 2, {})
    assert call(out, error, x=x) == ("slow", 2, {"x": x})
    wrong = [new(4, 5), new(4), new(2, 4, 4), new(4, 8)[:, ::2], new(5, 4)[:4].T, 3, None, [1], new(4, 4) > 0]
    wrong += [x.to(torch.int32)] if name == "torch" else [x.astype(np.int32), x.astype(">i8")]
    for value in wrong:
        assert call(out, error, value) == SLOW3
    assert call(out, error, new(8, 4)[4:]) is None


def test_arrays_that_cannot_be_written_or_are_misaligned(build) -> None:
    out, error, x = np.zeros(16, np.int64), np.zeros(1, np.int64), np.zeros(4)
    call = build([tensor_row(out, 2, written=True), tensor_row(error, 3), tensor_row(x, 4)])
    frozen = out.copy()
    frozen.flags.writeable = False
    assert call(frozen, error, x) == SLOW3
    odd = np.zeros(33, np.int8)[1:].view(np.float64)
    assert call(out, error, odd) == SLOW3
    readable = x.copy()
    readable.flags.writeable = False
    assert call(out, error, readable) is None


def test_subclasses_and_other_libraries(build) -> None:
    class Mine(torch.Tensor):
        pass

    class Matrix(np.ndarray):
        pass

    out, error = torch.zeros(16, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    weight = torch.nn.Parameter(torch.zeros(4), requires_grad=False)
    rows = [tensor_row(out, 2, written=True), tensor_row(error, 3), tensor_row(torch.zeros(4), 4)]
    call = build(rows)
    for value in (torch.zeros(4).as_subclass(Mine), np.zeros(4, np.float32), weight, torch.zeros(4, device="meta")):
        assert call(out, error, value) == SLOW3
    assert build([*rows[:2], tensor_row(weight, 4)])(out, error, weight) is None
    assert tensor_row(torch.zeros(4).as_subclass(Mine), 4) is None
    assert tensor_row(np.zeros(4).view(Matrix), 4) is None


def test_element_types(build) -> None:
    out, error = torch.zeros(16, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
    kinds = [
        torch.float32,
        torch.bfloat16,
        torch.float16,
        torch.int8,
        torch.uint8,
        torch.bool,
        torch.float8_e4m3fn,
        torch.float64,
    ]
    for kind in kinds:
        call = build([tensor_row(out, 2, written=True), tensor_row(error, 3), tensor_row(torch.empty(4, dtype=kind), 4)])
        answers = [call(out, error, torch.empty(4, dtype=other)) is None for other in kinds]
        assert answers == [kind is other for other in kinds]
    numpy_kinds = [np.float32, ml_dtypes.bfloat16, np.float16, np.int8, np.uint8, np.bool_, ml_dtypes.float8_e4m3fn]
    for kind in numpy_kinds:
        call = build([tensor_row(out, 2, written=True), tensor_row(error, 3), tensor_row(np.empty(4, kind), 4)])
        answers = [call(out, error, np.empty(4, other)) is None for other in numpy_kinds]
        assert answers == [kind is other for other in numpy_kinds]


def test_tensors_that_want_gradients(build) -> None:
    out, error, x = torch.zeros(16, dtype=torch.int64), torch.zeros(1, dtype=torch.int64), torch.zeros(4)
    call = build([tensor_row(out, 2, written=True), tensor_row(error, 3), tensor_row(x, 4)])
    wants = torch.zeros(4, requires_grad=True)
    assert call(out, error, wants) == SLOW3
    with torch.no_grad():
        assert call(out, error, wants) is None
    unchecked = build([tensor_row(out, 2, written=True), tensor_row(error, 3), tensor_row(x, 4, check_grad=False)])
    assert unchecked(out, error, wants) is None


@pytest.mark.parametrize("name,new", makers())
def test_the_pattern_of_shared_memory(build, name, new) -> None:
    out, error, x, y = new(16), new(1), new(4), new(4)
    rows = [tensor_row(out, 2, written=True), tensor_row(error, 3), tensor_row(x, 4, written=True), tensor_row(y, 5)]
    apart = build(share_pattern(rows, [out, error, x, y]))
    assert apart(out, error, x, y) is None
    assert apart(out, error, x, x) == ("slow", 4, {})
    whole = new(6)
    assert apart(out, error, whole[:4], whole[2:]) == ("slow", 4, {})
    halves = new(8)
    assert apart(out, error, halves[:4], halves[4:]) is None
    together = build(share_pattern(rows, [out, error, x, x]))
    assert together(out, error, y, y) is None
    assert together(out, error, x, y) == ("slow", 4, {})
    reading = [rows[0], rows[1], tensor_row(x, 4), tensor_row(y, 5)]
    assert build(share_pattern(reading, [out, error, x, y]))(out, error, x, x) is None


def test_sizes_that_must_agree(build) -> None:
    out, error, x = np.zeros(16, np.int64), np.zeros(1, np.int64), np.zeros(4)
    rows = [
        tensor_row(out, 2, written=True),
        tensor_row(error, 3),
        tensor_row(x, 4, dynamic={0: 6}),
        tensor_row(x, 5, dynamic={0: -6}),
    ]
    call = build(rows)
    assert call(out, error, np.zeros(7), np.zeros(7)) is None
    assert call(out, error, np.zeros(7), np.zeros(8)) == ("slow", 4, {})


def test_numbers(build) -> None:
    out, error = np.zeros(16, np.int64), np.zeros(1, np.int64)
    call = build([tensor_row(out, 2, written=True), tensor_row(error, 3), number_row("int", 4)])
    for value in (0, -1, 2**63 - 1, -(2**63)):
        assert call(out, error, value) is None and out[4] == value
    for value in (2**63, True, 1.0, "1", np.int64(1)):
        assert call(out, error, value) == SLOW3
    call = build([tensor_row(out, 2, written=True), tensor_row(error, 3), number_row("float", 4)])
    assert call(out, error, 0.1) is None and out[4:5].view(np.float64)[0] == 0.1
    assert call(out, error, 1) == SLOW3


def test_constants(build) -> None:
    out, error = np.zeros(16, np.int64), np.zeros(1, np.int64)
    for value, other in [
        (5, 6),
        (10**12, 10**12 + 1),
        (0.5, 0.25),
        (None, 0),
        (True, 1),
        ("a", "b"),
        (len, max),
        (0, 0.0),
        (0.0, -0.0),
    ]:
        row = constant_row(value)
        assert row is not None
        call = build([tensor_row(out, 2, written=True), tensor_row(error, 3), row])
        again = float(str(value)) if type(value) is float else int(str(value)) if type(value) is int else value
        assert call(out, error, again) is None
        assert call(out, error, other) == SLOW3
    assert constant_row([1]) is None


def test_errors_of_the_kernel_and_of_the_slow_path(build) -> None:
    out, error = np.zeros(16, np.int64), np.array([7])
    rows = [tensor_row(out, 2, written=True), tensor_row(error, 3)]
    with pytest.raises(ArithmeticError, match="7"):
        build(rows)(out, error)
    assert build(rows, on_error=lambda record: len(record))(out, error) == 128
    with pytest.raises(ZeroDivisionError):
        build(rows, slow=lambda *a: 1 / 0)(out, 3)


def test_the_error_record_starts_out_as_zeros(build) -> None:
    """All sixteen words: kernels keep more there than the number."""
    text = """define void @kernel(ptr %block) {
      %r = load ptr, ptr %block
      %v = load <16 x i64>, ptr %r, align 8
      %p = getelementptr i64, ptr %block, i64 2
      %out = load ptr, ptr %p
      store <16 x i64> %v, ptr %out, align 8
      store <16 x i64> splat (i64 -1), ptr %r, align 8
      ret void
    }"""
    spoil = load(host().compile(text, verify=True), exports=["kernel"])
    out = np.ones(16, np.int64)
    call = make_guard(
        spoil["kernel"], [tensor_row(out, 2, written=True)], slots=3, slow=lambda *a: "slow", on_error=lambda record: None
    )
    for _ in range(3):
        out[:] = 1
        call(out)
        assert (out == 0).all()


@pytest.mark.parametrize("release", [False, True])
def test_the_interpreter_lock_may_be_released(build, release: bool) -> None:
    out, error = np.zeros(16, np.int64), np.zeros(1, np.int64)
    call = build([tensor_row(out, 2, written=True), tensor_row(error, 3)], release_lock=release)
    assert all(call(out, error) is None for _ in range(100))


def test_nothing_leaks_and_nothing_dies_too_early(build) -> None:
    class Slow:
        def __call__(self, *arguments):
            return "slow"

    slow = Slow()
    alive = weakref.ref(slow)
    out, error = np.zeros(16, np.int64), np.zeros(1, np.int64)
    call = build([tensor_row(out, 2, written=True), tensor_row(error, 3)], slow=slow)
    del slow
    gc.collect()
    assert call(1, 2) == "slow"
    before = sys.getrefcount(None), sys.getrefcount(out), sys.getrefcount(False)
    for _ in range(1000):
        call(out, error)
    after = sys.getrefcount(None), sys.getrefcount(out), sys.getrefcount(False)
    assert all(abs(a - b) < 100 for a, b in zip(before, after))
    del call
    gc.collect()
    assert alive() is None


def test_floating_point_rules_are_the_default_inside(build, library) -> None:
    """The caller's flushing of denormals does not reach the kernel, and is restored after it."""
    text = """define void @kernel(ptr %block) {
      %p = getelementptr i64, ptr %block, i64 2
      %out = load ptr, ptr %p
      %x = load volatile float, ptr %out
      %y = fmul float %x, 0.5
      store float %y, ptr %out
      ret void
    }"""
    half = load(host().compile(text, verify=True), exports=["kernel"])
    x = np.array([1e-38], np.float32)
    call = make_guard(half["kernel"], [tensor_row(x, 2, written=True)], slots=3, slow=lambda *a: "slow", on_error=_raise)
    flushes = torch.set_flush_denormal(True)
    try:
        assert call(x) is None
        kept = x.copy()
        flushed = float(torch.tensor([1e-38]) * 0.5)
    finally:
        torch.set_flush_denormal(False)
    assert 0 < kept[0] < 1e-38
    assert flushed == 0 or not flushes


def test_too_many_arguments_fall_back(build) -> None:
    values = [np.zeros(16, np.int64), np.zeros(1, np.int64), *[np.zeros(1)] * 70]
    rows = [tensor_row(value, 2 + i) for i, value in enumerate(values)]
    assert build(rows, slots=80)(*values) is None


def test_rows_know_their_limits() -> None:
    assert tensor_row(np.zeros((1,) * 9), 2) is None
