"""Buffers on the same addresses (tile API sections 5.11.2 and 5.11.3), spare ids, and edges that need no event."""

import pytest
from pipeline_timeline import CORES, Order, missing_orders, run, tokens
from small import pipelined

from pypto.errors.pipeline import OverlapTokens, ReuseTooDeep
from pypto_pro.pipeline.events import IMPLIED, SAME_CORE
from pypto_pro.pipeline.traces import namespace_of

SHARED = ("addrs=0x10000, mutex_ids=[10, 11]", "addrs=0x0, mutex_ids=[0, 1]")  # ch2 on the addresses of ch


def sound(kernel, transformed, locks=True, iterations=7):
    """Balanced, no deadlock, every conflict of two cores ordered."""
    (report,) = transformed.loops
    logs = {core: run(transformed, namespace_of(kernel), core, "out", iterations, 1.0) for core in CORES}
    assert all(sets == waits for sets, waits in tokens(logs["cube"], logs["vector"]).values())
    order = Order(report, logs, locks)
    assert not order.unmatched and not order.circular()
    assert not missing_orders(report, order, iterations)


def table(report):
    return {
        (e.kind, e.source.stage.name, e.source.buffer, e.target.stage.name, e.target.buffer, e.offset): e
        for e in report.graph.edges
    }


@pytest.mark.parametrize("preload, distance", [(0, 2), (1, 0)])
def test_two_channels_on_one_area(tmp_path, preload, distance):
    """Case B: the release of ch2 goes to ch with ids from the pool; the one of ch to ch2 follows from the data in between."""
    kernel, made = pipelined(tmp_path, preload, SHARED)
    (report,) = made.loops
    edges = table(report)
    release = edges["WAR", "consume", "ch2", "produce", "ch", 2]
    within = edges["WAR", "hand_back", "ch", "produce_again", "ch2", 0]
    assert release.distance == distance
    assert report.events.silent == {within: IMPLIED}
    (extra,) = [signal for signal in report.events.signals if signal.edge is release]
    assert (extra.name, extra.ids) == ("_pl_overlap_ids_0", (12, 13))
    assert {"ch", "ch2"} <= {edge.source.buffer for edge in report.graph.edges if edge.kind == "WAR" and edge.same_buffer}
    sound(kernel, made)


def test_two_channels_on_one_area_with_preload_two(tmp_path):
    with pytest.raises(ReuseTooDeep, match="runs inverse-time") as refused:
        pipelined(tmp_path, 2, SHARED)
    assert (refused.value.facts["needed"], refused.value.facts["possible"]) == (3, 1)


LOCAL = (  # nz, scratch of the second stage, on the addresses of ch2
    (
        "nz = pl.make_tile_group(type=vec, addrs=0x30000, mutex_ids=[2, 3])",
        "nz = pl.make_tile_group(type=vec, addrs=0x10000, mutex_ids=[10, 11])",
    ),
)


@pytest.mark.parametrize("preload", [0, 1])
def test_a_channel_on_local_scratch(tmp_path, preload):
    """Case A: both ends on the vector core need no event, and no pair has both of its ends there."""
    kernel, made = pipelined(tmp_path, preload, *LOCAL)
    (report,) = made.loops
    assert SAME_CORE in report.events.silent.values()
    assert all(signal.edge.crosses for signal in report.events.signals)
    sound(kernel, made)


def test_a_channel_on_local_scratch_with_preload_two(tmp_path):
    """The scratch of iteration t + 2 would overwrite what iteration t has not stored yet."""
    with pytest.raises(ReuseTooDeep):
        pipelined(tmp_path, 2, *LOCAL)


def test_other_tokens_are_refused(tmp_path):
    with pytest.raises(OverlapTokens, match="must share mutex_ids"):
        pipelined(tmp_path, 1, ("addrs=0x10000, mutex_ids=[10, 11]", "addrs=0x0, mutex_ids=[10, 11]"))


LATE = ("    pl.insert(z, y, [0, 0])\n", "    pl.insert(z, y, [0, 0])\n    pl.add(x, x, x)\n")  # ch is used after the hand-over


def test_what_the_data_does_not_imply_gets_an_event(tmp_path):
    """ch is touched once more after the insert that the cube waits for: then ch2 has to wait for that, too."""
    kernel, made = pipelined(tmp_path, 1, SHARED, LATE)
    (report,) = made.loops
    extra = [signal for signal in report.events.signals if signal.declared is None]
    assert sorted(signal.edge.offset for signal in extra) == [0, 2] and [len(signal.ids) for signal in extra] == [2, 2]
    sound(kernel, made)


def test_too_few_ids_are_shared(tmp_path):
    """Three ids are free, four are wanted: one group gets one for both of its tiles, and says so."""
    kernel, made = pipelined(
        tmp_path,
        1,
        SHARED,
        LATE,
        ("bwd_ids=[6, 7]", "bwd_ids=[12]"),
        ("bwd_ids=[10, 11]", "bwd_ids=[13, 14]"),
        ("fwd_ids=[8, 9]", "fwd_ids=[8, 15]"),
        ("bwd_ids=[2, 3]", "bwd_ids=[2, 3]"),
    )
    (report,) = made.loops
    free = {6, 7, 9, 10, 11}
    extra = [signal for signal in report.events.signals if signal.declared is None]
    assert {event for signal in extra for event in signal.ids} <= free
    sound(kernel, made)


BOTH = ("    y = nz.next()\n    pl.move(y, x)\n", "    y = nz.next()\n    pl.move(y, x)\n    pl.store(k, x, [0, 0])\n")


@pytest.mark.parametrize("locks, extra", [(True, 0), (False, 1)])
def test_two_pipes_read_a_channel(tmp_path, locks, extra):
    """With locks the second pipe follows the first; without, it needs an event of its own: one token must not serve two pipes."""
    kernel, made = pipelined(tmp_path, 1, BOTH, auto_mutex=locks)
    (report,) = made.loops
    assert len([signal for signal in report.events.signals if signal.declared is None]) == extra
    sound(kernel, made, locks)


def test_in_place_on_a_channel(tmp_path):
    """Reads of an operation come before its write: no circle, and the write is released as well."""
    for preload in (0, 1, 2):
        kernel, made = pipelined(
            tmp_path, preload, ("    y = nz.next()\n    pl.move", "    y = nz.next()\n    pl.relu(x, x)\n    pl.move")
        )
        sound(kernel, made)


def test_forward_ids_only(tmp_path):
    """Without bwd_ids nothing is released, but the edge is known: a preload beyond the slots is still refused."""
    kernel, made = pipelined(tmp_path, 2, (", bwd_ids=[6, 7]", ""))
    (report,) = made.loops
    (edge,) = [edge for edge, reason in report.events.silent.items() if reason == "no ids declared"]
    assert (edge.kind, edge.source.buffer, edge.offset) == ("WAR", "p", 2)
