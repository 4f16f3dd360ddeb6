"""relu(A·B)·D: the edges, the sets and waits, the beats and the token counts of the worked example (tile API section 5.11)."""

import pytest
from pipeline_kernels import demo, transform
from pipeline_timeline import CORES, Order, missing_orders, run, tokens

from pypto.cores.enums import PipeType
from pypto_pro.pipeline.traces import namespace_of

P = PipeType
TABLE = {  # kind, source, target, offset: distance for preload 0, 1, 2
    ("RAW", "product[mm1 W FIX]", "activation[mm1 R V]", 0): (0, 1, 1),
    ("WAR", "activation[mm1 R V]", "product[mm1 W FIX]", 2): (2, 1, 1),
    ("RAW", "activation[p W MTE3]", "second_product[p R MTE1]", 0): (0, 0, 1),
    ("WAR", "second_product[p R MTE1]", "activation[p W MTE3]", 2): (2, 2, 1),
    ("RAW", "second_product[o W FIX]", "write_back[o R MTE3]", 0): (0, 1, 1),
    ("WAR", "write_back[o R MTE3]", "second_product[o W FIX]", 2): (2, 1, 1),
}
STAGES = ["product", "activation", "second_product", "write_back"]
# What stands before and after every stage: (pipe, first of the two ids).
WAITS = {
    "product": [(P.FIX, 2)],
    "activation": [(P.V, 0), (P.MTE3, 6)],
    "second_product": [(P.MTE1, 4), (P.FIX, 10)],
    "write_back": [(P.MTE3, 8)],
}
SETS = {
    "product": [(P.FIX, 0)],
    "activation": [(P.V, 2), (P.MTE3, 4)],
    "second_product": [(P.MTE1, 6), (P.FIX, 8)],
    "write_back": [(P.MTE3, 10)],
}
PREFIRE = {
    "vector": [("set", P.V, 2), ("set", P.V, 3), ("set", P.MTE3, 10), ("set", P.MTE3, 11)],
    "cube": [("set", P.MTE1, 6), ("set", P.MTE1, 7)],
}
DRAIN = {
    "cube": [("wait", P.FIX, 2), ("wait", P.FIX, 3), ("wait", P.FIX, 10), ("wait", P.FIX, 11)],
    "vector": [("wait", P.MTE3, 6), ("wait", P.MTE3, 7)],
}


def logs(preload, iterations=4):
    transformed = transform(demo, preload)
    namespace = dict(namespace_of(demo), COUNT=iterations)
    return transformed, {core: run(transformed, namespace, core, *"abdo") for core in CORES}


@pytest.mark.parametrize("preload", [0, 1, 2])
def test_edges(preload):
    (report,) = transform(demo, preload).loops
    found = {(e.kind, e.source.label, e.target.label, e.offset): e.distance for e in report.graph.edges}
    assert found == {key: distances[preload] for key, distances in TABLE.items()}


@pytest.mark.parametrize("preload, delays, depth", [(0, (0, 0, 0, 0), 1), (1, (0, 1, 1, 2), 3), (2, (0, 1, 2, 3), 4)])
def test_delays_and_ring(preload, delays, depth):
    (report,) = transform(demo, preload).loops
    assert (report.delays, report.depth) == (delays, depth)


def expected_log(core, preload, iterations):
    """Beat by beat: the tasks of the core's stages, each with its waits and sets."""
    delays = dict(zip(STAGES, {0: (0, 0, 0, 0), 1: (0, 1, 1, 2), 2: (0, 1, 2, 3)}[preload], strict=True))
    log = list(PREFIRE[core])
    for beat in range(iterations + max(delays.values())):
        for stage in STAGES[0 if core == "cube" else 1 :: 2]:
            task = beat - delays[stage]
            if 0 <= task < iterations:
                log += [("wait", pipe, first + task % 2) for pipe, first in WAITS[stage]]
                log.append((stage, task))
                log += [("set", pipe, first + task % 2) for pipe, first in SETS[stage]]
    return log + DRAIN[core]


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("iterations", [0, 1, 2, 3, 4, 7])
@pytest.mark.parametrize("preload", [0, 1, 2])
def test_every_wait_set_and_stage_in_its_place(preload, iterations, core):
    _, found = logs(preload, iterations)
    plain = [(entry[1], entry[2][0]) if entry[0] == "stage" else entry for entry in found[core]]
    assert plain == expected_log(core, preload, iterations)


@pytest.mark.parametrize("preload", [0, 1, 2])
def test_tokens(preload):
    _, found = logs(preload)
    counts = tokens(found["cube"], found["vector"])
    forward, backward = {0, 1, 4, 5, 8, 9}, {2, 3, 6, 7, 10, 11}
    assert {event: count for (_, event), count in counts.items()} == dict.fromkeys(forward, (2, 2)) | dict.fromkeys(
        backward, (3, 3)
    )


@pytest.mark.parametrize("preload", [0, 1, 2])
def test_every_conflict_is_ordered(preload):
    transformed, found = logs(preload, 7)
    order = Order(transformed.loops[0], found)
    assert not order.unmatched and not order.circular()
    assert not missing_orders(transformed.loops[0], order, 7)


def test_a_missing_event_is_noticed():
    """The check itself: without one pair of events an order is missing."""
    transformed, found = logs(2, 7)
    without = {core: [entry for entry in log if entry[-1] not in (4, 5)] for core, log in found.items()}
    assert missing_orders(transformed.loops[0], Order(transformed.loops[0], without), 7)
