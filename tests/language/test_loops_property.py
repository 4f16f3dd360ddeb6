"""Random loop nests against plain Python running the same body, on both engines."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blackbox import quiet
from pypto.fuzz import cases, grammar
from pypto.fuzz.engines import ENGINES


def check(choose, tmp_path):
    source, values = grammar.kernel_source(choose), cases.arguments(choose)
    expected = cases.run_plain(source, values)
    for engine in ENGINES:
        with quiet():
            got = cases.run_engine(cases.load(source, tmp_path).kernel, values, engine)
        difference = cases.differences(expected, got)
        assert not difference, f"{engine}: {difference} (x, table, out, log, n)\n{source}"


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(choose=st.randoms(use_true_random=False))
def test_loop_nests_mean_what_python_means(tmp_path_factory, choose):
    check(choose, tmp_path_factory.mktemp("nests"))


@pytest.mark.parametrize("seed", range(24))
def test_loop_nests_of_fixed_seeds(tmp_path, seed):
    check(random.Random(seed), tmp_path)


def test_one_compilation_serves_other_sizes_and_scalars(tmp_path):
    """The same compiled nests with other run-time scalars, tables and sizes."""
    for seed in range(4):
        choose = random.Random(1000 + seed)
        source = grammar.kernel_source(choose)
        kernel = cases.load(source, tmp_path).kernel
        for _ in range(3):
            values = cases.arguments(choose)
            with quiet():
                got = cases.run_engine(kernel, values, "cpu")
            assert not cases.differences(cases.run_plain(source, values), got), source
        assert kernel.compilations == 1, source
