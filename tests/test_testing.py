"""``pypto.testing.assert_close``; FC-169."""

import warnings

import ml_dtypes
import numpy as np
import pytest

from pypto.testing import assert_close

generator = np.random.default_rng(7)


def random(*shape, dtype=np.float32):
    return generator.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_one_rounding_is_close_and_sixteen_are_not(dtype):
    exact = np.abs(random(64, 64, dtype=np.float64)) + 1.0
    rounded = exact.astype(dtype)
    assert_close(rounded, exact)
    eps = float(ml_dtypes.finfo(dtype).eps)
    with pytest.raises(AssertionError, match="elements differ"):
        assert_close((exact * (1 + 16 * eps)).astype(dtype), exact)


def test_integers_and_booleans_must_be_equal():
    a = np.arange(12).reshape(3, 4)
    assert_close(a, a.copy())
    b = a.copy()
    b[1, 2] += 1
    with pytest.raises(AssertionError, match=r"1 of 12 elements differ[\s\S]*at \[1, 2\]: got 6, expected 7"):
        assert_close(a, b)
    assert_close(np.int64([2**62 + 1, 0]), np.int64([2**62 + 1, 0]))
    with pytest.raises(AssertionError):
        assert_close(np.int64([2**62 + 1, 0]), np.int64([2**62, 0]))


def test_a_long_sum_may_be_further_off():
    a, b = random(8, 4096), random(4096, 8)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert_close(a @ b, exact, length=4096)


def test_nan_equals_only_nan():
    with pytest.raises(AssertionError, match="golden data itself"):
        assert_close(np.float32([1.0, 2.0]), np.float32([np.nan, 2.0]))
    with pytest.raises(AssertionError, match="NaN only in the result"):
        assert_close(np.float32([np.nan, 2.0]), np.float32([1.0, 2.0]))
    assert_close(np.float32([np.nan, np.inf, 1]), np.float32([np.nan, np.inf, 1]))
    with pytest.raises(AssertionError):
        assert_close(np.float32([np.inf, 1]), np.float32([3e38, 1]), rtol=1.0)


def test_comparisons_that_prove_nothing_are_pointed_out():
    with pytest.warns(UserWarning, match="all elements"):
        assert_close(np.zeros(4, np.float32), np.zeros(4, np.float32))
    x = random(4)
    with pytest.warns(UserWarning, match="share memory"):
        assert_close(x, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_close(x, x.copy())


def test_shapes_must_agree():
    with pytest.raises(AssertionError, match=r"shape \(2, 3\), expected \(3, 2\)"):
        assert_close(random(2, 3), random(3, 2))


def test_hints_name_tails_and_steps():
    good = random(8, 40)
    tail, steps = good.copy(), good.copy()
    tail[:, 32:] += 1
    steps[::2] += 1
    with pytest.raises(AssertionError, match="only from 32 on along axis 1"):
        assert_close(tail, good)
    with pytest.raises(AssertionError, match="every 2th along axis 0"):
        assert_close(steps, good)
    with pytest.raises(AssertionError, match="was the output written"):
        assert_close(good + 1, good)


def test_torch_tensors_of_half_width():
    torch = pytest.importorskip("torch")
    exact = torch.rand(32, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(1)) + 1
    assert_close(exact.to(torch.bfloat16), exact)
    with pytest.raises(AssertionError):
        assert_close(exact.to(torch.bfloat16), exact * 1.5)


def test_given_bounds_replace_the_defaults():
    x = random(16)
    assert_close(x, x * 1.01, rtol=0.02)
    with pytest.raises(AssertionError):
        assert_close(x, x + 1e-6, rtol=0, atol=1e-9)
