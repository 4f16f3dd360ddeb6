"""Random chains: accepted exactly when the slots allow it, and then balanced, free of deadlock, with every conflict ordered.

Some of them run on the simulator as well: without a race, and equal to their serial form, under adversarial schedules.
"""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pipeline_chains import ROWS, Chain, Link, load
from pipeline_kernels import transform
from pipeline_timeline import CORES, Order, missing_orders, run, tokens

import pypto_pro.language as pl
from pypto.errors.pipeline import PreloadTooDeep
from pypto_pro.pipeline.traces import namespace_of

NUMBERS = itertools.count()
LINKS = st.builds(Link, st.integers(1, 4), st.booleans(), st.booleans(), st.sampled_from(["V", "V", "MTE3", "both", "in place"]))
CHAINS = st.builds(
    Chain,
    st.sampled_from(["cube", "vector"]),
    st.lists(LINKS, min_size=1, max_size=5).map(tuple),
    st.booleans(),
    st.booleans(),
)


def delays(stages, preload):
    found = []
    for stage in range(stages):
        found.append(0 if stage == 0 or preload == 0 else 1 if stage == 1 else found[stage - 2] + preload)
    return found


def accepted(chain, preload):
    """Every channel has a tile for each iteration in flight between its two stages."""
    late = delays(chain.stages, preload)
    return all(link.slots >= late[i + 1] - late[i] + 1 for i, link in enumerate(chain.links))


def check(kernel, chain, preload, iterations, outer):
    transformed = transform(kernel, preload, auto_mutex=chain.locks)
    (report,) = transformed.loops
    assert list(report.delays) == delays(chain.stages, preload)
    logs = {core: run(transformed, namespace_of(kernel), core, *"swod", iterations, outer) for core in CORES}
    tasks = iterations * (outer if chain.outer else 1)
    for stage in range(chain.stages):
        rows = [entry[2][1] for entry in logs[chain.core(stage)] if entry[:2] == ("stage", f"stage{stage}")]
        assert rows == [task * ROWS for task in range(tasks)]
    assert all(sets == waits for sets, waits in tokens(logs["cube"], logs["vector"]).values())
    order = Order(report, logs, chain.locks)
    assert not order.unmatched and not order.circular()
    unprotected = {f"ch{i}" for i, link in enumerate(chain.links) if not link.backward}
    missing = missing_orders(report, order, tasks)
    assert not [one for one in missing if not (one[1] < one[3] and any(f"[{name} " in one[0] for name in unprotected))]


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chain=CHAINS, preload=st.integers(0, 4), iterations=st.integers(0, 6), outer=st.integers(0, 2))
def test_random_chains(tmp_path_factory, chain, preload, iterations, outer):
    if chain.ids() > 14:
        chain = Chain(chain.first, tuple(Link(one.slots, one.backward, True, one.reader) for one in chain.links), chain.outer)
    kernel = load(chain, tmp_path_factory.mktemp("chain"), f"chain_{next(NUMBERS)}")
    if accepted(chain, preload):
        check(kernel, chain, preload, iterations, outer)
    else:
        with pytest.raises(PreloadTooDeep) as refused:
            transform(kernel, preload, auto_mutex=chain.locks)
        assert refused.value.facts["needed"] > refused.value.facts["slots"]
        possible = refused.value.facts["possible"]
        assert accepted(chain, possible) or possible == 0


@pytest.mark.parametrize("preload", range(5))
@pytest.mark.parametrize("slots", range(1, 5))
@pytest.mark.parametrize("stages", range(2, 7))
def test_every_length_slot_count_and_preload(tmp_path, stages, slots, preload):
    """With ``slots`` tiles everywhere a preload of up to ``slots`` runs (one tile: only chains without shift)."""
    one_id = (stages - 1) * 2 * slots > 16
    chain = Chain("cube", tuple(Link(slots, True, one_id) for _ in range(stages - 1)))
    kernel = load(chain, tmp_path, "chain_plain")
    if accepted(chain, preload):
        check(kernel, chain, preload, 5, 1)
    else:
        with pytest.raises(PreloadTooDeep):
            transform(kernel, preload)


def simulated(kernel, preload, seed, iterations, outer, tasks):
    random = np.random.default_rng(0)
    src = random.standard_normal((max(tasks, 1) * ROWS, 32)).astype(np.float32)
    weights = random.standard_normal((32, 32)).astype(np.float32)
    out, side = np.full_like(src, np.nan), np.full((len(src), 256), np.nan, np.float32)
    decorated = pl.jit(pipeline=pl.pipeline.PipelineConfig(preload=preload))(kernel)
    with pl.simulate(seed=seed):
        decorated[None, 1](src, weights, out, side, iterations, outer)
    assert not np.isnan(out[: tasks * ROWS]).any()
    return out, side


@settings(max_examples=12, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chain=CHAINS, iterations=st.integers(0, 6), outer=st.integers(0, 2))
def test_random_chains_on_the_simulator(tmp_path_factory, chain, iterations, outer):
    links = tuple(Link(one.slots, True, True, one.reader) for one in chain.links)
    chain = Chain(chain.first, links, chain.outer)
    kernel = load(chain, tmp_path_factory.mktemp("chain"), f"chain_{next(NUMBERS)}")
    tasks = iterations * (outer if chain.outer else 1)
    serial = simulated(kernel, 0, None, iterations, outer, tasks)
    for preload in [preload for preload in range(5) if accepted(chain, preload)]:
        for seed in (0, 1):
            found = simulated(kernel, preload, seed, iterations, outer, tasks)
            np.testing.assert_array_equal(found[0], serial[0])
            np.testing.assert_array_equal(found[1], serial[1])
