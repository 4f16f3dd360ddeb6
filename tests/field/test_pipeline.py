"""Field cases of the automatic cube/vector pipeline (section E), as ruled."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "pipeline"))

import attention
import real_kernels as kernels
from small import pipelined

import pypto_pro.language as pl
from pypto.diagnostics import PyptoWarning
from pypto.errors.pipeline import EventIdCount, EventIdTwice, LoopsUnderOneLoop, StageUnderCondition, TooFewEventIds
from pypto_pro.pipeline import PipelineConfig


def jit(preload):
    return pl.jit(pipeline=PipelineConfig(preload=preload))


def attend(kernel, keys):
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal((n, attention.HEAD)).astype(np.float32) for n in (64, max(keys, 1), max(keys, 1)))
    out = np.full((64, attention.HEAD), np.nan, np.float32)
    kernel[None, 1](q, k[:keys] if keys else k, v[:keys] if keys else v, attention.triangle(), out, 0)
    return out


@pytest.mark.parametrize("preload", [1, 2])
@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_fc_122_attention_with_few_trips(blocks, preload):
    """Trip counts at and below the ring depth (largest delay + 1): bit-equal to preload 0, nothing left over."""
    serial = attend(attention.make_attention(2, 3, jit(0)), blocks * attention.KEYS)
    np.testing.assert_array_equal(attend(attention.make_attention(2, 3, jit(preload)), blocks * attention.KEYS), serial)


@pytest.mark.parametrize("preload", [0, 1, 2])
def test_fc_122_no_trips(preload):
    kernel = kernels.make_chain(2, jit(preload))
    a, b, d, out = kernels.operands(0)
    kernel[None, 1](a, b, d, out, 0)
    assert np.isnan(out).all()


def test_fc_124_two_loops_under_one_outer_loop(tmp_path):
    """Refused, as the seed says."""
    again = """      for j in pl.range(0, n):
        with pl.section_cube():
            produce(j, acc, ch)
        with pl.section_vector():
            consume(j, out, ch2)
"""
    with pytest.raises(LoopsUnderOneLoop, match="two loops of stages stand under one outer loop"):
        pipelined(
            tmp_path,
            1,
            ("    for k in pl.range(0, n):", "    for i in pl.range(0, 2):\n      for k in pl.range(0, n):"),
            ("        # tail\n", again),
        )


OUT = "        out: pl.Tensor[[pl.DYNAMIC, TILE], pl.DT_FP32],\n"
END = "    return decorate(softmax_kernel)"
READ_AFTER = (
    (OUT, OUT + "        last: pl.Tensor[[TILE, TILE], pl.DT_FP32],\n"),
    (
        END,
        f"""        with pl.section_vector():
            tile = channel.current()
            pl.store(last, tile, [half * HALF, 0])

{END}""",
    ),
    ("    pl.expand_sub(x, x, column, dim=0)\n    pl.exp(y, x)\n", "    pl.expand_sub(y, x, column, dim=0)\n    pl.exp(y, y)\n"),
)


@pytest.mark.parametrize("preload", [0, 1, 2])
def test_fc_125_the_last_tile_after_the_loop(tmp_path, preload):
    """The ring holds the tile of the last iteration when the loop is over."""
    text = Path(kernels.__file__).read_text()
    for old, new in READ_AFTER:
        assert old in text
        text = text.replace(old, new, 1)
    file = tmp_path / "read_after.py"
    file.write_text(text)
    names = {}
    exec(compile(text, str(file), "exec"), names)
    a, b, _, out = kernels.operands(5)
    last = np.full((64, 64), np.nan, np.float32)
    names["make_softmax"](2, jit(preload))[None, 1](a, b, out, last, 5)
    np.testing.assert_allclose(last, a[-64:] @ b, rtol=1e-4, atol=1e-5)


def test_fc_128_counts_of_ids(tmp_path):
    """One id serves all tiles, the hand-over is counted on it; any number but one and that of the tiles is refused."""
    pipelined(tmp_path, 1, ("fwd_ids=IDS", "fwd_ids=[0]"))
    with pytest.raises(EventIdCount, match="has 3 ids for 2 tiles; give 2, or 1"):
        pipelined(tmp_path, 1, ("fwd_ids=IDS", "fwd_ids=[0, 1, 12]"))


def test_fc_129_more_than_sixteen_ids(tmp_path):
    """Declared twice, or needed by address reuse when none is free: the table of all ids is in the message."""
    with pytest.raises(EventIdTwice, match="event id 3 stands for both") as twice:
        pipelined(tmp_path, 1, ("fwd_ids=[4, 5]", "fwd_ids=[3, 5]"))
    assert "ch2 bwd_ids: [10, 11]" in str(twice.value)
    wide = (("bwd_ids=[10, 11]", "bwd_ids=[10, 11]"), ("addrs=0x10000, mutex_ids=[10, 11]", "addrs=0x0, mutex_ids=[0, 1]"))
    spare = (
        "    # before\n",
        "    spare = pl.make_tile_group(type=vec, addrs=0x20000, mutex_ids=[12, 13], fwd_ids=[12, 13], bwd_ids=[14, 15])\n",
    )
    use = (
        ("left, acc, ch2)", "left, acc, ch2, spare)"),
        (
            "    x = ch2.next()\n    pl.move(x, a)\n",
            "    x = ch2.next()\n    pl.move(x, a)\n    e = spare.next()\n    pl.move(e, a)\n",
        ),
        ("consume(k, out, ch2)", "consume(k, out, ch2, spare)"),
        ("    x = ch2.next()\n    pl.store", "    e = spare.next()\n    pl.add(e, e, e)\n    x = ch2.next()\n    pl.store"),
    )
    with pytest.raises(TooFewEventIds, match="needs 1[78] event ids, has 16") as few:
        pipelined(tmp_path, 1, *wide, spare, *use)
    assert "spare fwd_ids: [12, 13]" in str(few.value)


def test_fc_138_nothing_to_overlap():
    """A loop with cube work only stays a plain loop, and says so."""

    @pl.pipeline.stage
    def only(k, a, out, tiles, left_tiles, right_tiles, acc_tiles):
        tile = tiles.next()
        pl.load(tile, a, [k * 64, 0])
        left = left_tiles.next()
        right = right_tiles.next()
        acc = acc_tiles.next()
        pl.move(left, tile)
        pl.move(right, tile)
        pl.matmul(acc, left, right)
        pl.store(out, acc, [k * 64, 0])

    @jit(2)
    def kernel(a: pl.Tensor[[256, 64], pl.DT_FP32], out: pl.Tensor[[256, 64], pl.DT_FP32]):
        with pl.section_cube():
            l1 = pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Mat, layout=pl.NZ)
            l0a = pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Left, layout=pl.NZ)
            l0b = pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Right, layout=pl.ZN)
            l0c = pl.TileType(shape=[64, 64], dtype=pl.DT_FP32, target_memory=pl.MemorySpace.Acc, fractal=1024)
            tiles = pl.make_tile_group(type=l1, addrs=0x0, mutex_ids=[0, 1])
            left_tiles = pl.make_tile_group(type=l0a, addrs=0x0, mutex_ids=[2, 3])
            right_tiles = pl.make_tile_group(type=l0b, addrs=0x0, mutex_ids=[4, 5])
            acc_tiles = pl.make_tile_group(type=l0c, addrs=0x0, mutex_ids=[6, 7])
        for k in pl.range(0, 4):
            with pl.section_cube():
                only(k, a, out, tiles, left_tiles, right_tiles, acc_tiles)

    a = np.random.default_rng(0).standard_normal((256, 64)).astype(np.float32)
    out = np.full_like(a, np.nan)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel[None, 1](a, out)
    assert any(issubclass(w.category, PyptoWarning) and "only one stage, 'only'" in str(w.message) for w in caught)
    expected = np.concatenate([block @ block for block in a.reshape(4, 64, 64)])
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


def test_fc_139_a_condition_around_a_stage(tmp_path):
    """Refused, as the seed says; inside the stage it is evaluated with the stage's own iteration."""
    call = "        with pl.section_vector():\n            consume(k, out, ch2)\n"
    with pytest.raises(StageUnderCondition, match="CB3.*not a compile-time constant"):
        pipelined(
            tmp_path,
            1,
            (call, "        if k == 0:\n            with pl.section_vector():\n                consume(k, out, ch2)\n"),
        )
