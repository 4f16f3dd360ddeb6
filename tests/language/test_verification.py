"""``pass_verify_print``."""

import numpy as np
import pytest

import pypto

FP32 = pypto.DT_FP32


@pypto.frontend.jit
def shows(x: pypto.Tensor([4, 8], FP32), out: pypto.Tensor([4, 8], FP32)):
    pypto.pass_verify_print("before", x[0:1, 0:2], cond=0)
    for i in pypto.loop(4):
        pypto.pass_verify_print("row", i, cond=i == 2)
        out[i : i + 1, :] = x[i : i + 1, :]
    pypto.pass_verify_print("after", 7)


def test_it_prints_only_when_verification_is_on(engine, capfd):
    x, out = np.ones((4, 8), np.float32), np.zeros((4, 8), np.float32)
    shows(x, out)
    assert capfd.readouterr().out == ""
    with pypto.options(verify_options={"enable_pass_verify": True}):
        shows(x, out)
    assert capfd.readouterr().out.splitlines() == ["row 2", "after 7"]
    assert np.array_equal(out, x)


def test_a_condition_must_be_a_number():
    @pypto.frontend.jit
    def wrong(x: pypto.Tensor([4, 8], FP32)):
        pypto.pass_verify_print(x, cond=None)
        x[:] = x + 1.0

    with pypto.options(verify_options={"enable_pass_verify": True}), pytest.raises(TypeError, match="cond is an int"):
        wrong(np.ones((4, 8), np.float32))


@pypto.frontend.jit
def prints(x: pypto.Tensor([4, 8], FP32)):
    pypto.print("x:", x)
    x[:] = x + 1.0


def test_print_options_shape_what_is_printed(engine, capfd):
    x = np.full((4, 8), 1 / 3, np.float32)
    with pypto.options():
        pypto.set_print_options(precision=2, threshold=4, edgeitems=1, linewidth=80)
        prints(x)
    assert capfd.readouterr().out.split() == "x: [[0.33 ... 0.33] ... [0.33 ... 0.33]]".split()
