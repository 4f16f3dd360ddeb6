"""A test file as people write them for hardware: copied under another name and run by ``pypto run -m pytest``."""

import os

import pytest
import torch
import torch_npu  # noqa: F401

import pypto
import pypto_pro.language as pl

ST_DEVICE_ID = int(os.environ.get("TILE_FWK_DEVICE_ID", 0))
ST_DEVICE = f"npu:{ST_DEVICE_ID}"

TILE = 64
HALF = TILE // 2
N = 4


@pl.pipeline.stage
def first(i, a, b_l1, a_ring, left_ring, right_ring, acc_ring, mm_ring):
    a_tile = a_ring.next()
    pl.load(a_tile, a, [i * TILE, 0])
    b_tile = b_l1.current()
    left = left_ring.next()
    right = right_ring.next()
    acc = acc_ring.next()
    pl.move(left, a_tile)
    pl.move(right, b_tile)
    pl.matmul(acc, left, right)
    mm = mm_ring.next()
    pl.move(mm, acc, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def second(i, sub, mm_ring, relu_ring, nz_ring, p_ring):
    mm = mm_ring.next()
    r = relu_ring.next()
    pl.relu(r, mm)
    nz = nz_ring.next()
    pl.move(nz, r)
    p = p_ring.next()
    pl.insert(p, nz, [sub * HALF, 0])


@pl.pipeline.stage
def third(i, d_l1, p_ring, left_ring, right_ring, acc_ring, out_ring):
    d_tile = d_l1.current()
    p = p_ring.next()
    left = left_ring.next()
    right = right_ring.next()
    acc = acc_ring.next()
    pl.move(left, p)
    pl.move(right, d_tile)
    pl.matmul(acc, left, right)
    o = out_ring.next()
    pl.move(o, acc, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def fourth(i, sub, out, out_ring):
    o = out_ring.next()
    pl.store(out, o, [i * TILE + sub * HALF, 0])


@pl.jit(auto_mutex=True, pipeline=pl.pipeline.PipelineConfig(preload=2))
def relu_between_products(
    a: pl.Tensor[[N * TILE, TILE], pl.DT_FP32],
    b: pl.Tensor[[TILE, TILE], pl.DT_FP32],
    d: pl.Tensor[[TILE, TILE], pl.DT_FP32],
    out: pl.Tensor[[N * TILE, TILE], pl.DT_FP32],
):
    mm_ring = pl.make_tile_group(
        type=pl.TileType(shape=[HALF, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec),
        addrs=0x0000,
        mutex_ids=[12, 13],
        fwd_ids=[0, 1],
        bwd_ids=[2, 3],
    )
    p_ring = pl.make_tile_group(
        type=pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ),
        addrs=0x8000,
        mutex_ids=[14, 15],
        fwd_ids=[4, 5],
        bwd_ids=[6, 7],
    )
    out_ring = pl.make_tile_group(
        type=pl.TileType(shape=[HALF, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec),
        addrs=0x10000,
        mutex_ids=[16, 17],
        fwd_ids=[8, 9],
        bwd_ids=[10, 11],
    )
    with pl.section_cube():
        a_ring = pl.make_tile_group(
            type=pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ),
            addrs=0x0000,
            mutex_ids=[0, 1],
        )
        b_l1 = pl.make_tile_group(
            type=pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ),
            addrs=0x10000,
            mutex_ids=[2],
        )
        d_l1 = pl.make_tile_group(
            type=pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ),
            addrs=0x14000,
            mutex_ids=[3],
        )
        left_ring = pl.make_tile_group(
            type=pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left, layout=pl.NZ),
            addrs=0x0000,
            mutex_ids=[4, 5],
        )
        right_ring = pl.make_tile_group(
            type=pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Right, layout=pl.ZN),
            addrs=0x0000,
            mutex_ids=[6, 7],
        )
        acc_ring = pl.make_tile_group(
            type=pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, layout=pl.NZ, fractal=1024),
            addrs=0x0000,
            mutex_ids=[8, 9, 10, 11],
        )
        b_tile = b_l1.current()
        d_tile = d_l1.current()
        pl.load(b_tile, b, [0, 0])
        pl.load(d_tile, d, [0, 0])
    with pl.section_vector():
        sub = pl.get_subblock_idx()
        relu_ring = pl.make_tile_group(
            type=pl.TileType(shape=[HALF, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec),
            addrs=0x8000,
            mutex_ids=[18, 19],
        )
        nz_ring = pl.make_tile_group(
            type=pl.TileType(shape=[HALF, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.NZ),
            addrs=0x18000,
            mutex_ids=[20, 21],
        )
    for i in pl.range(0, N):
        with pl.section_cube():
            first(i, a, b_l1, a_ring, left_ring, right_ring, acc_ring, mm_ring)
        with pl.section_vector():
            second(i, sub, mm_ring, relu_ring, nz_ring, p_ring)
        with pl.section_cube():
            third(i, d_l1, p_ring, left_ring, right_ring, acc_ring, out_ring)
        with pl.section_vector():
            fourth(i, sub, out, out_ring)


@pytest.mark.soc("950")
@pypto.options(pass_options={"enable_slice": False})
def test_relu_between_products():
    device = ST_DEVICE
    torch.npu.set_device(device)
    torch.manual_seed(0)
    a = torch.randn(N * TILE, TILE, device=device, dtype=torch.float32)
    b = torch.randn(TILE, TILE, device=device, dtype=torch.float32)
    d = torch.randn(TILE, TILE, device=device, dtype=torch.float32)
    out = torch.zeros(N * TILE, TILE, device=device, dtype=torch.float32)
    relu_between_products[None, 1](a, b, d, out)
    torch.npu.synchronize()
    expected = torch.relu(a @ b) @ d
    torch.testing.assert_close(out, expected, rtol=1e-2, atol=1e-2)
    assert torch.equal(out.cpu(), out.to("cpu")) and out.device.type in ("npu", "cpu")
