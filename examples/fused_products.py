"""relu(A·B)·D with the automatic cube/vector pipeline: the same kernel serial and with one and two iterations of advance.

The cube core multiplies, the two vector cores apply relu to their halves, the cube core multiplies again, the vector cores write. Run it:
``python examples/fused_products.py`` prints the cycles of each and writes the timeline of the last to ``fused_products.html``.
"""

import sys

import torch

import pypto_pro.language as pl

TILE = 64
HALF = TILE // 2
FP32 = pl.DT_FP32
VEC, MAT, LEFT, RIGHT, ACC = (
    pl.MemorySpace.Vec,
    pl.MemorySpace.Mat,
    pl.MemorySpace.Left,
    pl.MemorySpace.Right,
    pl.MemorySpace.Acc,
)


def multiply(source, weights, lefts, rights, sums, target):
    """Cube: a tile in L1 times the weights, half of the rows to each vector core."""
    left = lefts.next()
    right = rights.next()
    total = sums.next()
    pl.move(left, source)
    pl.move(right, weights.current())
    pl.matmul(total, left, right)
    pl.move(target, total, acc_to_vec_mode=pl.AccToVecMode.DualModeSplitM)


@pl.pipeline.stage
def first_product(i, a, tiles, b_weights, lefts, rights, sums, products):
    tile = tiles.next()
    pl.load(tile, a, [i * TILE, 0])
    target = products.next()
    multiply(tile, b_weights, lefts, rights, sums, target)


@pl.pipeline.stage
def rectify(i, half, products, work, fractals, hidden):
    x = products.next()
    y = work.next()
    pl.relu(y, x)
    fractal = fractals.next()
    pl.move(fractal, y)  # ND to NZ: what insert takes
    target = hidden.next()
    pl.insert(target, fractal, [half * HALF, 0])


@pl.pipeline.stage
def second_product(i, hidden, d_weights, lefts, rights, sums, results):
    tile = hidden.next()
    target = results.next()
    multiply(tile, d_weights, lefts, rights, sums, target)


@pl.pipeline.stage
def write(i, half, results, out):
    x = results.next()
    pl.store(out, x, [i * TILE + half * HALF, 0])


def make(preload):
    @pl.jit(auto_mutex=True, pipeline=pl.pipeline.PipelineConfig(preload=preload))
    def fused_products(
        a: pl.Tensor[[pl.DYNAMIC, TILE], FP32],
        b: pl.Tensor[[TILE, TILE], FP32],
        d: pl.Tensor[[TILE, TILE], FP32],
        out: pl.Tensor[[pl.DYNAMIC, TILE], FP32],
    ):
        half_type = pl.TileType(shape=[HALF, TILE], dtype=FP32, target_memory=VEC)
        l1_type = pl.TileType(shape=[TILE, TILE], dtype=FP32, target_memory=MAT, layout=pl.NZ)
        # Channels between cube and vector: forward events say "full", backward events say "free again".
        products = pl.make_tile_group(type=half_type, addrs=0x0000, mutex_ids=[12, 13], fwd_ids=[0, 1], bwd_ids=[2, 3])
        hidden = pl.make_tile_group(type=l1_type, addrs=0x0000, mutex_ids=[14, 15], fwd_ids=[4, 5], bwd_ids=[6, 7])
        results = pl.make_tile_group(type=half_type, addrs=0x4000, mutex_ids=[16, 17], fwd_ids=[8, 9], bwd_ids=[10, 11])
        with pl.section_cube():
            left_type = pl.TileType(shape=[TILE, TILE], dtype=FP32, target_memory=LEFT, layout=pl.NZ)
            right_type = pl.TileType(shape=[TILE, TILE], dtype=FP32, target_memory=RIGHT, layout=pl.ZN)
            sum_type = pl.TileType(shape=[TILE, TILE], dtype=FP32, target_memory=ACC, fractal=1024)
            tiles = pl.make_tile_group(type=l1_type, addrs=0x10000, mutex_ids=[0, 1])
            b_weights = pl.make_tile_group(type=l1_type, addrs=0x20000, mutex_ids=[2])
            d_weights = pl.make_tile_group(type=l1_type, addrs=0x24000, mutex_ids=[3])
            lefts = pl.make_tile_group(type=left_type, addrs=0x0000, mutex_ids=[4, 5])
            rights = pl.make_tile_group(type=right_type, addrs=0x0000, mutex_ids=[6, 7])
            sums = pl.make_tile_group(type=sum_type, addrs=0x0000, mutex_ids=[8, 9])
            b_weight = b_weights.current()
            d_weight = d_weights.current()
            pl.load(b_weight, b, [0, 0])
            pl.load(d_weight, d, [0, 0])
        with pl.section_vector():
            half = pl.get_subblock_idx()
            work = pl.make_tile_group(type=half_type, addrs=0x8000, mutex_ids=[0, 1])
            fractal_type = pl.TileType(shape=[HALF, TILE], dtype=FP32, target_memory=VEC, layout=pl.NZ)
            fractals = pl.make_tile_group(type=fractal_type, addrs=0xC000, mutex_ids=[2, 3])
        for i in pl.range(0, a.shape[0] // TILE):
            with pl.section_cube():
                first_product(i, a, tiles, b_weights, lefts, rights, sums, products)
            with pl.section_vector():
                rectify(i, half, products, work, fractals, hidden)
            with pl.section_cube():
                second_product(i, hidden, d_weights, lefts, rights, sums, results)
            with pl.section_vector():
                write(i, half, results, out)

    return fused_products


def main(path="fused_products.html"):
    a, b, d = torch.randn(16 * TILE, TILE), torch.randn(TILE, TILE) / 8, torch.randn(TILE, TILE) / 8
    expected = torch.relu(a @ b) @ d
    for preload in (0, 1, 2):
        out = torch.empty_like(a)
        kernel = make(preload)
        kernel(a, b, d, out)
        torch.testing.assert_close(out, expected, rtol=1e-3, atol=1e-3)
        print(f"preload {preload}: {kernel.last_report.cycles:.0f} cycles")
    print(kernel.last_report)
    print("timeline:", kernel.last_report.save(path))


if __name__ == "__main__":
    main(*sys.argv[1:])
