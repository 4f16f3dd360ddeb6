"""Automatic locking: which tokens are taken, around what, and on which pipe."""

from __future__ import annotations

import pytest

from pypto.cores.enums import AccPhase, CoreType, MemorySpace, PipeType, STPhase, TensorLayout
from pypto.cores.program import (
    Assign,
    Constant,
    CoreProgram,
    DeclareGroup,
    DeclareTile,
    If,
    Instruction,
    Item,
    Loop,
    Name,
    Operation,
    Slot,
    TileProgram,
    Window,
    walk,
)
from pypto.cores.text import core_lines
from pypto.cores.types import Group, Tile
from pypto.dtypes import DataType
from pypto.errors.tiles import MutexNotOnChip
from pypto_pro.frontend.locking import lock

N, C = Name, Constant
FP32 = DataType.DT_FP32
VEC = Tile((32, 64), FP32)
ACC = Tile((64, 64), FP32, MemorySpace.Acc, TensorLayout.NZ, 1024)
ZERO = (C(0), C(0))


def group(name, ids, kind=VEC):
    return DeclareGroup(
        name, kind, tuple(range(0, 0x2000 * len(ids), 0x2000)), tuple((one,) if isinstance(one, int) else one for one in ids)
    )


def load(tile):
    return Instruction("load", PipeType.MTE2, (tile, N("a"), ZERO))


def store(tile, **attributes):
    return Instruction("store", PipeType.MTE3, (N("a"), tile, ZERO), attributes)


def vector(name, *tiles):
    return Instruction(name, PipeType.V, tiles)


def locked(*body, core=CoreType.VECTOR, chip="950"):
    types = {one.name: Group(one.type, len(one.addresses), one.ids) for one in walk(body) if isinstance(one, DeclareGroup)}
    types |= {one.name: one.type for one in walk(body) if isinstance(one, DeclareTile)}
    program = CoreProgram(core, tuple(body), types)
    whole = TileProgram("k", (), **{core.name.lower(): program}, chip=chip)
    return getattr(lock(whole), core.name.lower())


def lines(*body, **keywords):
    return [line.strip() for line in core_lines(locked(*body, **keywords)) if not line.strip().startswith(("group", "tile "))]


def test_a_slot_is_evaluated_once_and_every_pipe_takes_its_token():
    found = lines(
        group("x", [0, 1]),
        group("y", [2, 3]),
        Loop(
            "i", C(0), C(4), C(1), (Assign("t", Slot(N("x"), "next")), load(N("t")), vector("relu", Slot(N("y"), "next"), N("t")))
        ),
        store(Slot(N("y"), "current")),
    )
    assert found == [
        "for i in range(0, 4, 1):",
        "t = x.next()",
        "MTE2 mutex_lock(t)",
        "MTE2 load(t, a, [0, 0])",
        "MTE2 mutex_unlock(t)",
        "_pl_lock_0 = y.next()",
        "V    mutex_lock(_pl_lock_0)",
        "V    mutex_lock(t)",
        "V    relu(_pl_lock_0, t)",
        "V    mutex_unlock(_pl_lock_0)",
        "V    mutex_unlock(t)",
        "_pl_lock_1 = y.current()",
        "MTE3 mutex_lock(_pl_lock_1)",
        "MTE3 store(a, _pl_lock_1, [0, 0])",
        "MTE3 mutex_unlock(_pl_lock_1)",
    ]


def test_tokens_of_one_pipe_only_are_left_out():
    found = lines(group("x", [0]), group("y", [1]), vector("relu", N("x"), N("y")), load(N("y")))
    assert "V    mutex_lock(y, mutex_ids=[1])" in found
    assert not any("(x" in line and "mutex" in line for line in found)


def test_a_tile_that_appears_twice_is_locked_once_and_static_ids_are_told():
    found = lines(group("x", [7]), load(N("x")), vector("add", N("x"), N("x"), N("x")))
    assert found.count("V    mutex_lock(x, mutex_ids=[7])") == 1


def test_tiles_that_may_share_a_token_are_locked_together():
    first, second = Slot(N("x"), "at", N("i")), Slot(N("x"), "at", N("j"))
    found = lines(group("x", [0, 1]), load(first), vector("add", first, second, N("z")))
    assert "V    mutex_lock(_pl_lock_1, _pl_lock_2)" in found
    apart = lines(group("x", [0, 1]), load(first), vector("add", Slot(N("x"), "at", C(0)), Slot(N("x"), "at", C(1)), N("z")))
    assert "V    mutex_lock(_pl_lock_1, mutex_ids=[0])" in apart
    assert "V    mutex_lock(_pl_lock_2, mutex_ids=[1])" in apart


def test_several_tokens_of_one_tile():
    found = lines(group("x", [(3, 5), (4, 6)]), load(Slot(N("x"), "at", C(1))), store(Slot(N("x"), "at", C(1))))
    assert "MTE2 mutex_lock(_pl_lock_0, mutex_ids=[4, 6])" in found


def test_a_chosen_tile_locks_what_was_chosen():
    """FC-135: the lock takes the tile that the condition or the index picked, evaluated once."""
    choice = Operation("choose", (Operation("<", (N("i"), C(1))), N("x"), N("y")))
    found = lines(group("x", [0]), group("y", [1]), load(N("x")), load(N("y")), vector("exp", choice, choice))
    assert found[-5:] == [
        "_pl_lock_0 = x if i < 1 else y",
        "_pl_lock_1 = x if i < 1 else y",
        "V    mutex_lock(_pl_lock_0, _pl_lock_1)",
        "V    exp(_pl_lock_0, _pl_lock_1)",
        "V    mutex_unlock(_pl_lock_0, _pl_lock_1)",
    ]
    picked = lines(group("x", [0]), group("y", [1]), load(N("x")), load(N("y")), vector("exp", Item((N("x"), N("y")), N("i"))))
    assert "_pl_lock_0 = [x, y][i]" in picked and "V    mutex_lock(_pl_lock_0)" in picked


def test_names_carry_tokens_over_branches_loops_and_aliases():
    body = (
        group("x", [0, 1]),
        group("y", [2, 3]),
        If(N("c"), (Assign("t", Slot(N("x"), "next")),), (Assign("t", Slot(N("y"), "next")),)),
        Assign("u", N("t")),
        Loop(
            "i",
            C(0),
            C(3),
            C(1),
            (load(N("u")), vector("exp", N("u"), N("u")), Assign("u", N("v")), Assign("v", Slot(N("y"), "next"))),
        ),
    )
    found = lines(*body)
    assert "MTE2 mutex_lock(u)" in found and "V    mutex_lock(u)" in found


def test_windows_lock_their_parent():
    part = Window(N("x"), C(0), C(16), C(0), C(64))
    core = locked(group("x", [4]), load(N("x")), vector("exp", part, part))
    text = "\n".join(core_lines(core))
    assert "_pl_lock_0 = x[0:16, 0:64]" in text and "V    mutex_lock(_pl_lock_0, _pl_lock_1, mutex_ids=[4])" in text
    assert core.types["_pl_lock_0"].shape == (16, 64)


def test_descriptors_take_no_token_and_scalars_do():
    element = Instruction("getval", PipeType.S, (N("x"), C(3)), {}, "value")
    valid = Instruction("set_validshape", PipeType.S, (N("x"), (C(3), C(4))))
    found = lines(group("x", [1]), load(N("x")), valid, element)
    assert found[-4:] == [
        "S    set_validshape(x, [3, 4])",
        "S    mutex_lock(x, mutex_ids=[1])",
        "S    value = getval(x, 3)",
        "S    mutex_unlock(x, mutex_ids=[1])",
    ]


def test_keyword_tiles_are_not_locked():
    scale = Tile((1, 64), DataType.DT_INT64, MemorySpace.Scaling)
    body = (group("acc", [1], ACC), group("s", [2], scale), Instruction("move", PipeType.FIX, (N("s"), N("m"))))
    found = lines(
        *body,
        Instruction("matmul", PipeType.M, (N("acc"), N("l"), N("r"))),
        Instruction("store", PipeType.FIX, (N("a"), N("acc"), ZERO), {"scale": N("s")}),
        core=CoreType.CUBE,
    )
    assert "FIX  mutex_lock(acc, mutex_ids=[1])" in found and not any("mutex_lock(s" in line for line in found)


@pytest.mark.parametrize("phase", [None, AccPhase.Unspecified, AccPhase.Partial, AccPhase.Final])
def test_phases_leave_accumulators_to_the_unit_flag(phase):
    product = Instruction("matmul", PipeType.M, (N("acc"), N("l"), N("r")), {"phase": phase})
    out = Instruction("store", PipeType.FIX, (N("a"), N("acc"), ZERO), {"phase": STPhase.Final if phase else None})
    found = lines(group("acc", [1], ACC), product, Instruction("move", PipeType.FIX, (N("v"), N("acc"))), out, core=CoreType.CUBE)
    flagged = phase in (AccPhase.Partial, AccPhase.Final)
    assert ("M    mutex_lock(acc, mutex_ids=[1])" in found) is not flagged
    if flagged:
        assert not any("mutex" in line for line in found), "one pipe is left: its own order is enough"


def test_tiles_without_tokens_are_left_alone():
    tile = DeclareTile("x", VEC, 0)
    body = (tile, load(N("x")), vector("exp", N("x"), N("x")))
    assert locked(*body).body == body


def test_chips_without_tokens_refuse():
    body = (group("x", [4]), load(N("x")), vector("exp", N("x"), N("x")))
    with pytest.raises(MutexNotOnChip, match="chip 910B has no buffer tokens"):
        locked(*body, chip="910B")
    assert lines(DeclareGroup("x", VEC, (0,)), *body[1:], chip="910B")[0].startswith("MTE2 load")
