"""Random loop nests against plain Python running the same body, on both engines."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blackbox import quiet
from pypto.fuzz import cases, judge
from pypto.fuzz.engines import ENGINES, on_engine


def check(choose, folder):
    case = cases.nest(choose)
    expected = cases.run_plain(case.source)
    for engine in ENGINES:
        with quiet(), on_engine(engine):
            got = cases.load(case.source, folder).attempt()
        difference = judge.difference(expected, got, exact=True)
        assert not difference, f"{engine}: (out, log){difference}\n{case.source}"


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(choose=st.randoms(use_true_random=False))
def test_loop_nests_mean_what_python_means(tmp_path_factory, choose):
    check(choose, tmp_path_factory.mktemp("nests"))


@pytest.mark.parametrize("seed", range(24))
def test_loop_nests_of_fixed_seeds(tmp_path, seed):
    check(random.Random(seed), tmp_path)


@pytest.mark.parametrize("seed", range(1000, 1004))
def test_one_compilation_serves_other_scalars_and_tables(tmp_path, seed):
    source = cases.nest(random.Random(seed)).source
    module = cases.load(source, tmp_path)
    for n in (-2, 0, 3, 8):
        with quiet():
            got = module.attempt(seed=seed + n, n=n)
        assert not judge.difference(cases.run_plain(source, seed=seed + n, n=n), got, exact=True), source
    assert module.kernel.compilations == 1, source
