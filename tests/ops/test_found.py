"""Kernels as users write them that once gave a wrong number or a wrong error; every one runs on every engine."""

import numpy as np
import pytest

from blackbox import define, floats, quiet


@pytest.mark.parametrize("mark", ["DYNAMIC, DYNAMIC", "DYNAMIC, 16", "DYNAMIC, STATIC"])
def test_one_tensor_passed_twice_may_have_dynamic_axes(engine, tmp_path, mark):
    kernel = define(
        tmp_path,
        f"""
        @jit
        def kernel(cache: Tensor([DYNAMIC, DYNAMIC], DT_FP32), out: Tensor([{mark}], DT_FP32)):
            for i in loop(out.shape[0]):
                out[i : i + 1, :] = out[i : i + 1, :] + 1.0
            cache[:] = cache * 2.0
        """,
    )
    for rows in (10, 12, 10):
        both = floats(rows, 16)
        expected = (both + 1) * 2
        with quiet():
            kernel(both, both)
        assert np.array_equal(both, expected)
        with quiet():
            kernel(both.reshape(2 * rows, 8), both)  # another shape of the same memory
        assert np.array_equal(both, (expected + 1) * 2)
        other = np.zeros_like(both)
        with quiet():
            kernel(both, other)
        assert np.array_equal(both, (expected + 1) * 4) and (other == 1).all()
