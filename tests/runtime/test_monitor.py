"""Long compilations say that they are under way (field case FC-167), and what takes long when asked."""

import time

import numpy as np
import pytest

import pypto
from pypto.options.scopes import scope


def slowly(x):
    time.sleep(1.3)
    return x + 1.0


def compiled(capfd, **options):
    @pypto.jit
    def patient(x: pypto.Tensor([4], pypto.DT_FP32)):
        x[:] = slowly(x)

    x = np.zeros(4, np.float32)
    with scope("monitor", {f"host.compile_{name}": value for name, value in options.items()}):
        patient(x)
    assert (x == 1).all()
    return capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"monitor_print_interval": 1}, ["compiling 'patient': 1 s so far, in step 'trace'"]),
        ({"timeout": 1, "monitor_print_interval": 0}, ["the compilation takes longer than host.compile_timeout = 1 s"]),
        ({"timeout_stage": 1}, ["step 'trace' takes longer than host.compile_timeout_stage = 1 s"]),
        ({"monitor_enable": 2}, ["'trace' took", "'simplify' took"]),
    ],
)
def test_what_is_said(capfd, options, said):
    text = compiled(capfd, **options)
    assert all(one in text for one in said), text


def test_nothing_is_said_by_default_or_when_off(capfd):
    assert compiled(capfd) == ""
    assert compiled(capfd, monitor_enable=0, monitor_print_interval=1, timeout=1) == ""
