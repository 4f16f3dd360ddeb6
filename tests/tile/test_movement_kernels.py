"""Whole kernels over movement and matrix operations: written in the language, locked, simulated, equal to torch."""

from __future__ import annotations

import torch

import pypto_pro.language as pl

MAT, LEFT, RIGHT, ACC = pl.MemorySpace.Mat, pl.MemorySpace.Left, pl.MemorySpace.Right, pl.MemorySpace.Acc
FP16, FP32, INT8, INT32 = pl.DT_FP16, pl.DT_FP32, pl.DT_INT8, pl.DT_INT32
K, STEP = 256, 64


def close(found, expected, tolerance=1e-4):
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


# -- a loop over K with unit flags --------------------------------------------------------------------------------------------


@pl.jit()
def in_phases(a: pl.Tensor[[48, K], FP16], b: pl.Tensor[[K, 80], FP16], out: pl.Tensor[[48, 80], FP32]):
    with pl.section_cube():
        a_l1 = pl.make_tile_group(type=pl.TileType(shape=[48, STEP], dtype=FP16, target_memory=MAT), addrs=0, mutex_ids=[0, 1])
        b_l1 = pl.make_tile_group(
            type=pl.TileType(shape=[STEP, 80], dtype=FP16, target_memory=MAT), addrs=0x8000, mutex_ids=[2, 3]
        )
        lefts = pl.make_tile_group(type=pl.TileType(shape=[48, STEP], dtype=FP16, target_memory=LEFT), addrs=0, mutex_ids=[4, 5])
        rights = pl.make_tile_group(
            type=pl.TileType(shape=[STEP, 80], dtype=FP16, target_memory=RIGHT), addrs=0, mutex_ids=[6, 7]
        )
        acc = pl.make_tile(pl.TileType(shape=[48, 80], dtype=FP32, target_memory=ACC, fractal=1024), addr=0)
        pl.system.set_mm_layout_transform(enabled=True)
        for k in pl.range(0, K, STEP):
            a_tile = a_l1.next()
            b_tile = b_l1.next()
            left = lefts.next()
            right = rights.next()
            pl.load(a_tile, a, [0, k])
            pl.load(b_tile, b, [k, 0])
            pl.move(left, a_tile)
            pl.move(right, b_tile)
            if k == 0:
                pl.matmul(acc, left, right, phase=pl.AccPhase.Partial)
            elif k == K - STEP:
                pl.matmul_acc(acc, acc, left, right, phase=pl.AccPhase.Final)
            else:
                pl.matmul_acc(acc, acc, left, right, phase=pl.AccPhase.Partial)
        pl.store(out, acc, [0, 0], phase=pl.STPhase.Final)
        pl.system.set_mm_layout_transform(enabled=False)


def test_k_loop_with_unit_flags():
    a, b, out = torch.randn(48, K).half(), torch.randn(K, 80).half(), torch.zeros(48, 80)
    in_phases[None, 1](a, b, out)
    close(out, a.float() @ b.float(), 1e-3)


# -- bias, transposed operand, tail -------------------------------------------------------------------------------------------


@pl.jit()
def with_bias(
    a: pl.Tensor[[pl.DYNAMIC, 64], FP16],
    b: pl.Tensor[[48, 64], FP16],
    bias: pl.Tensor[[1, 48], FP16],
    out: pl.Tensor[[pl.DYNAMIC, 48], FP16],
):
    with pl.section_cube():
        a_l1 = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=FP16, target_memory=MAT), addrs=0, mutex_ids=[0, 1])
        b_l1 = pl.make_tile_group(
            type=pl.TileType(shape=[64, 48], dtype=FP16, target_memory=MAT, layout=pl.ZN), addrs=0x8000, mutex_ids=[2]
        )
        row_l1 = pl.make_tile_group(type=pl.TileType(shape=[1, 48], dtype=FP16, target_memory=MAT), addrs=0x10000, mutex_ids=[3])
        row = pl.make_tile_group(
            type=pl.TileType(shape=[1, 48], dtype=FP32, target_memory=pl.MemorySpace.Bias), addrs=0, mutex_ids=[4]
        )
        left = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=FP16, target_memory=LEFT), addrs=0, mutex_ids=[5])
        right = pl.make_tile_group(type=pl.TileType(shape=[64, 48], dtype=FP16, target_memory=RIGHT), addrs=0, mutex_ids=[6])
        acc = pl.make_tile_group(type=pl.TileType(shape=[32, 48], dtype=FP32, target_memory=ACC), addrs=0, mutex_ids=[7])
        pl.load(b_l1.current(), b, [0, 0], order=[1, 0])
        pl.load(row_l1.current(), bias, [0, 0])
        pl.move(right.current(), b_l1.current())
        pl.move(row.current(), row_l1.current())
        for start in pl.range(0, a.shape[0], 32):
            rows = pl.min(a.shape[0] - start, 32)
            tile = a_l1.next()
            pl.set_validshape(tile, [rows, 64])
            pl.set_validshape(left, [rows, 64])
            pl.set_validshape(acc, [rows, 48])
            pl.load(tile, a, [start, 0])
            pl.move(left.current(), tile)
            pl.matmul(acc.current(), left.current(), right.current(), row.current())
            pl.store(out, acc.current(), [start, 0], relu_pre_mode=pl.ReluPreMode.NormalRelu)


def test_bias_transposed_operand_and_tail():
    for rows in (1, 31, 32, 75):
        a, b, bias = torch.randn(rows, 64).half(), torch.randn(48, 64).half(), torch.randn(1, 48).half()
        out = torch.full((rows, 48), float("nan")).half()
        with_bias[None, 1](a, b, bias, out)
        close(out, torch.relu(a.float() @ b.float().T + bias.float()).half(), 2e-3)


# -- split K over blocks with atomic addition ---------------------------------------------------------------------------------


@pl.jit()
def split_k(a: pl.Tensor[[32, K], FP16], b: pl.Tensor[[K, 32], FP16], out: pl.Tensor[[32, 32], FP32]):
    with pl.section_cube():
        a_l1 = pl.make_tile_group(type=pl.TileType(shape=[32, STEP], dtype=FP16, target_memory=MAT), addrs=0, mutex_ids=[0])
        b_l1 = pl.make_tile_group(type=pl.TileType(shape=[STEP, 32], dtype=FP16, target_memory=MAT), addrs=0x8000, mutex_ids=[1])
        left = pl.make_tile_group(type=pl.TileType(shape=[32, STEP], dtype=FP16, target_memory=LEFT), addrs=0, mutex_ids=[2])
        right = pl.make_tile_group(type=pl.TileType(shape=[STEP, 32], dtype=FP16, target_memory=RIGHT), addrs=0, mutex_ids=[3])
        acc = pl.make_tile_group(type=pl.TileType(shape=[32, 32], dtype=FP32, target_memory=ACC), addrs=0, mutex_ids=[4])
        for part in pl.range(pl.get_block_idx(), K // STEP, pl.get_block_num()):
            pl.load_tile(a_l1.current(), a, [0, part])
            pl.load_tile(b_l1.current(), b, [part, 0])
            pl.move(left.current(), a_l1.current())
            pl.move(right.current(), b_l1.current())
            pl.matmul(acc.current(), left.current(), right.current())
            pl.store_tile(out, acc.current(), [0, 0], atomic=pl.AtomicType.AtomicAdd)


def test_split_k_adds_atomically():
    a, b, out = torch.randn(32, K).half(), torch.randn(K, 32).half(), torch.ones(32, 32)
    split_k[None, 4](a, b, out)
    close(out, 1 + a.float() @ b.float(), 1e-3)


# -- int8 with one scale per channel ------------------------------------------------------------------------------------------


@pl.jit()
def quantised(
    a: pl.Tensor[[32, 64], INT8],
    b: pl.Tensor[[64, 48], INT8],
    scales: pl.Tensor[[1, 48], pl.DT_INT64],
    out: pl.Tensor[[32, 48], INT8],
):
    with pl.section_cube():
        a_l1 = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=INT8, target_memory=MAT), addrs=0, mutex_ids=[0])
        b_l1 = pl.make_tile_group(type=pl.TileType(shape=[64, 48], dtype=INT8, target_memory=MAT), addrs=0x8000, mutex_ids=[1])
        row_l1 = pl.make_tile_group(
            type=pl.TileType(shape=[1, 48], dtype=pl.DT_INT64, target_memory=MAT, layout=pl.ND), addrs=0x10000, mutex_ids=[5]
        )
        row = pl.make_tile(pl.TileType(shape=[1, 48], dtype=pl.DT_INT64, target_memory=pl.MemorySpace.Scaling), addr=0)
        left = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=INT8, target_memory=LEFT), addrs=0, mutex_ids=[2])
        right = pl.make_tile_group(type=pl.TileType(shape=[64, 48], dtype=INT8, target_memory=RIGHT), addrs=0, mutex_ids=[3])
        acc = pl.make_tile_group(type=pl.TileType(shape=[32, 48], dtype=INT32, target_memory=ACC), addrs=0, mutex_ids=[4])
        pl.load(a_l1.current(), a, [0, 0])
        pl.load(b_l1.current(), b, [0, 0])
        pl.load(row_l1.current(), scales, [0, 0])
        pl.move(row, row_l1.current())
        pl.move(left.current(), a_l1.current())
        pl.move(right.current(), b_l1.current())
        pl.matmul(acc.current(), left.current(), right.current())
        pl.store(out, acc.current(), [0, 0], scale=row)


def test_int8_product_with_channel_scales():
    a, b = torch.randint(-128, 128, (32, 64), dtype=torch.int8), torch.randint(-128, 128, (64, 48), dtype=torch.int8)
    scale = torch.rand(1, 48) * 1e-3
    encoded = scale.view(torch.int32).to(torch.int64) & 0xFFFFFFFF | 1 << 46
    out = torch.zeros(32, 48, dtype=torch.int8)
    quantised[None, 1](a, b, encoded, out)
    expected = ((a.int() @ b.int()).float() * scale).round().clamp(-128, 127).to(torch.int8)
    assert torch.equal(out, expected)


# -- by number, by bits, in blocks --------------------------------------------------------------------------------------------


@pl.jit()
def scaled(
    a: pl.Tensor[[32, 32], FP16],
    halves: pl.Tensor[[32, 32], FP16],
    quarters: pl.Tensor[[32, 32], FP16],
    blocks: pl.Tensor[[32, 32], FP32, pl.NZ],
    bits: pl.DT_INT32,
):
    with pl.section_cube():
        a_l1 = pl.make_tile_group(type=pl.TileType(shape=[32, 32], dtype=FP16, target_memory=MAT), addrs=0, mutex_ids=[0])
        left = pl.make_tile_group(type=pl.TileType(shape=[32, 32], dtype=FP16, target_memory=LEFT), addrs=0, mutex_ids=[2])
        right = pl.make_tile_group(type=pl.TileType(shape=[32, 32], dtype=FP16, target_memory=RIGHT), addrs=0, mutex_ids=[3])
        acc = pl.make_tile_group(type=pl.TileType(shape=[32, 32], dtype=FP32, target_memory=ACC), addrs=0, mutex_ids=[4])
        pl.load(a_l1.current(), a, [0, 0])
        pl.move(left.current(), a_l1.current())
        pl.move(right.current(), a_l1.current())
        pl.matmul(acc.current(), left.current(), right.current())
        pl.store(halves, acc.current(), [0, 0], scale=2)
        pl.store(quarters, acc.current(), [0, 0], scale=bits)
        pl.store(blocks, acc.current(), [0, 0])


def test_scales_by_number_and_by_bits_and_results_in_blocks():
    a = torch.randn(32, 32).half()
    halves, quarters, blocks = torch.zeros(32, 32).half(), torch.zeros(32, 32).half(), torch.zeros(32, 32)
    scaled[None, 1](a, halves, quarters, blocks, int(torch.tensor(0.25).view(torch.int32)))
    product = a.float() @ a.float()
    close(halves, (product * 2).half(), 2e-3)
    close(quarters, (product * 0.25).half(), 2e-3)
    close(blocks.reshape(4, 32, 8).permute(1, 0, 2).reshape(32, 32), product, 1e-3)


# -- both kinds of core -------------------------------------------------------------------------------------------------------


@pl.jit()
def by_columns(a: pl.Tensor[[32, 64], FP32], out: pl.Tensor[[32, 64], FP32]):
    ring = pl.make_tile_group(type=pl.TileType(shape=[32, 32], dtype=FP32), addrs=0, mutex_ids=[10])
    with pl.section_cube():
        a_l1 = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=FP32, target_memory=MAT), addrs=0, mutex_ids=[0])
        b_l1 = pl.make_tile_group(type=pl.TileType(shape=[64, 64], dtype=FP32, target_memory=MAT), addrs=0x8000, mutex_ids=[1])
        left = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=FP32, target_memory=LEFT), addrs=0, mutex_ids=[2])
        right = pl.make_tile_group(type=pl.TileType(shape=[64, 64], dtype=FP32, target_memory=RIGHT), addrs=0, mutex_ids=[3])
        acc = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=FP32, target_memory=ACC), addrs=0, mutex_ids=[4])
        pl.load(a_l1.current(), a, [0, 0])
        pl.system.wait_cross_core(pipe=pl.PipeType.MTE1, event_id=0)
        pl.move(left.current(), a_l1.current())
        pl.move(right.current(), b_l1.current())
        pl.matmul(acc.current(), left.current(), right.current())
        pl.move(ring.current(), acc.current(), acc_to_vec_mode=pl.AccToVecMode.DualModeSplitN)
        pl.system.set_cross_core(pipe=pl.PipeType.FIX, event_id=1)
    with pl.section_vector():
        l1 = pl.make_tile_group(type=pl.TileType(shape=[64, 64], dtype=FP32, target_memory=MAT), addrs=0x8000, mutex_ids=[1])
        ones = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=FP32), addrs=0x4000, mutex_ids=[11])
        fractal = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=FP32, layout=pl.NZ), addrs=0x8000, mutex_ids=[12])
        side = pl.get_subblock_idx()
        pl.expands(ones.current(), 1.0)
        pl.move(fractal.current(), ones.current())
        pl.insert(l1.current(), fractal.current(), [side * 32, 0])
        pl.system.set_cross_core(pipe=pl.PipeType.MTE3, event_id=0)
        pl.system.wait_cross_core(pipe=pl.PipeType.MTE3, event_id=1)
        pl.store(out, ring.current(), [0, side * 32])


def test_vector_cores_feed_the_cube_and_take_halves_by_columns():
    a, out = torch.randn(32, 64), torch.zeros(32, 64)
    by_columns[None, 1](a, out)
    close(out, a.sum(1, keepdim=True).expand(32, 64), 1e-4)


@pl.jit()
def handed_over(a: pl.Tensor[[64, 32], FP32], out: pl.Tensor[[32, 32], FP32]):
    with pl.section_vector():
        state = pl.struct("State", row=0, used=0)
        state.row = 16
        state.used = 1
        if pl.get_subblock_idx() == 0:
            pl.ssbuf_store(state, 8)
        pl.system.set_cross_core(pipe=pl.PipeType.S, event_id=3)
    with pl.section_cube():
        state = pl.struct("State", row=0, used=0)
        l1 = pl.make_tile_group(type=pl.TileType(shape=[32, 32], dtype=FP32, target_memory=MAT), addrs=0, mutex_ids=[0])
        left = pl.make_tile_group(type=pl.TileType(shape=[32, 32], dtype=FP32, target_memory=LEFT), addrs=0, mutex_ids=[1])
        right = pl.make_tile_group(type=pl.TileType(shape=[32, 32], dtype=FP32, target_memory=RIGHT), addrs=0, mutex_ids=[2])
        acc = pl.make_tile_group(type=pl.TileType(shape=[32, 32], dtype=FP32, target_memory=ACC), addrs=0, mutex_ids=[3])
        pl.system.wait_cross_core(pipe=pl.PipeType.S, event_id=3)
        pl.ssbuf_load(state, 8)
        pl.load(l1.current(), a, [state.row, 0])
        pl.move(left.current(), l1.current())
        pl.move(right.current(), l1.current())
        pl.matmul(acc.current(), left.current(), right.current())
        pl.store(out, acc.current(), [0, 0])


def test_structs_tell_the_cube_where_to_read():
    a, out = torch.randn(64, 32), torch.zeros(32, 32)
    handed_over[None, 1](a, out)
    close(out, a[16:48] @ a[16:48], 1e-4)


# -- scalars ------------------------------------------------------------------------------------------------------------------


@pl.jit()
def scalars(a: pl.Tensor[[8, 16], FP32], out: pl.Tensor[[8, 16], FP32]):
    with pl.section_vector():
        ring = pl.make_tile_group(type=pl.TileType(shape=[8, 16], dtype=FP32), addrs=0, mutex_ids=[0])
        x = ring.next()
        pl.load(x, a, [0, 0])
        total = pl.getval(x, 17) + x[2, 3]
        pl.setval(x, 0, total)
        x[7, 15] = 2.5
        pl.store(out, x, [0, 0])


def test_scalars_of_tiles():
    a, out = torch.randn(8, 16), torch.zeros(8, 16)
    scalars[None, 1](a, out)
    expected = a.clone()
    expected[0, 0], expected[7, 15] = a[1, 1] + a[2, 3], 2.5
    assert torch.equal(out, expected)


# -- tiles chosen where the kernel runs ---------------------------------------------------------------------------------------


@pl.jit()
def chosen(a: pl.Tensor[[pl.DYNAMIC, 16], FP32], out: pl.Tensor[[pl.DYNAMIC, 16], FP32]):
    with pl.section_vector():
        first = pl.make_tile_group(type=pl.TileType(shape=[8, 16], dtype=FP32), addrs=0, mutex_ids=[0])
        second = pl.make_tile_group(type=pl.TileType(shape=[8, 16], dtype=FP32), addrs=0x1000, mutex_ids=[1])
        ring = pl.make_tile_group(type=pl.TileType(shape=[8, 16], dtype=FP32), addrs=0x2000, mutex_ids=[2, 3])
        for turn in pl.range(0, a.shape[0] // 8):
            tile = first.current() if turn % 3 == 0 else second.current()
            result = ring[turn % 2]
            pl.load(tile, a, [turn * 8, 0])
            pl.add(result, tile, tile)
            pl.store(out, result, [turn * 8, 0])


def test_the_tile_really_chosen_is_locked():
    """FC-135: a ternary and an index at run time; no race, whatever the order of the pipes."""
    a = torch.randn(80, 16)
    for seed in range(4):
        out = torch.zeros(80, 16)
        with pl.simulate(seed=seed):
            chosen[None, 1](a, out)
        assert torch.equal(out, 2 * a)


@pl.jit()
def scalar_then_bulk(a: pl.Tensor[[8, 16], FP32], out: pl.Tensor[[8, 16], FP32]):
    with pl.section_vector():
        ring = pl.make_tile_group(type=pl.TileType(shape=[8, 16], dtype=FP32), addrs=0, mutex_ids=[0])
        tile = ring.next()
        pl.load(tile, a, [0, 0])
        for column in pl.range(0, 16):
            tile[0, column] = tile[0, column] * 2.0
        pl.store(out, tile, [0, 0])


def test_scalar_writes_before_a_bulk_copy_arrive():
    """FC-137, FC-148: program order, since scalars take the token of their tile too."""
    a, out = torch.randn(8, 16), torch.zeros(8, 16)
    scalar_then_bulk[None, 1](a, out)
    a[0] *= 2
    assert torch.equal(out, a)
