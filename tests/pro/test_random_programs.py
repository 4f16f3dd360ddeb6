"""Random kernels compute what plain Python computes on the same text."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import pypto_pro.language as pl

sys.path.insert(0, str(Path(__file__).parent))

from random_tile_programs import source

PROGRAMS = 60


def module_of(tmp_path, seed):
    file = tmp_path / f"random_{seed}.py"
    file.write_text(source(seed))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", range(4))
def test_random_kernels_equal_python(tmp_path, part):
    for seed in range(part, PROGRAMS, 4):
        module = module_of(tmp_path, seed)
        body = module.body

        @pl.jit
        def kernel(out: pl.Tensor[[16], pl.DT_INT64], n: pl.DT_INT64, m: pl.DT_INT64):
            body(out, n, m)

        for n, m in ((0, 3), (5, 1), (-4, 12)):
            expected, found = [0] * 16, np.zeros(16, np.int64)
            body(expected, n, m)
            with pl.simulate(timing=False, check=False):
                kernel(found, n, m)
            assert found.tolist() == expected, f"seed {seed}, n={n}, m={m}:\n{source(seed)}"
