"""Kernels for the tests of the pipeline: plain functions; ``transform`` reads their source as the front end would."""

import ast
import inspect
import textwrap

import pypto_pro.language as pl
from pypto.frontend.python import code_of
from pypto_pro.pipeline import PipelineConfig, transform_pipeline
from pypto_pro.pipeline.traces import namespace_of

TILE = 64
HALF = TILE // 2
COUNT = 4


@pl.pipeline.stage
def product(k, a, b_l1, a_tiles, left_tiles, right_tiles, acc_tiles, first):
    a_tile = a_tiles.next()
    pl.load(a_tile, a, [k * TILE, 0])
    left = left_tiles.next()
    right = right_tiles.next()
    acc = acc_tiles.next()
    b_tile = b_l1.current()
    pl.move(left, a_tile)
    pl.move(right, b_tile)
    pl.matmul(acc, left, right)
    out = first.next()
    pl.move(out, acc, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def activation(k, half, first, relu_tiles, relu_nz_tiles, second):
    x = first.next()
    y = relu_tiles.next()
    pl.relu(y, x)
    z = relu_nz_tiles.next()
    pl.move(z, y)
    p = second.next()
    pl.insert(p, z, [half * HALF, 0])


@pl.pipeline.stage
def second_product(k, d_l1, second, left_tiles, right_tiles, acc_tiles, third):
    d_tile = d_l1.current()
    p = second.next()
    left = left_tiles.next()
    right = right_tiles.next()
    acc = acc_tiles.next()
    pl.move(left, p)
    pl.move(right, d_tile)
    pl.matmul(acc, left, right)
    out = third.next()
    pl.move(out, acc, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def write_back(k, half, out, third):
    tile = third.next()
    pl.store(out, tile, [k * TILE + half * HALF, 0])


def demo(
    a: pl.Tensor[[COUNT * TILE, TILE], pl.DT_FP32],
    b: pl.Tensor[[TILE, TILE], pl.DT_FP32],
    d: pl.Tensor[[TILE, TILE], pl.DT_FP32],
    out: pl.Tensor[[COUNT * TILE, TILE], pl.DT_FP32],
):
    mm1 = pl.make_tile_group(
        type=pl.TileType(shape=[HALF, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec),
        addrs=0x0000,
        mutex_ids=[12, 13],
        fwd_ids=[0, 1],
        bwd_ids=[2, 3],
    )
    p = pl.make_tile_group(
        type=pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ),
        addrs=0x8000,
        mutex_ids=[14, 15],
        fwd_ids=[4, 5],
        bwd_ids=[6, 7],
    )
    o = pl.make_tile_group(
        type=pl.TileType(shape=[HALF, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec),
        addrs=0x10000,
        mutex_ids=[16, 17],
        fwd_ids=[8, 9],
        bwd_ids=[10, 11],
    )
    with pl.section_cube():
        l1 = pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ)
        a_tiles = pl.make_tile_group(type=l1, addrs=0x20000, mutex_ids=[0, 1])
        b_l1 = pl.make_tile_group(type=l1, addrs=0x30000, mutex_ids=[2])
        d_l1 = pl.make_tile_group(type=l1, addrs=0x34000, mutex_ids=[3])
        left_tiles = pl.make_tile_group(
            type=pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left, layout=pl.NZ),
            addrs=0x0000,
            mutex_ids=[4, 5],
        )
        right_tiles = pl.make_tile_group(
            type=pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Right, layout=pl.ZN),
            addrs=0x0000,
            mutex_ids=[6, 7],
        )
        acc_tiles = pl.make_tile_group(
            type=pl.TileType(shape=[TILE, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, layout=pl.NZ, fractal=1024),
            addrs=0x0000,
            mutex_ids=[8, 9, 10, 11],
        )
        b_tile = b_l1.current()
        d_tile = d_l1.current()
        pl.load(b_tile, b, [0, 0])
        pl.load(d_tile, d, [0, 0])
    with pl.section_vector():
        half = pl.get_subblock_idx()
        relu_tiles = pl.make_tile_group(
            type=pl.TileType(shape=[HALF, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec),
            addrs=0x8000,
            mutex_ids=[18, 19],
        )
        relu_nz_tiles = pl.make_tile_group(
            type=pl.TileType(shape=[HALF, TILE], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec, layout=pl.NZ),
            addrs=0x18000,
            mutex_ids=[20, 21],
        )
    for k in pl.range(0, COUNT):
        with pl.section_cube():
            product(k, a, b_l1, a_tiles, left_tiles, right_tiles, acc_tiles, mm1)
        with pl.section_vector():
            activation(k, half, mm1, relu_tiles, relu_nz_tiles, p)
        with pl.section_cube():
            second_product(k, d_l1, p, left_tiles, right_tiles, acc_tiles, o)
        with pl.section_vector():
            write_back(k, half, out, o)


def transform(function, preload=2, **keywords):
    """The transformed kernel of a plain function, whose globals and closure are its namespace."""
    code = code_of(function)
    with open(code.file) as file:
        source = file.read()
    config = preload if isinstance(preload, PipelineConfig) else PipelineConfig(preload=preload)
    return transform_pipeline(code.node, config, namespace_of(function), file=code.file, source=source, **keywords)


def kernel_text(transformed):
    """The generated definition alone."""
    return ast.unparse(transformed.node)


def dedented(function):
    return textwrap.dedent(inspect.getsource(function))
