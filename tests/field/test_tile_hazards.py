"""Field cases of the tile level, section E: pipelines, synchronisation, hazards, limits, output."""

import itertools

import numpy as np
import pytest
import torch
from kernels import attention, chains, two_loops
from kernels.case import random, unwritten

import pypto_pro.language as pl
from pypto.diagnostics import PyptoWarning
from pypto.errors.pipeline import (
    EventIdCount,
    LoopsUnderOneLoop,
    StageUnderCondition,
    TooFewEventIds,
)
from pypto.errors.simulation import DataRace, Deadlock, FlagSetTwice, UnpairedSync
from pypto.errors.tile_memory import TileMemoryExceeded
from pypto.errors.tiles import AssertionFailed

FP32 = pl.DT_FP32
VEC, MAT = pl.MemorySpace.Vec, pl.MemorySpace.Mat
MTE2, MTE3, V, S = pl.PipeType.MTE2, pl.PipeType.MTE3, pl.PipeType.V, pl.PipeType.S
SEEDS = (None, *range(8))


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def nans(*shape):
    return np.full(shape, np.nan, np.float32)


def same_bits(one, other):
    return torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8))


# -- pipelines ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preload", [1, 2])
@pytest.mark.parametrize("trips", [0, 1, 2, 3])
def test_fc_122_short_loops_of_four_stages(preload, trips):
    def run(made):
        arguments, expected = chains.chain_data(trips * chains.TILE, 4)
        made(*arguments)
        torch.testing.assert_close(arguments[3], expected[3], rtol=1e-4, atol=1e-4, equal_nan=True)
        return arguments[3]

    serial = run(chains.FOUR[2](0))
    for seed in SEEDS:
        with pl.simulate(seed=seed):
            assert same_bits(run(chains.FOUR[2](preload)), serial)


@pytest.mark.parametrize("preload", [1, 2])
@pytest.mark.parametrize("trips", [1, 2, 3])
def test_fc_122_short_loops_of_attention(preload, trips):
    def run(made):
        arguments, expected = attention.data(32, 20, trips * 32 - 5, 0)
        made(*arguments)
        torch.testing.assert_close(arguments[4], expected[4], rtol=2e-3, atol=2e-3)
        return arguments[4]

    serial = run(attention.SMALL(0))
    for seed in SEEDS:
        with pl.simulate(seed=seed):
            assert same_bits(run(attention.SMALL(preload)), serial)


@pytest.mark.parametrize("preload", [(1, 2), (2, 0), (0, 3)])
def test_fc_124_two_loops_of_different_preload(preload):
    for count, again in [(0, 0), (1, 1), (5, 4)]:
        for seed in SEEDS[:3]:
            arguments, expected = two_loops.data(count, again)
            with pl.simulate(seed=seed):
                two_loops.make(preload)(*arguments)
            torch.testing.assert_close(arguments[4], expected[4], rtol=1e-4, atol=1e-4, equal_nan=True)


@pl.pipeline.stage
def fill(i, channel, source, ones, lefts, rights, sums):
    left = lefts.next()
    right = rights.next()
    total = sums.next()
    tile = ones.next()
    pl.load(tile, source, [i * 32, 0])
    pl.move(left, tile)
    pl.move(right, tile)
    pl.matmul(total, left, right)
    target = channel.next()
    pl.move(target, total, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def drain(i, channel, half, out, work):
    x = channel.next()
    y = work.next()
    pl.exp(y, x)
    pl.exp(y, y)
    pl.store(out, y, [i * 32 + half * 16, 0])


@pl.pipeline.stage
def fill_again(i, channel, source, ones, lefts, rights, sums):
    left = lefts.next()
    right = rights.next()
    total = sums.next()
    tile = ones.next()
    pl.load(tile, source, [i * 32, 0])
    pl.move(left, tile)
    pl.move(right, tile)
    pl.matmul(total, left, right)
    target = channel.next()
    pl.move(target, total, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def drain_again(i, channel, half, out):
    x = channel.next()
    pl.store(out, x, [i * 32 + half * 16, 0])


def make_square(preload, forward, backward, form="loop", slots=2):
    """exp(exp(A_i A_i)) for square tiles A_i of 32, with whatever events; ``form`` is where the stages stand."""
    tokens = list(range(10, 10 + slots))

    @pl.jit(auto_mutex=True, pipeline=pl.pipeline.PipelineConfig(preload=preload))
    def square(a: pl.Tensor[[pl.DYNAMIC, 32], FP32], out: pl.Tensor[[pl.DYNAMIC, 32], FP32], n: pl.DT_INT32):
        half_type = pl.TileType(shape=[16, 32], dtype=FP32, target_memory=VEC)
        channel = pl.make_tile_group(type=half_type, addrs=0x0, mutex_ids=tokens, fwd_ids=forward, bwd_ids=backward)
        if form in ("nested", "sequence"):
            again = pl.make_tile_group(type=half_type, addrs=0x8000, mutex_ids=[16, 17], fwd_ids=forward, bwd_ids=backward)
        with pl.section_cube():
            tile_type = pl.TileType(shape=[32, 32], dtype=FP32, target_memory=MAT)
            left_type = pl.TileType(shape=[32, 32], dtype=FP32, target_memory=pl.MemorySpace.Left)
            right_type = pl.TileType(shape=[32, 32], dtype=FP32, target_memory=pl.MemorySpace.Right)
            sum_type = pl.TileType(shape=[32, 32], dtype=FP32, target_memory=pl.MemorySpace.Acc)
            tiles = pl.make_tile_group(type=tile_type, addrs=0, mutex_ids=[0, 1])
            lefts = pl.make_tile_group(type=left_type, addrs=0, mutex_ids=[2, 3])
            rights = pl.make_tile_group(type=right_type, addrs=0, mutex_ids=[4, 5])
            sums = pl.make_tile_group(type=sum_type, addrs=0, mutex_ids=[6, 7])
        with pl.section_vector():
            half = pl.get_subblock_idx()
            work = pl.make_tile_group(type=half_type, addrs=0x4000, mutex_ids=[0, 1])
        if form == "loop":
            for i in pl.range(0, n):
                with pl.section_cube():
                    fill(i, channel, a, tiles, lefts, rights, sums)
                with pl.section_vector():
                    drain(i, channel, half, out, work)
        if form == "sequence":
            for i in pl.range(0, n):
                with pl.section_cube():
                    fill(i, channel, a, tiles, lefts, rights, sums)
                with pl.section_vector():
                    drain(i, channel, half, out, work)
            pl.system.sync_all(core_type=pl.SyncCoreType.MIX)
            for j in pl.range(0, n):
                with pl.section_cube():
                    fill_again(j, again, a, tiles, lefts, rights, sums)
                with pl.section_vector():
                    drain_again(j, again, half, out)
        if form == "nested":
            for k in pl.range(0, 2):
                for i in pl.range(0, n):
                    with pl.section_cube():
                        fill(i, channel, a, tiles, lefts, rights, sums)
                    with pl.section_vector():
                        drain(i, channel, half, out, work)
                pl.system.sync_all(core_type=pl.SyncCoreType.MIX)
                for j in pl.range(0, n):
                    with pl.section_cube():
                        fill_again(j, again, a, tiles, lefts, rights, sums)
                    with pl.section_vector():
                        drain_again(j, again, half, out)
        if form == "condition":
            for i in pl.range(0, n):
                with pl.section_cube():
                    fill(i, channel, a, tiles, lefts, rights, sums)
                with pl.section_vector():
                    if i > 0:
                        drain(i, channel, half, out, work)

    return square


def squares(blocks, seed=1):
    a = random(blocks * 32, 32, scale=0.1, seed=seed)
    products = torch.cat([one.double() @ one.double() for one in a.split(32)])
    return a, unwritten(blocks * 32, 32), products


def test_fc_124_the_same_events_in_two_loops():
    """The first loop leaves none behind that the second could take."""
    for seed in SEEDS:
        a, out, products = squares(5)
        with pl.simulate(seed=seed):
            make_square([1, 2], [0, 1], [2, 3], form="sequence")(a, out, 5)
        torch.testing.assert_close(out, products.float(), rtol=1e-5, atol=1e-5)


def test_fc_124_two_loops_under_one_loop_are_refused():
    a, out, _ = squares(2)
    with pytest.raises(LoopsUnderOneLoop):
        make_square(1, [0, 1], [2, 3], form="nested")(a, out, 2)


@pl.jit()
def last_of_ring(x: pl.Tensor[[pl.DYNAMIC, 16], FP32], out: pl.Tensor[[pl.DYNAMIC, 16], FP32], last: pl.Tensor[[8, 16], FP32]):
    with pl.section_vector():
        kind = pl.TileType(shape=[8, 16], dtype=FP32, target_memory=VEC)
        tiles = pl.make_tile_group(type=kind, addrs=0, mutex_ids=[0, 1, 2])
        for row in pl.range(0, x.shape[0], 8):
            tile = tiles.next()
            pl.load(tile, x, [row, 0])
            pl.add(tile, tile, 1.0)
            pl.store(out, tile, [row, 0])
        pl.store(last, tiles.current(), [0, 0])


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 7])
def test_fc_125_the_last_slot_after_the_loop(blocks):
    x, out, last = floats(8 * blocks, 16), nans(8 * blocks, 16), nans(8, 16)
    last_of_ring(x, out, last)
    assert (out == x + 1).all() and (last == x[-8:] + 1).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_fc_127_forward_events_alone_do_not_protect_the_slots(seed):
    a, out, _ = squares(5)
    with pl.simulate(seed=seed), pytest.raises(DataRace, match="write after read") as caught:
        make_square(0, [0, 1], None)(a, out, 5)
    assert "add bwd_ids to the group 'channel'" in str(caught.value)


def test_fc_128_one_event_for_several_tiles_serialises():
    a, out, products = squares(5)
    cycles = []
    for forward, backward in [([0, 1], [2, 3]), ([0], [2])]:
        for seed in SEEDS:
            kernel = make_square(1, forward, backward)
            with pl.simulate(seed=seed):
                kernel(a, out, 5)
            torch.testing.assert_close(out, products.exp().exp().float(), rtol=1e-5, atol=1e-5)
        kernel(a, out, 5)
        cycles.append(kernel.last_report.cycles)
    assert cycles[1] >= cycles[0]


def test_fc_128_events_must_be_one_or_as_many_as_tiles():
    a, out, _ = squares(1)
    with pytest.raises(EventIdCount) as caught:
        make_square(1, [0, 1, 2], [3, 4])(a, out, 1)
    assert "channel" in str(caught.value) and "fwd_ids" in str(caught.value)


# -- event ids


@pl.pipeline.stage
def reused(i, channel, half, out, work):
    """The work tile lies where the channel lies: the transform guards it with events of its own."""
    x = channel.next()
    y = work.next()
    pl.exp(y, x)
    pl.store(out, y, [i * 32 + half * 16, 0])


def make_crowded(slots):
    """Channels take all but a few of the 16 events; another one shares the addresses of a local group."""
    ids = list(range(slots))

    @pl.jit(auto_mutex=True, pipeline=pl.pipeline.PipelineConfig(preload=0))
    def crowded(a: pl.Tensor[[pl.DYNAMIC, 32], FP32], out: pl.Tensor[[pl.DYNAMIC, 32], FP32], n: pl.DT_INT32):
        half_type = pl.TileType(shape=[16, 32], dtype=FP32, target_memory=VEC)
        channel = pl.make_tile_group(type=half_type, addrs=0x0, mutex_ids=ids, fwd_ids=ids)
        with pl.section_cube():
            tile_type = pl.TileType(shape=[32, 32], dtype=FP32, target_memory=MAT)
            left_type = pl.TileType(shape=[32, 32], dtype=FP32, target_memory=pl.MemorySpace.Left)
            right_type = pl.TileType(shape=[32, 32], dtype=FP32, target_memory=pl.MemorySpace.Right)
            sum_type = pl.TileType(shape=[32, 32], dtype=FP32, target_memory=pl.MemorySpace.Acc)
            tiles = pl.make_tile_group(type=tile_type, addrs=0, mutex_ids=[20, 21])
            lefts = pl.make_tile_group(type=left_type, addrs=0, mutex_ids=[22, 23])
            rights = pl.make_tile_group(type=right_type, addrs=0, mutex_ids=[24, 25])
            sums = pl.make_tile_group(type=sum_type, addrs=0, mutex_ids=[26, 27])
        with pl.section_vector():
            half = pl.get_subblock_idx()
            work = pl.make_tile_group(type=half_type, addrs=0x0, mutex_ids=ids)
        for i in pl.range(0, n):
            with pl.section_cube():
                fill(i, channel, a, tiles, lefts, rights, sums)
            with pl.section_vector():
                reused(i, channel, half, out, work)

    return crowded


def test_fc_129_more_events_than_there_are_is_an_error_with_the_budget():
    a, out, _ = squares(1)
    with pytest.raises(TooFewEventIds) as caught:
        make_crowded(16)(a, out, 1)
    text = str(caught.value)
    assert "16" in text and "channel" in text


def test_fc_129_where_few_are_left_one_event_guards_all_slots():
    for slots in (2, 4, 10, 15):
        kernel = make_crowded(slots)
        if slots > 8:
            with pytest.warns(PyptoWarning, match=f"shares one id for its {slots} tiles, the hand-over is serialised"):
                kernel.compile()
        for seed in SEEDS[:4]:
            a, out, products = squares(2 * slots + 1)
            with pl.simulate(seed=seed):
                kernel(a, out, 2 * slots + 1)
            torch.testing.assert_close(out, products.exp().float(), rtol=1e-5, atol=1e-5)


# -- events by hand -----------------------------------------------------------------------------------------------------------


ONLY_SET, ONLY_WAIT, TWICE, ONE_ARM = range(4)


def make_events(form):
    @pl.jit(auto_mutex=False)
    def events(x: pl.Tensor[[8, 16], FP32], n: pl.DT_INT32):
        with pl.section_vector():
            tile = pl.make_tile(pl.TileType(shape=[8, 16], dtype=FP32, target_memory=VEC), addr=0)
            pl.load(tile, x, [0, 0])
            if form == ONLY_SET:
                pl.system.sync_src(set_pipe=MTE2, wait_pipe=V, event_id=3)
            if form == ONLY_WAIT:
                pl.system.sync_dst(set_pipe=MTE2, wait_pipe=V, event_id=3)
            if form == TWICE:
                pl.system.sync_src(set_pipe=MTE2, wait_pipe=V, event_id=3)
                pl.system.sync_src(set_pipe=MTE2, wait_pipe=V, event_id=3)
                pl.system.sync_dst(set_pipe=MTE2, wait_pipe=V, event_id=3)
                pl.system.sync_dst(set_pipe=MTE2, wait_pipe=V, event_id=3)
            if form == ONE_ARM:
                if n > 3:
                    pl.system.sync_src(set_pipe=MTE2, wait_pipe=V, event_id=3)
                pl.system.sync_dst(set_pipe=MTE2, wait_pipe=V, event_id=3)

    return events


@pytest.mark.parametrize(
    "form, kind, line",
    [
        (ONLY_SET, UnpairedSync, "pl.system.sync_src(set_pipe=MTE2, wait_pipe=V, event_id=3)"),
        (ONLY_WAIT, Deadlock, "pl.system.sync_dst(set_pipe=MTE2, wait_pipe=V, event_id=3)"),
        (TWICE, FlagSetTwice, "pl.system.sync_src(set_pipe=MTE2, wait_pipe=V, event_id=3)"),
        (ONE_ARM, Deadlock, "pl.system.sync_dst(set_pipe=MTE2, wait_pipe=V, event_id=3)"),
    ],
)
@pytest.mark.parametrize("seed", SEEDS[:4])
def test_fc_131_unpaired_events(form, kind, line, seed):
    with pl.simulate(seed=seed), pytest.raises(kind) as caught:
        make_events(form)(floats(8, 16), 0)
    text = str(caught.value)
    assert line in text and "AIV0" in text and "MTE2" in text and "event 3" in text.replace("flag 3", "event 3")


@pl.jit(auto_mutex=False)
def crossed(n: pl.DT_INT32):
    with pl.section_cube():
        for i in pl.range(0, n):
            pl.system.wait_cross_core(pipe=pl.PipeType.FIX, event_id=1)
            pl.system.set_cross_core(pipe=pl.PipeType.FIX, event_id=0)
    with pl.section_vector():
        for k in pl.range(0, n):
            pl.system.wait_cross_core(pipe=MTE3, event_id=0)
            pl.system.set_cross_core(pipe=MTE3, event_id=1)


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_fc_132_cores_that_wait_for_each_other(seed):
    with pl.simulate(seed=seed), pytest.raises(Deadlock) as caught:
        crossed(2)
    text = str(caught.value)
    for part in ("AIC", "AIV", "i=0", "k=0", "wait_cross_core(pipe=pl.PipeType.FIX, event_id=1)"):
        assert part in text, text


# -- tokens -------------------------------------------------------------------------------------------------------------------


@pl.jit()
def overlapping(x: pl.Tensor[[8, 16], FP32], out: pl.Tensor[[8, 16], FP32]):
    with pl.section_vector():
        kind = pl.TileType(shape=[8, 16], dtype=FP32, target_memory=VEC)
        one = pl.make_tile_group(type=kind, addrs=0x000, mutex_ids=[0])
        other = pl.make_tile_group(type=kind, addrs=0x100, mutex_ids=[1])
        pl.load(one.current(), x, [0, 0])
        pl.store(out, one.current(), [0, 0])
        pl.expands(other.current(), 1.0)


def test_fc_134_tiles_that_share_bytes_and_no_token():
    with pytest.warns(PyptoWarning, match="one and other share bytes 0x100 to 0x1ff, but not a token"):
        overlapping.compile()


@pl.jit()
def chosen(x: pl.Tensor[[64, 16], FP32], out: pl.Tensor[[64, 16], FP32], parity: pl.DT_INT32):
    """Tiles picked by a condition and by an index; each is loaded again right after it was stored."""
    with pl.section_vector():
        kind = pl.TileType(shape=[8, 16], dtype=FP32, target_memory=VEC)
        even = pl.make_tile_group(type=kind, addrs=0x000, mutex_ids=[0])
        odd = pl.make_tile_group(type=kind, addrs=0x200, mutex_ids=[1])
        ring = pl.make_tile_group(type=kind, addrs=0x400, mutex_ids=[2, 3, 4])
        for i in pl.range(0, 8):
            tile = even.current() if i % 2 == parity else odd.current()
            result = ring[i % 3]
            pl.load(tile, x, [i * 8, 0])
            pl.mul(result, tile, 2.0)
            pl.store(out, result, [i * 8, 0])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("parity", [0, 1, 2])
def test_fc_135_the_lock_is_that_of_the_tile_really_chosen(parity, seed):
    x, out = floats(64, 16), nans(64, 16)
    with pl.simulate(seed=seed):
        chosen(x, out, parity)
    assert (out == 2 * x).all()


def make_element_and_row(ordered):
    @pl.jit()
    def element_and_row(x: pl.Tensor[[1, 16], FP32], out: pl.Tensor[[1, 16], FP32]):
        with pl.section_vector():
            tiles = pl.make_tile_group(type=pl.TileType(shape=[1, 16], dtype=FP32, target_memory=VEC), addrs=0, mutex_ids=[0])
            pl.load(tiles.current(), x, [0, 0])
            pl.store(out, tiles.current(), [0, 0])
            if ordered:
                pl.system.sync_src(set_pipe=MTE3, wait_pipe=S, event_id=0)
                pl.system.sync_dst(set_pipe=MTE3, wait_pipe=S, event_id=0)
            out[0, 3] = 5.0

    return element_and_row


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_fc_137_an_element_and_a_row_of_global_memory(seed):
    x, out = floats(1, 16), nans(1, 16)
    with pl.simulate(seed=seed):
        make_element_and_row(True)(x, out)
        assert out[0, 3] == 5.0 and (np.delete(out, 3) == np.delete(x, 3)).all()
        with pytest.raises(DataRace, match="setval|store"):
            make_element_and_row(False)(x, out)


# -- degenerate pipelines -----------------------------------------------------------------------------------------------------


@pl.pipeline.stage
def load_only(i, a, tiles):
    tile = tiles.next()
    pl.load(tile, a, [i * 32, 0])


@pl.pipeline.stage
def nothing(i):
    pass


def make_degenerate(two_stages):
    @pl.jit(auto_mutex=True, pipeline=pl.pipeline.PipelineConfig(preload=2))
    def degenerate(a: pl.Tensor[[64, 32], FP32], n: pl.DT_INT32):
        with pl.section_cube():
            tiles = pl.make_tile_group(type=pl.TileType(shape=[32, 32], dtype=FP32, target_memory=MAT), addrs=0, mutex_ids=[0, 1])
        for i in pl.range(0, n):
            with pl.section_cube():
                load_only(i, a, tiles)
            if two_stages:
                with pl.section_vector():
                    nothing(i)

    return degenerate


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fc_138_a_loop_with_cube_stages_only_stays_as_it_is(n):
    with pytest.warns(PyptoWarning, match="only one stage, 'load_only': there is nothing to overlap"):
        make_degenerate(False)(floats(64, 32), n)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fc_138_an_empty_stage(n):
    make_degenerate(True)(floats(64, 32), n)


def test_fc_139_conditions_on_the_iteration_inside_a_stage():
    """``if ki == 0`` and ``if ki == count - 1`` of attention see the iteration of their own stage."""
    arguments, expected = attention.data(32, 40, 100, 0)
    attention.SMALL(3)(*arguments)
    torch.testing.assert_close(arguments[4], expected[4], rtol=2e-3, atol=2e-3)


def test_fc_139_a_condition_around_a_stage_is_refused():
    a, out, _ = squares(2)
    with pytest.raises(StageUnderCondition):
        make_square(1, [0, 1], [2, 3], form="condition")(a, out, 2)


# -- limits -------------------------------------------------------------------------------------------------------------------

UB_BYTES = 253952  # 248 KB usable on the 950 (tile API section 6.1)


def make_large(last):
    columns = (UB_BYTES - 32) // 2 // 4 // 8 * 8

    @pl.jit()
    def large(x: pl.Tensor[[1, 8], FP32]):
        with pl.section_vector():
            kind = pl.TileType(shape=[1, columns], dtype=FP32, target_memory=VEC)
            small = pl.TileType(shape=[1, 8], dtype=FP32, target_memory=VEC)
            rows = pl.make_tile_group(type=kind, addrs=0, mutex_ids=[0, 1])
            rest = pl.make_tile_group(type=small, addrs=last, mutex_ids=[2])
            pl.load(rest.current(), x, [0, 0])
            pl.expands(rows.next(), 0.0)

    return large


def test_fc_141_a_tile_too_much():
    make_large(UB_BYTES - 32)(floats(1, 8))
    with pytest.raises(TileMemoryExceeded) as caught:
        make_large(UB_BYTES)(floats(1, 8))
    text = str(caught.value)
    for part in (f"{UB_BYTES + 32}", f"{UB_BYTES}", "rows[0]", "rows[1]", "rest", "32 more"):
        assert part in text, text


@pytest.mark.parametrize("space", [pl.MemorySpace.Left, pl.MemorySpace.Right, pl.MemorySpace.Acc])
def test_fc_142_impossible_layouts_are_refused_by_the_tile_type(space, monkeypatch):
    monkeypatch.setenv("PYPTOPRO_JIT_ARCH", "a5")
    with pytest.raises(ValueError, match="ZZ"):
        pl.TileType(shape=[16, 16], dtype=FP32, target_memory=space, layout=pl.ZZ)


def test_fc_147_the_rules_of_the_device_hold_unless_told_otherwise():
    kernel = make_large(UB_BYTES)
    with pytest.raises(TileMemoryExceeded):
        kernel(floats(1, 8))
    with pl.simulate(permissive=True):
        kernel(floats(1, 8))


# -- output, elements, launches -----------------------------------------------------------------------------------------------


@pl.jit()
def asserting(out: pl.Tensor[[8], pl.DT_INT32], limit: pl.DT_INT32):
    with pl.section_vector():
        block = pl.get_block_idx()
        for i in pl.range(0, 5):
            pl.pto_assert(i * 10 + block != limit, "block %d, turn %d", block, i)
        out[block] = 1


def test_fc_144_an_assertion_stops_at_its_iteration():
    out = np.zeros(8, np.int32)
    with pytest.raises(AssertionFailed) as caught:
        asserting[4](out, 32)
    text = str(caught.value)
    assert "block 2, turn 3" in text and "i=3" in text and "block 2" in text, text
    asserting[4](out, 99)
    assert out.tolist() == [1, 1, 1, 1, 0, 0, 0, 0]


@pl.jit()
def printing(n: pl.DT_INT32):
    with pl.section_vector():
        for i in pl.range(0, n):
            pl.printf("turn %d of %d\n", i, n)


def test_fc_145_a_kernel_that_only_prints(capsys):
    printing(3)
    assert capsys.readouterr().out == "turn 0 of 3\nturn 1 of 3\nturn 2 of 3\n"
    assert printing.last_report.printed == "turn 0 of 3\nturn 1 of 3\nturn 2 of 3\n"


@pl.jit()
def by_elements(out: pl.Tensor[[1, 64], FP32], n: pl.DT_INT32):
    with pl.section_vector():
        tiles = pl.make_tile_group(type=pl.TileType(shape=[1, 64], dtype=FP32, target_memory=VEC), addrs=0, mutex_ids=[0])
        tile = tiles.current()
        pl.expands(tile, 0.0)
        for i in pl.range(0, n):
            tile[0, i] = i * 0.5
        pl.store(out, tile, [0, 0])


@pytest.mark.parametrize("seed", SEEDS[:4])
@pytest.mark.parametrize("n", [0, 1, 64])
def test_fc_148_elements_written_one_by_one_and_copied_out(n, seed):
    out = nans(1, 64)
    with pl.simulate(seed=seed):
        by_elements(out, n)
    assert (out[0, :n] == np.arange(n) * 0.5).all() and (out[0, n:] == 0).all()


@pl.jit()
def numbered(out: pl.Tensor[[pl.DYNAMIC], pl.DT_INT32], n: pl.DT_INT32):
    with pl.section_vector():
        for i in pl.range(pl.get_block_idx(), n, pl.get_block_num()):
            out[i] = i + 1


@pytest.mark.parametrize("blocks", [0, -1, True, 1.0])
def test_fc_149_a_block_dim_that_is_none(blocks):
    with pytest.raises(ValueError, match="block_dim"):
        numbered[blocks](np.zeros(4, np.int32), 4)


@pytest.mark.parametrize("blocks, n", list(itertools.product([1, 7, 48, 64, 130], [0, 1, 100])))
def test_fc_149_more_blocks_than_cores_and_nothing_to_do(blocks, n):
    out = np.zeros(100, np.int32)
    numbered[blocks](out, n)
    assert (out[:n] == np.arange(n) + 1).all() and (out[n:] == 0).all()
