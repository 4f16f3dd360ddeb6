"""Kernels that look right and are not, and kernels that look wrong and are right: no miss, no false alarm, under any schedule.

``hazards/wrong/*.py`` and ``hazards/right/*.py`` hold a ``kernel`` each, with what it must raise (``EXPECTED``) and its ``BLOCKS``.
"""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import pypto_pro.language as pl
from pypto.errors.base import UserError

HERE = Path(__file__).parent / "hazards"
WRONG = sorted((HERE / "wrong").glob("*.py"))
RIGHT = sorted((HERE / "right").glob("*.py"))
SEEDS = (None, 1, 2)

pytestmark = pytest.mark.filterwarnings("ignore::pypto.diagnostics.PyptoWarning")  # some are warned of before they run


def load(file):
    spec = importlib.util.spec_from_file_location(f"hazard_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(kernel):
    """Random inputs, zeros to write to; a pointer points to what is written."""
    draw = np.random.default_rng(0)
    made = {}
    for name, annotation in kernel.pypto_function.__annotations__.items():
        if name == "p":
            made[name] = made["out"]
        elif name == "out":
            made[name] = np.zeros(annotation.shape, np.float32)
        else:
            made[name] = draw.standard_normal(annotation.shape, np.float32)
    return made


@pytest.mark.parametrize("file", WRONG, ids=lambda file: file.stem)
def test_what_is_wrong_is_found(file):
    module = load(file)
    for seed in SEEDS:
        with pl.simulate(seed=seed), pytest.raises(UserError) as caught:
            module.kernel[module.BLOCKS](**arguments(module.kernel))
        assert type(caught.value).__name__ in module.EXPECTED, f"seed {seed}: {caught.value}"
        assert caught.value.span is not None or module.EXPECTED == ["TileMemoryExceeded"]


@pytest.mark.parametrize("file", RIGHT, ids=lambda file: file.stem)
def test_what_is_right_is_let_through(file):
    module = load(file)
    found = []
    for seed in SEEDS:
        given = arguments(module.kernel)
        with pl.simulate(seed=seed):
            module.kernel[module.BLOCKS](**given)
        found.append(given["out"])
    assert all(np.array_equal(found[0], other) for other in found)
