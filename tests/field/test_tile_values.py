"""Field cases of the tile level, sections A, B and D: storage that tiles share, tails, valid shapes."""

import numpy as np
import pytest
import torch

import pypto_pro.language as pl
from pypto.errors.simulation import DataRace, UndefinedRead
from pypto.errors.tile_vectors import VectorTilesMustDiffer

FP32 = pl.DT_FP32
VEC = pl.MemorySpace.Vec
SEEDS = (None, 0, 1)


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def nans(*shape):
    return np.full(shape, np.nan, np.float32)


# -- A: storage ---------------------------------------------------------------------------------------------------------------


@pl.jit()
def two_accumulators(x: pl.Tensor[[64, 16], FP32], sums: pl.Tensor[[8, 16], FP32], highest: pl.Tensor[[8, 16], FP32]):
    with pl.section_vector():
        kind = pl.TileType(shape=[8, 16], dtype=FP32, target_memory=VEC)
        inputs = pl.make_tile_group(type=kind, addrs=0x0000, mutex_ids=[0, 1])
        total = pl.make_tile_group(type=kind, addrs=0x1000, mutex_ids=[2])
        top = pl.make_tile_group(type=kind, addrs=0x1200, mutex_ids=[3])
        pl.expands(total.current(), 0.0)
        pl.expands(top.current(), 0.0)
        for row in pl.range(0, 64, 8):
            tile = inputs.next()
            pl.load(tile, x, [row, 0])
            pl.add(total.current(), total.current(), tile)
            pl.maximum(top.current(), top.current(), tile)
        pl.store(sums, total.current(), [0, 0])
        pl.store(highest, top.current(), [0, 0])


def test_fc_012_two_accumulators_with_the_same_fill():
    x, sums, highest = floats(64, 16), nans(8, 16), nans(8, 16)
    two_accumulators(x, sums, highest)
    blocks = x.reshape(8, 8, 16)
    np.testing.assert_allclose(sums, blocks.sum(0), rtol=1e-5, atol=1e-6)
    assert (highest == np.maximum(blocks.max(0), 0)).all()


@pl.jit()
def square_transposed(x: pl.Tensor[[8, 8], FP32], out: pl.Tensor[[8, 8], FP32]):
    with pl.section_vector():
        kind = pl.TileType(shape=[8, 8], dtype=FP32, target_memory=VEC)
        ring = pl.make_tile_group(type=kind, addrs=0, mutex_ids=[0, 1])
        source = ring.next()
        target = ring.next()
        pl.load(source, x, [0, 0])
        pl.transpose(target, source)
        pl.store(out, target, [0, 0])


@pl.jit()
def transposed_in_place(x: pl.Tensor[[8, 8], FP32], out: pl.Tensor[[8, 8], FP32]):
    with pl.section_vector():
        kind = pl.TileType(shape=[8, 8], dtype=FP32, target_memory=VEC)
        ring = pl.make_tile_group(type=kind, addrs=[0, 0], mutex_ids=[0, 0])
        source = ring.next()
        target = ring.next()
        pl.load(source, x, [0, 0])
        pl.transpose(target, source)
        pl.store(out, target, [0, 0])


def test_fc_014_square_transposition_is_not_done_in_place():
    x, out = floats(8, 8), nans(8, 8)
    square_transposed(x, out)
    assert (out == x.T).all()
    with pytest.raises(VectorTilesMustDiffer):
        transposed_in_place(x, out)


@pl.jit()
def window_arithmetic(x: pl.Tensor[[8, 64], FP32], out: pl.Tensor[[8, 16], FP32]):
    with pl.section_vector():
        wide = pl.make_tile_group(type=pl.TileType(shape=[8, 64], dtype=FP32, target_memory=VEC), addrs=0, mutex_ids=[0])
        narrow = pl.make_tile_group(type=pl.TileType(shape=[8, 16], dtype=FP32, target_memory=VEC), addrs=0x1000, mutex_ids=[1])
        tile = wide.current()
        pl.load(tile, x, [0, 0])
        pl.add(narrow.current(), tile[:, 8:24], tile[:, 40:56])
        pl.store(out, narrow.current(), [0, 0])


def test_fc_015_columns_of_a_tile_keep_its_row_stride():
    x, out = floats(8, 64), nans(8, 16)
    window_arithmetic(x, out)
    assert (out == x[:, 8:24] + x[:, 40:56]).all()


@pl.jit()
def joined(x: pl.Tensor[[8, 16], FP32], y: pl.Tensor[[8, 16], FP32], out: pl.Tensor[[24, 16], FP32], which: pl.DT_INT32):
    with pl.section_vector():
        kind = pl.TileType(shape=[8, 16], dtype=FP32, target_memory=VEC)
        a = pl.make_tile_group(type=kind, addrs=0x0000, mutex_ids=[0])
        b = pl.make_tile_group(type=kind, addrs=0x0200, mutex_ids=[1])
        c = pl.make_tile_group(type=kind, addrs=0x0400, mutex_ids=[2])
        pl.load(a.current(), x, [0, 0])
        pl.load(b.current(), y, [0, 0])
        if which > 0:
            pl.add(c.current(), a.current(), 1.0)
        else:
            pl.mul(c.current(), b.current(), 2.0)
        pl.store(out, c.current(), [0, 0])
        pl.store(out, a.current(), [8, 0])
        pl.store(out, b.current(), [16, 0])


@pytest.mark.parametrize("which", [0, 1])
def test_fc_017_the_join_of_two_arms_leaves_both_sources(which):
    x, y, out = floats(8, 16), floats(8, 16, seed=1), nans(24, 16)
    joined(x, y, out, which)
    assert (out == np.concatenate([x + 1 if which else y * 2, x, y])).all()


# -- scratch


def make_two_sums(apart=False, ordered=True, reads=False):
    """Sums of the rows of x and of y. The tile of y lies where the first reduction had its scratch."""

    @pl.jit(auto_mutex=False)
    def two_sums(
        x: pl.Tensor[[8, 16], FP32], y: pl.Tensor[[8, 16], FP32], out: pl.Tensor[[8, 2], FP32], seen: pl.Tensor[[8, 16], FP32]
    ):
        with pl.section_vector():
            kind = pl.TileType(shape=[8, 16], dtype=FP32, target_memory=VEC)
            column = pl.TileType(shape=[8, 1], dtype=FP32, target_memory=VEC, layout=pl.DN)
            first = pl.make_tile(kind, addr=0x0000)
            scratch = pl.make_tile(kind, addr=0x0200)
            second = pl.make_tile(kind, addr=0x0400 if apart else 0x0200)
            other_scratch = pl.make_tile(kind, addr=0x0600 if apart else 0x0000)
            one = pl.make_tile(column, addr=0x0800)
            two = pl.make_tile(column, addr=0x0820)
            pl.load(first, x, [0, 0])
            pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)
            pl.system.sync_dst(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=0)
            pl.sum(one, first, scratch, dim=0)
            if reads:
                pl.add(first, scratch, 1.0)
            if ordered:
                pl.system.sync_src(set_pipe=pl.PipeType.V, wait_pipe=pl.PipeType.MTE2, event_id=0)
                pl.system.sync_dst(set_pipe=pl.PipeType.V, wait_pipe=pl.PipeType.MTE2, event_id=0)
            pl.load(second, y, [0, 0])
            pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=1)
            pl.system.sync_dst(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=1)
            pl.sum(two, second, other_scratch, dim=0)
            pl.system.sync_src(set_pipe=pl.PipeType.V, wait_pipe=pl.PipeType.MTE3, event_id=0)
            pl.system.sync_dst(set_pipe=pl.PipeType.V, wait_pipe=pl.PipeType.MTE3, event_id=0)
            pl.store(out, one, [0, 0])
            pl.store(out, two, [0, 1])

    return two_sums


def test_fc_018_reductions_that_share_scratch():
    x, y = floats(8, 16), floats(8, 16, seed=1)
    shared, apart, seen = nans(8, 2), nans(8, 2), nans(8, 16)
    make_two_sums(apart=True)(x, y, apart, seen)
    make_two_sums()(x, y, shared, seen)
    assert (shared == apart).all()
    np.testing.assert_allclose(shared, np.stack([x.sum(1), y.sum(1)], 1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_fc_018_without_the_edge_the_scratch_is_raced_for(seed):
    kernel = make_two_sums(ordered=False)
    with pl.simulate(seed=seed), pytest.raises(DataRace, match="'scratch'") as caught:
        kernel(floats(8, 16), floats(8, 16), nans(8, 2), nans(8, 16))
    assert "set_pipe=V, wait_pipe=MTE2" in str(caught.value)


def test_fc_018_scratch_is_undefined_afterwards():
    with pytest.raises(UndefinedRead, match="'scratch'"):
        make_two_sums(reads=True)(floats(8, 16), floats(8, 16), nans(8, 2), nans(8, 16))


# -- B: tails -----------------------------------------------------------------------------------------------------------------


@pl.jit()
def squared_sums(x: pl.Tensor[[pl.DYNAMIC, 256], pl.DT_BF16], out: pl.Tensor[[pl.DYNAMIC, 1], FP32]):
    with pl.section_vector():
        narrow = pl.make_tile_group(
            type=pl.TileType(shape=[8, 256], dtype=pl.DT_BF16, target_memory=VEC), addrs=0x0000, mutex_ids=[0, 1]
        )
        wide_type = pl.TileType(shape=[8, 256], dtype=FP32, target_memory=VEC)
        wide = pl.make_tile_group(type=wide_type, addrs=0x4000, mutex_ids=[2])
        scratch = pl.make_tile_group(type=wide_type, addrs=0x8000, mutex_ids=[3])
        column = pl.TileType(shape=[8, 1], dtype=FP32, target_memory=VEC, layout=pl.DN)
        sums = pl.make_tile_group(type=column, addrs=0xC000, mutex_ids=[4, 5])
        rows = x.shape[0]
        share = (rows + pl.get_block_num() - 1) // pl.get_block_num()
        start = pl.get_block_idx() * share
        local = pl.max(0, pl.min(share, rows - start))
        tile = narrow.next()
        total = sums.next()
        pl.set_validshape(tile, [local, 256])
        pl.set_validshape(wide, [local, 256])
        pl.set_validshape(total, [local, 1])
        pl.load(tile, x, [start, 0])
        pl.cast(wide.current(), tile)
        pl.mul(wide.current(), wide.current(), wide.current())
        pl.sum(total, wide.current(), scratch.current(), dim=0)
        pl.store(out, total, [start, 0])


@pytest.mark.parametrize("rows", [1, 3, 4, 7, 13, 16])
def test_fc_032_rows_beyond_the_valid_ones_stay_out_of_the_sum(rows):
    x = torch.randn(rows, 256, generator=torch.Generator().manual_seed(rows)).bfloat16()
    out = torch.full((rows, 1), float("nan"))
    squared_sums[4](x, out)
    torch.testing.assert_close(out, (x.float() ** 2).sum(1, keepdim=True), rtol=1e-5, atol=1e-5)


@pl.jit()
def narrowed(
    table: pl.Tensor[[1, 64], FP32], index: pl.Tensor[[1, 64], pl.DT_INT32], out: pl.Tensor[[1, 64], FP32], n: pl.DT_INT32
):
    with pl.section_vector():
        values = pl.TileType(shape=[1, 64], dtype=FP32, target_memory=VEC)
        numbers = pl.TileType(shape=[1, 64], dtype=pl.DT_INT32, target_memory=VEC)
        tables = pl.make_tile_group(type=values, addrs=0x000, mutex_ids=[0])
        results = pl.make_tile_group(type=values, addrs=0x100, mutex_ids=[1])
        indices = pl.make_tile_group(type=numbers, addrs=0x200, mutex_ids=[2, 3])
        source = tables.current()
        positions = indices.next()
        scratch = indices.next()
        result = results.current()
        pl.load(source, table, [0, 0])
        pl.load(positions, index, [0, 0])
        pl.gather(result, source, positions, scratch)
        pl.set_validshape(result, [1, n])
        pl.mul(result, result, 2.0)
        pl.store(out, result, [0, 0])


@pytest.mark.parametrize("n", [1, 7, 33, 64])
def test_fc_034_a_gathered_tile_is_narrowed_at_run_time(n):
    table, out = floats(1, 64), nans(1, 64)
    index = np.random.default_rng(n).integers(0, 64, (1, 64)).astype(np.int32)
    narrowed(table, index, out, n)
    assert (out[0, :n] == 2 * table[0, index[0, :n]]).all() and np.isnan(out[0, n:]).all()


@pl.jit()
def part_stored(x: pl.Tensor[[16, 8], FP32], out: pl.Tensor[[16, 12], FP32]):
    with pl.section_vector():
        kind = pl.TileType(shape=[16, 8], dtype=FP32, target_memory=VEC, valid_shape=[16, 4])
        tiles = pl.make_tile_group(type=kind, addrs=0, mutex_ids=[0])
        pl.load(tiles.current(), x, [0, 0])
        pl.store(out, tiles.current(), [0, 4])


@pl.jit()
def part_assigned(x: pl.Tensor[[16, 8], FP32], out: pl.Tensor[[16, 12], FP32]):
    with pl.section_vector():
        kind = pl.TileType(shape=[16, 8], dtype=FP32, target_memory=VEC, valid_shape=[16, 4])
        tiles = pl.make_tile_group(type=kind, addrs=0, mutex_ids=[0])
        pl.load(tiles.current(), x, [0, 0])
        out[0:16, 4:8] = tiles.current()


def test_fc_035_only_the_valid_columns_are_written():
    x, out = floats(16, 8), nans(16, 12)
    part_stored(x, out)
    assert (out[:, 4:8] == x[:, :4]).all() and np.isnan(out[:, :4]).all() and np.isnan(out[:, 8:]).all()


def test_fc_035_assignment_of_a_tile_to_a_window_points_to_store():
    with pytest.raises(Exception, match="pl.store"):
        part_assigned(floats(16, 8), nans(16, 12))


@pl.jit()
def short_product(
    a: pl.Tensor[[pl.DYNAMIC, 64], pl.DT_INT8], b: pl.Tensor[[64, 32], pl.DT_INT8], out: pl.Tensor[[pl.DYNAMIC, 32], pl.DT_INT32]
):
    with pl.section_cube():
        MAT, LEFT, RIGHT, ACC = pl.MemorySpace.Mat, pl.MemorySpace.Left, pl.MemorySpace.Right, pl.MemorySpace.Acc
        a_type = pl.TileType(shape=[32, 32], dtype=pl.DT_INT8, target_memory=MAT)
        left_type = pl.TileType(shape=[32, 32], dtype=pl.DT_INT8, target_memory=LEFT)
        right_type = pl.TileType(shape=[32, 32], dtype=pl.DT_INT8, target_memory=RIGHT)
        sum_type = pl.TileType(shape=[32, 32], dtype=pl.DT_INT32, target_memory=ACC)
        a_tiles = pl.make_tile_group(type=a_type, addrs=0x0000, mutex_ids=[0, 1])
        b_tiles = pl.make_tile_group(type=a_type, addrs=0x2000, mutex_ids=[2, 3])
        lefts = pl.make_tile_group(type=left_type, addrs=0, mutex_ids=[4, 5])
        rights = pl.make_tile_group(type=right_type, addrs=0, mutex_ids=[6, 7])
        sums = pl.make_tile_group(type=sum_type, addrs=0, mutex_ids=[8])
        rows = a.shape[0]
        total = sums.current()
        pl.set_validshape(total, [rows, 32])
        for k in pl.range(0, 2):
            a_tile = a_tiles.next()
            b_tile = b_tiles.next()
            left = lefts.next()
            right = rights.next()
            pl.set_validshape(a_tile, [rows, 32])
            pl.set_validshape(left, [rows, 32])
            pl.load(a_tile, a, [0, k * 32])
            pl.load(b_tile, b, [k * 32, 0])
            pl.move(left, a_tile)
            pl.move(right, b_tile)
            if k == 0:
                pl.matmul(total, left, right)
            else:
                pl.matmul_acc(total, total, left, right)
        pl.store(out, total, [0, 0])


@pytest.mark.parametrize("rows", [1, 5, 17, 31, 32])
def test_fc_037_an_accumulator_narrowed_before_the_loop(rows):
    random = np.random.default_rng(rows)
    a, b = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((rows, 64), (64, 32)))
    out = np.full((rows, 32), 77, np.int32)
    short_product(a, b, out)
    assert (out == a.astype(np.int32) @ b.astype(np.int32)).all()


@pl.jit()
def unaligned_rows(x: pl.Tensor[[8, 126], FP32], out: pl.Tensor[[8, 126], FP32]):
    with pl.section_vector():
        kind = pl.TileType(shape=[8, 128], dtype=FP32, target_memory=VEC)
        tiles = pl.make_tile_group(type=kind, addrs=0, mutex_ids=[0])
        tile = tiles.current()
        pl.set_validshape(tile, [4, 126])
        pl.load(tile, x, [0, 0])
        pl.store(out, tile, [2, 0])


def test_fc_039_rows_of_504_bytes():
    x, out = floats(8, 126), nans(8, 126)
    unaligned_rows(x, out)
    assert (out[2:6] == x[:4]).all() and np.isnan(out[:2]).all() and np.isnan(out[6:]).all()


@pl.jit()
def columns_again(
    x: pl.Tensor[[pl.DYNAMIC, 1], FP32], middle: pl.Tensor[[pl.DYNAMIC, 1], FP32], out: pl.Tensor[[pl.DYNAMIC, 1], FP32]
):
    with pl.section_vector():
        kind = pl.TileType(shape=[40, 1], dtype=FP32, target_memory=VEC, layout=pl.DN)
        tiles = pl.make_tile_group(type=kind, addrs=0, mutex_ids=[0, 1])
        rows = x.shape[0]
        pl.set_validshape(tiles, [rows, 1])
        first = tiles.next()
        pl.load(first, x, [0, 0])
        pl.add(first, first, 1.0)
        pl.store(middle, first, [0, 0])
        pl.system.sync_src(set_pipe=pl.PipeType.MTE3, wait_pipe=pl.PipeType.MTE2, event_id=0)
        pl.system.sync_dst(set_pipe=pl.PipeType.MTE3, wait_pipe=pl.PipeType.MTE2, event_id=0)
        second = tiles.next()
        pl.load(second, middle, [0, 0])
        pl.mul(second, second, 2.0)
        pl.store(out, second, [0, 0])


@pytest.mark.parametrize("rows", [1, 7, 8, 33])
def test_fc_041_columns_written_stored_and_read_again(rows):
    x = floats(rows, 1)
    for seed in SEEDS:
        middle, out = nans(rows, 1), nans(rows, 1)
        with pl.simulate(seed=seed):
            columns_again(x, middle, out)
        assert (middle == x + 1).all() and (out == (x + 1) * 2).all()


@pl.jit()
def widened(x: pl.Tensor[[pl.DYNAMIC, 8], FP32], out: pl.Tensor[[pl.DYNAMIC, 16], FP32]):
    with pl.section_vector():
        kind = pl.TileType(shape=[1, 8], dtype=FP32, target_memory=VEC)
        tiles = pl.make_tile_group(type=kind, addrs=0, mutex_ids=[0, 1])
        for row in pl.range(pl.get_block_idx(), x.shape[0], pl.get_block_num()):
            tile = tiles.next()
            pl.load(tile, x, [row, 0])
            pl.store(out, tile, [row, 0])


@pytest.mark.parametrize("blocks", [1, 3, 8])
def test_fc_042_narrow_rows_into_wide_ones(blocks):
    x, out = floats(11, 8), nans(11, 16)
    widened[blocks](x, out)
    assert (out[:, :8] == x).all() and np.isnan(out[:, 8:]).all()


def make_padded(value):
    @pl.jit()
    def padded(x: pl.Tensor[[8, 16], FP32], out: pl.Tensor[[8, 16], FP32], rows: pl.DT_INT32, columns: pl.DT_INT32):
        with pl.section_vector():
            kind = pl.TileType(shape=[8, 16], dtype=FP32, target_memory=VEC)
            tiles = pl.make_tile_group(type=kind, addrs=0, mutex_ids=[0])
            tile = tiles.current()
            pl.expands(tile, value)
            pl.set_validshape(tile, [rows, columns])
            pl.load(tile, x, [0, 0])
            pl.set_validshape(tile, [8, 16])
            pl.store(out, tile, [0, 0])

    return padded


@pl.jit()
def padded_by_type(x: pl.Tensor[[8, 16], FP32], out: pl.Tensor[[8, 16], FP32], rows: pl.DT_INT32, columns: pl.DT_INT32):
    with pl.section_vector():
        kind = pl.TileType(shape=[8, 16], dtype=FP32, target_memory=VEC, pad=pl.TilePad.min)
        tiles = pl.make_tile_group(type=kind, addrs=0, mutex_ids=[0])
        tile = tiles.current()
        pl.set_validshape(tile, [rows, columns])
        pl.load(tile, x, [0, 0])
        pl.fillpad(tile, tile, mode=pl.FillPadMode.INPLACE)
        pl.set_validshape(tile, [8, 16])
        pl.store(out, tile, [0, 0])


@pytest.mark.parametrize("value", [float("-inf"), 7.0, None])
@pytest.mark.parametrize("rows, columns", [(3, 5), (8, 15), (1, 16), (8, 16)])
def test_fc_047_padding_is_exactly_what_was_asked_for(value, rows, columns):
    x, out = floats(8, 16), nans(8, 16)
    kernel = padded_by_type if value is None else make_padded(value)
    kernel(x, out, rows, columns)
    expected = np.full((8, 16), np.finfo(np.float32).min if value is None else value, np.float32)
    expected[:rows, :columns] = x[:rows, :columns]
    assert (out == expected).all()


@pl.jit()
def window_sums(x: pl.Tensor[[16, 32], FP32], out: pl.Tensor[[8, 8], FP32]):
    with pl.section_vector():
        large = pl.TileType(shape=[16, 32], dtype=FP32, target_memory=VEC)
        small = pl.TileType(shape=[8, 8], dtype=FP32, target_memory=VEC)
        tiles = pl.make_tile_group(type=large, addrs=0x0000, mutex_ids=[0])
        results = pl.make_tile_group(type=small, addrs=0x1000, mutex_ids=[1])
        tile = tiles.current()
        result = results.current()
        pl.load(tile, x, [0, 0])
        part = tile[3:11, 5:13]
        pl.mul(result[0:1, 0:8], part[0:1, 0:8], 1.0)
        for row in pl.range(1, 8):
            pl.add(result[row : row + 1, 0:8], result[row - 1 : row, 0:8], part[row : row + 1, 0:8])
        pl.store(out, result, [0, 0])


def test_fc_048_running_sums_over_a_window():
    x, out = floats(16, 32), nans(8, 8)
    window_sums(x, out)
    np.testing.assert_allclose(out, np.cumsum(x[3:11, 5:13], 0), rtol=1e-5, atol=1e-5)


@pl.jit()
def one_arm(x: pl.Tensor[[8, 16], FP32], out: pl.Tensor[[8, 16], FP32], narrow: pl.DT_INT32):
    with pl.section_vector():
        kind = pl.TileType(shape=[8, 16], dtype=FP32, target_memory=VEC)
        tiles = pl.make_tile_group(type=kind, addrs=0, mutex_ids=[0])
        tile = tiles.current()
        pl.load(tile, x, [0, 0])
        if narrow > 0:
            pl.set_validshape(tile, [narrow, 16])
        pl.store(out, tile, [0, 0])


@pytest.mark.parametrize("narrow", [0, 1, 5])
def test_fc_049_a_valid_shape_set_in_one_arm(narrow):
    x, out = floats(8, 16), nans(8, 16)
    one_arm(x, out, narrow)
    rows = narrow or 8
    assert (out[:rows] == x[:rows]).all() and np.isnan(out[rows:]).all()


# -- D: accumulators ----------------------------------------------------------------------------------------------------------


@pl.jit()
def seeded(c: pl.Tensor[[16, 16], FP32], a: pl.Tensor[[16, 16], FP32], out: pl.Tensor[[16, 16], FP32], seed: pl.DT_INT32):
    """c @ 1 + a @ 1, or a @ 1 alone."""
    with pl.section_cube():
        l1 = pl.make_tile_group(
            type=pl.TileType(shape=[16, 16], dtype=FP32, target_memory=pl.MemorySpace.Mat), addrs=0, mutex_ids=[0, 1, 2]
        )
        lefts = pl.make_tile_group(
            type=pl.TileType(shape=[16, 16], dtype=FP32, target_memory=pl.MemorySpace.Left), addrs=0, mutex_ids=[3, 4]
        )
        right = pl.make_tile_group(
            type=pl.TileType(shape=[16, 16], dtype=FP32, target_memory=pl.MemorySpace.Right), addrs=0, mutex_ids=[5]
        )
        sums = pl.make_tile_group(
            type=pl.TileType(shape=[16, 16], dtype=FP32, target_memory=pl.MemorySpace.Acc), addrs=0, mutex_ids=[6]
        )
        total = sums.current()
        ones = l1.next()
        pl.expands(ones, 1.0)
        pl.move(right.current(), ones)
        first = l1.next()
        second = l1.next()
        pl.load(first, c, [0, 0])
        pl.load(second, a, [0, 0])
        pl.move(lefts[0], first)
        pl.move(lefts[1], second)
        if seed > 0:
            pl.matmul(total, lefts[0], right.current())
            pl.matmul_acc(total, total, lefts[1], right.current())
        else:
            pl.matmul(total, lefts[1], right.current())
        pl.store(out, total, [0, 0])


def test_fc_099_the_accumulator_seeds_the_chain():
    c, a, out = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32), nans(16, 16)
    c[:, 0], a[:, 0], a[:, 1] = 1e8, -1e8, 1.0
    seeded(c, a, out, 0)
    assert (out == np.float32(-1e8 + 1)).all()
    seeded(c, a, out, 1)
    assert (out == 0.0).all()  # the second product is rounded to fp32 by itself (-1e8), then added to the accumulator
