"""The memory map of a program, and what is refused or warned about before anything runs."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest

from pypto.chips import chip
from pypto.cores.enums import CoreType, MemorySpace, TensorLayout
from pypto.cores.program import CoreProgram, DeclareGroup, DeclareTile, TileProgram
from pypto.cores.types import Tile
from pypto.diagnostics import PortabilityWarning, PyptoWarning
from pypto.dtypes import DataType
from pypto.errors.simulation import SpaceNotOnChip, TileMisaligned
from pypto.errors.tile_memory import TileMemoryExceeded
from pypto_pro.errors.tiles import Misaligned
from pypto_pro.frontend.groups import check_alignment
from pypto_pro.frontend.memory_map import check_memory, memory_map

S, L, D = MemorySpace, TensorLayout, DataType
UB = chip("950").memories[S.Vec].bytes


def vec(rows, columns, dtype=D.DT_FP32, layout=L.ND):
    return Tile((rows, columns), dtype, S.Vec, layout)


def program(*vector, cube=(), name="kernel"):
    return TileProgram(
        name,
        (),
        CoreProgram(CoreType.CUBE, tuple(cube)) if cube else None,
        CoreProgram(CoreType.VECTOR, tuple(vector)) if vector else None,
    )


def tile(name, kind, address, *ids):
    return DeclareTile(name, kind, address, ids)


def group(name, kind, addresses, *ids):
    return DeclareGroup(name, kind, tuple(addresses), tuple((one,) for one in ids))


def message(made):
    with pytest.raises(TileMemoryExceeded) as raised:
        check_memory(made)
    return str(raised.value)


def advice(made):
    return message(made).rpartition("help: ")[2].strip()


def test_the_map():
    shared = group("mm", vec(32, 64), (0, 0x2000), 12, 13)
    left = Tile((64, 64), D.DT_FP16, S.Left, L.NZ)
    made = program(shared, tile("x", vec(16, 64), 0x8000), cube=(shared, tile("a", left, 0x400)), name="demo")
    assert str(memory_map(made)) == (
        "memory of 'demo' on the 950\n"
        "\n"
        "UB: 20480 of 253952 bytes (8%)\n"
        "  0x00000 mm[0]  Vec[32, 64] fp32    8192 bytes  tokens 12  cube and vector\n"
        "  0x02000 mm[1]  Vec[32, 64] fp32    8192 bytes  tokens 13  cube and vector\n"
        "  0x08000 x      Vec[16, 64] fp32    4096 bytes  vector\n"
        "\n"
        "L0A: 8192 of 65536 bytes (12%)\n"
        "  0x00400 a  Left[64, 64] fp16 NZ    8192 bytes  cube\n"
    )
    assert check_memory(made) == memory_map(made)


def test_bytes_that_several_tiles_cover_count_once():
    found = memory_map(program(tile("x", vec(16, 64), 0), tile("y", vec(16, 64), 0x800), tile("z", vec(8, 8), 0x2000)))
    region = found.regions[S.Vec]
    assert (region.used, region.reach) == (0x1800 + 256, 0x2100)
    assert [str(one) for one in found.overlaps] == ["x and y share bytes 0x800 to 0xfff"]


def test_one_byte_too_many_lists_the_tiles_and_the_smallest_change():
    """FC-141: capacity, sum, table of tiles, which are doubled, and what to change."""
    half = UB // 2 // 32 * 32
    wide = vec(1, half + 32, D.DT_INT8)
    made = program(group("ring", wide, (0, half + 32), 0, 1), tile("y", vec(1, 8), 2 * half + 64), name="k")
    text = message(made)
    assert f"the tiles of 'k' exceed UB of the 950: they reach byte {2 * half + 96}" in text
    assert f"more than the {UB} there" in text
    assert f"UB: {2 * half + 96} of {UB} bytes (100%)" in text
    assert "ring[0]" in text and "ring[1]" in text and "beyond the end" in text
    assert advice(made) == f"give 'ring' 1 slot instead of 2 ({half + 32} bytes less)"


def test_a_smaller_shape_where_it_gives_up_less():
    made = program(group("x", vec(250, 64), (0, 64000), 0, 1), tile("y", vec(2, 63008, D.DT_INT8), 128000))
    assert advice(made) == "give 'x' the shape [249, 64] instead of [250, 64] (512 bytes less)"
    capacity = chip("950").memories[S.Left].bytes
    blocks = Tile((144, 256), D.DT_FP16, S.Left, L.NZ)
    text = advice(program(cube=(tile("a", blocks, 0),)))
    assert capacity == 65536 and text == "give 'a' the shape [128, 256] instead of [144, 256] (8192 bytes less)"


def test_gaps_are_offered():
    made = program(tile("x", vec(16, 64), 0), tile("y", vec(16, 64), 0x3000), tile("z", vec(16, 64), UB - 32))
    assert advice(made) == "the tiles take 12288 bytes together: move z to 0x1000"


def test_one_tile_that_never_fits():
    made = program(tile("x", vec(1, UB, D.DT_INT16), 0))
    assert advice(made) == "no single tile is to blame: use smaller tiles"


def test_addresses_start_at_multiples():
    with pytest.raises(TileMisaligned, match="0x10; UB needs multiples of 32"):
        check_memory(program(tile("x", vec(1, 8), 16)))


def test_memories_that_a_chip_does_not_have():
    scale = Tile((16, 2), D.DT_FP8E8M0, S.ScaleLeft, L.ZZ, 32)
    with pytest.raises(SpaceNotOnChip, match="910B"):
        check_memory(program(cube=(tile("s", scale, 0),)), chip("910B"))


def warned(made):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_memory(made)
    return [str(one.message) for one in caught if issubclass(one.category, PyptoWarning)]


def test_shared_bytes_without_a_shared_token_are_warned_about():
    """FC-134: the report names both tiles and the bytes."""
    found = warned(program(tile("x", vec(16, 64), 0, 1), tile("y", vec(16, 64), 0x800, 2)))
    assert len(found) == 1 and "x and y share bytes 0x800 to 0xfff, but not a token: 1 and 2" in found[0]
    assert "give both the same mutex_ids" in found[0]


@pytest.mark.parametrize("first,second", [((1,), (1,)), ((1, 2), (2,)), ((), (2,)), ((), ())])
def test_tiles_with_a_common_token_or_none_may_share(first, second):
    assert not warned(program(tile("x", vec(16, 64), 0, *first), tile("y", vec(16, 64), 0x800, *second)))


def test_neighbours_do_not_share():
    assert not warned(program(tile("x", vec(16, 64), 0, 1), tile("y", vec(16, 64), 0x1000, 2)))


@pytest.mark.parametrize(
    "kind,text",
    [
        (vec(8, 4), "a row of 'x' (Vec[8, 4] fp32) has 16 bytes"),
        (vec(4, 1, layout=L.DN), "a column of 'x' (Vec[4, 1] fp32 DN) has 16 bytes"),
        (vec(20, 8, layout=L.NZ), "'x' (Vec[20, 8] fp32 NZ) takes 1024 bytes in whole blocks, 384 more than its shape"),
        (vec(16, 12, layout=L.NZ), "'x' (Vec[16, 12] fp32 NZ) takes 1024 bytes in whole blocks, 256 more than its shape"),
    ],
)
def test_shapes_that_do_not_fill_lines_are_a_portability_warning(kind, text):
    with pytest.warns(PortabilityWarning) as caught:
        check_memory(program(tile("x", kind, 0)))
    assert text in str(caught[0].message)
    assert not warned(program(tile("x", vec(8, 8), 0), tile("y", vec(8, 1, layout=L.DN), 256)))
    assert not warned(program(tile("x", vec(16, 16, layout=L.NZ), 0), tile("y", vec(1, 8, layout=L.NZ), 4096)))


def test_addresses_follow_the_alignment_of_the_chip_at_hand():
    """A chip file of the user's own may ask for more or less than the two of the package."""
    usual = chip("950")
    memories = {**usual.memories, S.Vec: replace(usual.memories[S.Vec], alignment=64)}
    check_alignment(usual, vec(16, 16), 32)
    with pytest.raises(Misaligned, match="not 64-byte aligned"):
        check_alignment(replace(usual, memories=memories), vec(16, 16), 32)
