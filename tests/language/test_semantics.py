"""What the body of a kernel means: branches, merging, helpers, names, Python's own statements."""

import dataclasses
import warnings

import numpy as np
import pytest

import pypto
from blackbox import define, integers, mistake, nans, quiet
from pypto.diagnostics import PyptoWarning

FP32 = pypto.DT_FP32
HEAD = "@jit\ndef kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32), n: SymbolicScalar):\n"


def body(tmp_path, text):
    """A kernel ``(x[4,4], out[4,4], n)`` with this body; lines are given unindented."""
    lines = text.strip("\n").splitlines()
    return define(tmp_path, HEAD + "\n".join("    " + line for line in lines))


def run(kernel, n=0, x=None):
    out = nans(4, 4)
    kernel(integers(4, 4) if x is None else x, out, n)
    return out


# --- branches


def test_if_elif_else_on_a_symbol(engine, tmp_path):
    kernel = body(
        tmp_path,
        """
if n > 2:
    out[:] = x + 1.0
elif n == 0:
    out[:] = x - 1.0
else:
    out[:] = x * 2.0
""",
    )
    x = integers(4, 4)
    for n, expected in [(3, x + 1), (0, x - 1), (1, x * 2), (-5, x * 2)]:
        assert np.array_equal(run(kernel, n), expected)
    assert kernel.compilations == 1


@pytest.mark.parametrize(
    "condition",
    [
        "1 < n < 4",
        "n == 1 or n > 5",
        "n > 0 and n % 2 == 0",
        "not n",
        "not (n < 3)",
        "n",
        "n - 3",
        "n // 2 == 1",
        "-n // 2 == -2",
        "-n % 3 == 2",
        "0 <= n <= 3 != 2",
        "pypto.cond(n > 3)",
        "(n > 1) & (n < 4)",
        "(n == 1) | (n == 3)",
        "n in (1, 3)",
        "n not in [2, 4]",
        "min(n, 3) == 3",
        "max(n, 2, 3) == 3",
        "(n if n > 2 else 7) == 7",
        "abs(n - 3) == 1",
        "bool(n)",
        "n is not None",
    ],
)
def test_conditions_mean_what_python_means(engine, tmp_path, condition):
    kernel = body(tmp_path, f"if {condition}:\n    out[:] = x + 1.0\nelse:\n    out[:] = x - 1.0")
    x = integers(4, 4)
    for n in range(-1, 7):
        holds = eval(condition.replace("pypto.cond", ""), {"n": n})
        assert np.array_equal(run(kernel, n), x + 1 if holds else x - 1), n


def test_a_conditional_expression(engine, tmp_path):
    kernel = body(
        tmp_path, "y = x + 1.0 if n > 0 else x * 3.0\nk = 2 if n > 3 else 1\nout[:] = y + float(0)\nout[0:k, :] = x[0:k, :]"
    )
    # the extent of the last line depends on k, so it must be refused or be exact
    with pytest.raises(Exception) as caught:
        run(kernel, 1)
    assert isinstance(caught.value, pypto.error.PyptoError)


def test_tensors_merge_after_a_branch(engine, tmp_path):
    kernel = body(
        tmp_path,
        """
y, z = x + 1.0, x * 2.0
if n > 0:
    y, z = z, y
    y = y * 2.0
out[0:2, :] = y[0:2, :]
out[2:4, :] = z[2:4, :]
""",
    )
    x = integers(4, 4)
    assert np.array_equal(run(kernel, 0), np.concatenate([x[:2] + 1, x[2:] * 2]))
    assert np.array_equal(run(kernel, 1), np.concatenate([x[:2] * 4, x[2:] + 1]))


def test_numbers_lists_and_tuples_merge_after_a_branch(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(out: Tensor([8], DT_INT32), n: SymbolicScalar):
    a, pair, items = 1, (2, 3), [4, 5]
    if n > 0:
        a, pair, items = n, (n + 2, 3), [4, n * 5]
    out[0] = a
    out[1] = pair[0]
    out[2] = pair[1]
    out[3] = items[1]
    out[4] = len(items)
""",
    )
    for n in (0, 3):
        out = np.zeros(8, np.int32)
        kernel(out, n)
        assert out[:5].tolist() == ([1, 2, 3, 5, 2] if n == 0 else [3, 5, 3, 15, 2])


def test_none_before_a_branch_and_a_tensor_in_both_arms(engine, tmp_path):
    kernel = body(tmp_path, "y = None\nif n > 0:\n    y = x + 1.0\nelse:\n    y = x - 1.0\nout[:] = y + 0.0")
    x = integers(4, 4)
    assert np.array_equal(run(kernel, 1), x + 1)
    assert np.array_equal(run(kernel, 0), x - 1)


def test_a_name_bound_in_one_arm_only_and_used_after_is_an_error_with_both_lines(tmp_path):
    kernel = body(tmp_path, "if n > 0:\n    late = x + 1.0\nout[:] = late + x")
    with mistake("late", at="late + x") as caught:
        run(kernel, 1)
    assert "line 9" in str(caught.value) and ":10 in kernel" in str(caught.value)  # the binding and the use


def test_different_types_after_a_branch_are_an_error_on_use_only(engine, tmp_path):
    used = body(tmp_path, "a = 1\nif n > 0:\n    a = x\nout[:] = x + a")
    with mistake("Conflicted var a", at="x + a"):
        run(used, 1)
    unused = body(tmp_path, "a = 1\nif n > 0:\n    a = x\nout[:] = x + 1.0")
    assert np.array_equal(run(unused, 1), integers(4, 4) + 1)


def test_different_shapes_after_a_branch_are_an_error_on_use(tmp_path):
    kernel = body(tmp_path, "y = x\nif n > 0:\n    y = x[0:2, :] + 1.0\nout[0:2, :] = y[0:2, :]")
    with mistake("y"):
        run(kernel, 1)


def test_a_static_condition_traces_one_arm(engine, tmp_path):
    kernel = body(tmp_path, "if len(x.shape) == 3:\n    out[:] = nothing_like_this\nelse:\n    out[:] = x + 1.0")
    assert np.array_equal(run(kernel), integers(4, 4) + 1)


def test_twelve_conditions_do_not_make_four_thousand_paths(engine, tmp_path):
    lines = (
        ["y = x"]
        + [line for bit in range(12) for line in (f"if n // {2**bit} % 2 == 1:", f"    y = y + {2**bit}.0")]
        + ["out[:] = y"]
    )
    kernel = body(tmp_path, "\n".join(lines))
    zero = np.zeros((4, 4), np.float32)
    for n in (0, 1, 1234, 4095):
        assert (run(kernel, n, zero) == n).all()


def test_a_store_in_an_arm_happens_only_there(engine, tmp_path):
    kernel = body(tmp_path, "out[:] = x\nif n > 0:\n    out[1:2, :] = x[0:1, :] * 0.0")
    x = integers(4, 4, low=1)
    assert np.array_equal(run(kernel, 0, x), x)
    assert (run(kernel, 1, x)[1] == 0).all()


def test_options_set_in_an_arm_stay_there(tmp_path):
    kernel = body(
        tmp_path,
        """
pypto.set_vec_tile_shapes(4, 8)
if n > 0:
    pypto.set_vec_tile_shapes(2, 8)
    assert pypto.get_vec_tile_shapes() == [2, 8]
    out[:] = x + 1.0
assert pypto.get_vec_tile_shapes() == [4, 8]
out[0:1, :] = x[0:1, :]
""",
    )
    run(kernel, 1)


def test_options_set_in_a_loop_body_stay_there(tmp_path):
    kernel = body(
        tmp_path,
        """
pypto.set_vec_tile_shapes(4, 8)
for i in loop(2):
    pypto.set_vec_tile_shapes(2, 8)
    out[:] = x + 1.0
assert pypto.get_vec_tile_shapes() == [4, 8]
""",
    )
    run(kernel, 1)


# --- min, max


def test_min_and_max(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(out: Tensor([12], DT_INT32), n: SymbolicScalar):
    out[0] = min(n, 3)
    out[1] = max(n, 3)
    out[2] = min(n, 3, n - 1)
    out[3] = max(0, n, 2)
    out[4] = min([7, 5])
    out[5] = max([1, 2], key=lambda v: -v)
    out[6] = min((), default=9)
    out[7] = pypto.min(n, 2)
    out[8] = pypto.max(3, 4)
    out[9] = n.min(2).max(1)
    out[10] = max("ab", "b") == "b"
""",
    )
    for n in (0, 5):
        out = np.zeros(12, np.int32)
        kernel(out, n)
        expected = [min(n, 3), max(n, 3), min(n, 3, n - 1), max(0, n, 2), 5, 1, 9, min(n, 2), 4, max(min(n, 2), 1), 1]
        assert out[:11].tolist() == expected


def test_symbol_arithmetic_is_pythons(engine, tmp_path):
    forms = [
        "n + 7",
        "7 - n",
        "n * -3",
        "n // 3",
        "n // -3",
        "-n // 2",
        "n % 3",
        "n % -3",
        "7 // (n * n + 1)",
        "17 % (n * n + 2)",
        "-n",
        "+n",
    ]
    lines = "".join(f"    out[{i}] = {form}\n" for i, form in enumerate(forms))
    kernel = define(tmp_path, f"@jit\ndef kernel(out: Tensor([16], DT_INT32), n: SymbolicScalar):\n{lines}")
    for n in range(-7, 8):
        out = np.zeros(16, np.int32)
        kernel(out, n)
        assert out[: len(forms)].tolist() == [eval(form, {"n": n}) for form in forms], n


# --- helpers, names, Python's own statements


def add_twice(value, by=1.0, *, again=True):
    """A helper whose rebinding of its own parameter stays local."""
    value = value + by
    if again:
        value = value + by
    return value


def pair_of(value):
    return value + 1.0, value * 2.0


def count_down(value, left):
    return value if left == 0 else count_down(value + 1.0, left - 1)


@pypto.frontend.function
def marked(value):
    return value - 1.0


class Maker:
    """A method used as a helper."""

    def __init__(self, by):
        self.by = by

    def shifted(self, value):
        return value + self.by


@pypto.frontend.jit
def helpers(x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([6, 4, 4], FP32), n: pypto.SymbolicScalar):
    def nested(value, by=3.0):
        return value * by

    kept = x
    results = [
        add_twice(x),
        add_twice(x, again=False, by=2.0),
        *pair_of(x),
        count_down(x, 3),
        nested(Maker(5.0).shifted(marked(x))),
    ]
    for k, result in enumerate(results):
        out[k : k + 1, :, :] = result.reshape([1, 4, 4])
    if n > 0:
        out[0:1, :, :] = (lambda v: v - 7.0)(kept).reshape([1, 4, 4])


def test_helpers_are_followed(engine):
    x, out = integers(4, 4), nans(6, 4, 4)
    helpers(x, out, 0)
    for got, expected in zip(out, [x + 2, x + 2, x + 1, x * 2, x + 3, (x + 4) * 3], strict=True):
        assert np.array_equal(got, expected)
    helpers(x, out, 1)
    assert np.array_equal(out[0], x - 7)


def choose(value, n):
    if n > 1:
        return value + 1.0
    return value - 1.0


@pypto.frontend.jit
def branching_helper(x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([4, 4], FP32), n: pypto.SymbolicScalar):
    out[:] = choose(x, n)


def test_a_helper_may_return_under_a_condition_or_is_refused(engine):
    for n in (0, 2):
        out = nans(4, 4)
        try:
            branching_helper(integers(4, 4), out, n)
        except pypto.error.PyptoError as error:
            assert "return" in str(error)
            return
        assert np.array_equal(out, integers(4, 4) + (1 if n > 1 else -1))


def test_pythons_own_statements(engine, tmp_path):
    kernel = body(
        tmp_path,
        """
total, names = 0, {"a": 1, **{"b": 2}}
first, *rest = [1, 2, 3]
for key in names:
    total += names[key]
while total < 10:
    total += 1
    if total == 7:
        break
squares = [q * q for q in range(4) if q % 2]
unique = {q % 2 for q in range(4)}
table = {q: f"{q:>2}" for q in range(2)}
assert f"{total=} {first!r:>3} {rest}" == "total=7   1 [2, 3]", "formatting"
assert squares == [1, 9] and unique == {0, 1} and table[1] == " 1"
a = b = total
a += 1
c: int = a
del b
(d, e), f = (1, 2), 3
assert 1 if c == 8 else 0
pass
out[:] = x + float(total + d + e + f)
""",
    )
    assert np.array_equal(run(kernel), integers(4, 4) + 13)


def test_a_failing_assert_is_the_users_own(tmp_path):
    kernel = body(tmp_path, 'assert len(x.shape) == 3, "need three axes"\nout[:] = x')
    with pytest.raises(AssertionError, match="need three axes"):
        run(kernel)


def test_a_raise_keeps_its_type(tmp_path):
    kernel = body(tmp_path, 'if len(x.shape) == 2:\n    raise KeyError("mine") from ValueError("cause")\nout[:] = x')
    with pytest.raises(KeyError, match="mine") as caught:
        run(kernel)
    assert not isinstance(caught.value, pypto.error.PyptoError)


def test_an_exception_of_a_native_callee_keeps_its_type(tmp_path):
    kernel = body(tmp_path, 'k = int("seven")\nout[:] = x + k')
    with pytest.raises(ValueError, match="seven") as caught:
        run(kernel)
    assert not isinstance(caught.value, pypto.error.PyptoError)


def test_an_unbound_name_is_an_error(tmp_path):
    with mistake("nowhere", kind=NameError, at="x + nowhere"):
        run(body(tmp_path, "out[:] = x + nowhere"))


def test_a_name_used_before_it_is_bound_is_an_error(tmp_path):
    with mistake("later", kind=NameError, at="x + later"):
        run(body(tmp_path, "out[:] = x + later\nlater = 1.0"))


@pytest.mark.parametrize(
    "text, fragments",
    [
        ("return", ["return"]),
        ("if len(x.shape) == 2:\n    return x", ["return"]),
        ("for k in range(2):\n    pass\nelse:\n    pass", ["else"]),
        ("while False:\n    pass\nelse:\n    pass", ["else"]),
        ("try:\n    pass\nfinally:\n    pass", ["try"]),
        ("import os", ["import"]),
        ("global something", ["global"]),
        ("class Inner:\n    pass", ["class"]),
        ("yield x", ["yield"]),
        ("raise", ["raise"]),
        ("match n:\n    case 1:\n        pass", ["match"]),
        ("with open('f') as f:\n    pass", ["with"]),
    ],
)
def test_statements_that_cannot_be_supported_are_refused_with_their_line(tmp_path, text, fragments):
    kernel = body(tmp_path, text + "\nout[:] = x + 1.0")
    word = text.splitlines()[0].split()[0].strip(":")
    with mistake(*fragments, kind=SyntaxError) as caught:
        run(kernel)
    assert caught.value.span is not None, word


def test_varargs_in_a_kernel_are_refused(tmp_path):
    for signature in ("*xs", "out: Tensor([4, 4], DT_FP32), **options"):
        with mistake("*"):
            kernel = define(tmp_path, f"@jit\ndef kernel({signature}):\n    pass\n")
            kernel(nans(4, 4))


def test_with_options_in_a_kernel_is_scoped(tmp_path):
    run(
        body(
            tmp_path,
            """
pypto.set_vec_tile_shapes(4, 8)
with pypto.options(vec_tile_shapes=[2, 8]):
    assert pypto.get_vec_tile_shapes() == [2, 8]
    out[0:2, :] = x[0:2, :] + 1.0
assert pypto.get_vec_tile_shapes() == [4, 8]
""",
        )
    )


@dataclasses.dataclass
class Plan:
    """A constant that a kernel receives."""

    scale: float
    rows: tuple = (0, 2)
    act: object = None


@pypto.frontend.jit
def planned(x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([4, 4], FP32), plan, *, shift=1.0):
    out[:] = x + shift
    for r in plan.rows:
        out[r : r + 1, :] = plan.act(x[r : r + 1, :]) * plan.scale


def test_dataclasses_and_callables_are_constants(engine):
    x = integers(4, 4)
    for scale, act, function in [(2.0, pypto.relu, lambda v: np.maximum(v, 0)), (3.0, lambda v: v + 1.0, lambda v: v + 1)]:
        out = nans(4, 4)
        planned(x, out, Plan(scale, act=act))
        expected = x + 1
        expected[[0, 2]] = function(x[[0, 2]]) * scale
        assert np.array_equal(out, expected)


def test_side_effects_happen_once(tmp_path):
    seen = []
    kernel = define(tmp_path, HEAD + "    seen.append(1)\n    out[:] = x + 1.0\n")
    kernel.__wrapped__.__globals__["seen"] = seen
    run(kernel)
    assert seen == [1]


def test_closures_and_factories(engine):
    def make(scale):
        @pypto.frontend.jit
        def scaled(x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([4, 4], FP32)):
            out[:] = x * scale

        return scaled

    x = integers(4, 4)
    for kernel, scale in [(make(2.0), 2), (make(3.0), 3)]:
        out = nans(4, 4)
        kernel(x, out)
        assert np.array_equal(out, x * scale)


def test_a_method_as_kernel(engine):
    class Layer:
        scale = 4.0

        def build(self):
            @pypto.frontend.jit
            def forward(x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([4, 4], FP32)):
                out[:] = x * self.scale

            return forward

    out = nans(4, 4)
    Layer().build()(integers(4, 4), out)
    assert np.array_equal(out, integers(4, 4) * 4)


# --- outputs


def test_a_kernel_that_writes_nothing_is_an_error(tmp_path):
    with mistake("kernel"):
        run(body(tmp_path, "y = x + 1.0"))


def test_rebinding_a_parameter_that_was_read_is_a_local_name(engine, tmp_path):
    kernel = body(tmp_path, "x = x * 2.0\nout[:] = x + 1.0")
    x = integers(4, 4)
    before = x.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PyptoWarning)
        assert np.array_equal(run(kernel, x=x), before * 2 + 1)
    assert np.array_equal(x, before)


def test_swapping_parameters_is_local(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(a: Tensor([4, 4], DT_FP32), b: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    a, b = b, a
    out[:] = a - b
""",
    )
    a, b, out = integers(4, 4), integers(4, 4, seed=1), nans(4, 4)
    kernel(a, b, out)
    assert np.array_equal(out, b - a) and np.array_equal(a, integers(4, 4))


def test_rebinding_with_another_dtype_or_shape_is_local(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(y: Tensor([4, 4], DT_FP32), x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    y = cast(x, DT_BF16)
    out[:] = cast(y, DT_FP32)
""",
    )
    y, x, out = nans(4, 4), integers(4, 4), nans(4, 4)
    with quiet():
        kernel(y, x, out)
    assert np.isnan(y).all() and np.array_equal(out, x)


def test_the_source_stays_usable_after_move(engine, tmp_path):
    kernel = body(tmp_path, "t = x + 1.0\nout[:] = t\nout[0:1, :] = t[1:2, :]")
    x = integers(4, 4)
    expected = x + 1
    expected[0] = expected[1]
    assert np.array_equal(run(kernel), expected)


def test_calling_a_kernel_returns_nothing(tmp_path):
    kernel = body(tmp_path, "out[:] = x + 1.0")
    assert kernel(integers(4, 4), nans(4, 4), 1) is None


def test_dividing_whole_symbols_floors_and_says_so(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([DYNAMIC, 4], DT_FP32), log: Tensor([3], DT_INT32), parts: Tensor([2], DT_FP32), n: SymbolicScalar):
    log[0] = n / 2
    log[1] = (n * 6) / 3
    log[2] = x.shape[0] / 4
    parts[0:1] = full([1], 1 / float(n), DT_FP32)
    parts[1:2] = full([1], n / 2.5 if False else float(n) / 4, DT_FP32)
""",
    )
    found = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in (7, -7):
            log, parts = np.zeros(3, np.int32), np.zeros(2, np.float32)
            kernel(np.zeros((9, 4), np.float32), log, parts, n)
            found.append((log.tolist(), parts))
    for n, (log, parts) in zip((7, -7), found, strict=True):
        assert log == [n // 2, 2 * n, 2]
        assert np.array_equal(parts, np.array([1 / n, n / 4], np.float32))
    told = [str(one.message) for one in caught if "fraction" in str(one.message)]
    assert len(told) == 2 and "n / 2" in told[0] and "float(n) / 2" in told[0] and "x.shape[0] / 4" in told[1], told
