"""Builds small kernels from text: the parts that a test wants different are replaced."""

import importlib.util
import itertools
from pathlib import Path

from pipeline_kernels import transform

NUMBERS = itertools.count()
MODULE = """
import pypto_pro.language as pl

IDS = [0, 1]
FLAG = True


@pl.pipeline.stage
def produce(k, acc, ch):
    a = acc.next()
    pl.load(a, k, [0, 0])
    x = ch.next()
    pl.move(x, a, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def hand_back(k, ch, nz, p):
    x = ch.next()
    y = nz.next()
    pl.move(y, x)
    z = p.next()
    pl.insert(z, y, [0, 0])


@pl.pipeline.stage
def produce_again(k, p, left, acc, ch2):
    z = p.next()
    y = left.next()
    pl.move(y, z)
    a = acc.next()
    pl.matmul(a, y, y)
    x = ch2.next()
    pl.move(x, a)


@pl.pipeline.stage
def consume(k, out, ch2):
    x = ch2.next()
    pl.store(out, x, [k * 32, 0])


def kernel(out: pl.Tensor[[256, 64], pl.DT_FP32], n: pl.DT_INT32, scale: pl.DT_FP32):
    vec = pl.TileType(shape=[32, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
    l1 = pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat)
    acc = pl.make_tile_group(
        type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc), addrs=0x0, mutex_ids=[8, 9]
    )
    left = pl.make_tile_group(
        type=pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left), addrs=0x0, mutex_ids=[6, 7]
    )
    nz = pl.make_tile_group(type=vec, addrs=0x30000, mutex_ids=[2, 3])
    ch = pl.make_tile_group(type=vec, addrs=0x0, mutex_ids=[0, 1], fwd_ids=IDS, bwd_ids=[2, 3])
    p = pl.make_tile_group(type=l1, addrs=0x0, mutex_ids=[4, 5], fwd_ids=[4, 5], bwd_ids=[6, 7])
    ch2 = pl.make_tile_group(type=vec, addrs=0x10000, mutex_ids=[10, 11], fwd_ids=[8, 9], bwd_ids=[10, 11])
    # before
    for k in pl.range(0, n):
        # head
        with pl.section_cube():
            produce(k, acc, ch)
        with pl.section_vector():
            hand_back(k, ch, nz, p)
        with pl.section_cube():
            produce_again(k, p, left, acc, ch2)
        with pl.section_vector():
            consume(k, out, ch2)
        # tail
"""


def small(folder: Path, *edits: tuple[str, str]):
    """The kernel of ``MODULE`` after replacing every first text by the second."""
    text = MODULE
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    name = f"small_{next(NUMBERS)}"
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def pipelined(folder, preload, *edits, **keywords):
    """The kernel and what the transform makes of it."""
    kernel = small(folder, *edits)
    return kernel, transform(kernel, preload, **keywords)
