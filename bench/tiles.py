"""Rows of the tile level: how long the simulator takes. Limits are those of the performance page and of the simulator's own promises.

The kernels are those of the tests (``tests/pro/kernels``), which also say what the outputs must be.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

import pypto_pro.language as pl
from bench.rows import Row, close

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "pro"))

from kernels import attention, chains, matmul

INSTRUCTIONS = 1000
PLAIN = {"timing": False, "check": False}  # values only


@pl.jit()
def additions(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32], n: pl.DT_INT32):
    with pl.section_vector():
        kind = pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Vec)
        ring = pl.make_tile_group(type=kind, addrs=0, mutex_ids=[0, 1])
        tile = ring.next()
        total = ring.next()
        pl.load(tile, x, [0, 0])
        pl.expands(total, 0.0)
        for _ in pl.range(0, n):
            pl.add(total, total, tile)
        pl.store(out, total, [0, 0])


def instruction(modes: dict) -> Row:
    """Seconds are those of ``INSTRUCTIONS`` additions of one tile; numpy does the same additions."""
    x, out, total = torch.ones(64, 64), torch.zeros(64, 64), np.zeros((64, 64), np.float32)
    array = x.numpy()

    def ours() -> None:
        with pl.simulate(**modes):
            additions(x, out, INSTRUCTIONS)

    def plain() -> None:
        for _ in range(INSTRUCTIONS):
            np.add(total, array, out=total)

    each = 15e-6 if modes else 50e-6
    return Row(ours, {"numpy": plain}, lambda: close(out, x.double() * INSTRUCTIONS, 0, 0), limit=each * INSTRUCTIONS)


def product(dtype: str) -> Row:
    kind, result, element, accumulated = matmul.DTYPES[dtype]
    kernel = matmul.make(kind, result, shape=(64, 64, 64))
    arguments, expected = matmul.data(512, 512, 512, element, accumulated)
    return Row(lambda: kernel(*arguments), {}, lambda: close(arguments[2], expected[2].double(), 1e-4, 1e-3), limit=0.15)


def chain(preload: int) -> Row:
    kernel = chains.FOUR[2](preload)
    arguments, expected = chains.chain_data(4 * chains.TILE, 4)
    return Row(lambda: kernel(*arguments), {}, lambda: close(arguments[3], expected[3].double(), 1e-3, 1e-3), limit=0.2)


def flash_attention(length: int, preload: int) -> Row:
    kernel = attention.LARGE(preload)
    arguments, expected = attention.data(128, length, length, 0)
    return Row(lambda: kernel(*arguments), {}, lambda: close(arguments[4], expected[4].double(), 2e-3, 2e-3), limit=30.0)


def blocks() -> Row:
    """24 blocks against one, each with the same work."""
    kernel = chains.FOUR[2](2)
    many, expected = chains.chain_data(24 * 8 * chains.TILE, 4)
    one, _ = chains.chain_data(8 * chains.TILE, 4)
    return Row(
        lambda: kernel[24](*many),
        {"one block": lambda: kernel[1](*one)},
        lambda: close(many[3], expected[3].double(), 1e-3, 1e-3),
        targets={"one block": 1 / 30},
    )


def rows() -> Iterator[tuple[str, Callable[[], Row]]]:
    yield f"tile: {INSTRUCTIONS} additions of 64x64 fp32", partial(instruction, {})
    yield f"tile: {INSTRUCTIONS} additions of 64x64 fp32, values only", partial(instruction, PLAIN)
    for dtype in ("fp16", "fp32"):
        yield f"tile: matmul 512 in tiles of 64, {dtype}", partial(product, dtype)
    for preload in (0, 2):
        yield f"tile: product, relu, product; four stages, preload {preload}", partial(chain, preload)
    yield "tile: 24 blocks of the same", blocks
    yield "tile: flash attention 1024x128 fp16, preload 2", partial(flash_attention, 1024, 2)
    yield "tile: flash attention 4096x128 fp16, preload 2", partial(flash_attention, 4096, 2)
