"""Arguments of delayed stages: every stage sees the values of its own iteration, whatever the loop does in between."""

import ast

import pytest
from pipeline_timeline import CORES, run
from small import pipelined

from pypto.errors.pipeline import (
    ArgumentNotDelayed,
    SlotCursorShared,
    StructInLoop,
    StructWrittenByStage,
)
from pypto_pro.pipeline.traces import namespace_of

CALL = "            consume(k, out, ch2)\n"
HEAD = "        # head\n"
BEFORE = "    # before\n"


def calls(kernel, made, stage="consume", core="vector", iterations=5):
    """The arguments of every call of a stage."""
    log = run(made, namespace_of(kernel), core, "out", iterations, 0.5)
    return [(entry[2], entry[3]) for entry in log if entry[:2] == ("stage", stage)]


def given(tmp_path, preload, call, *edits, position=0):
    kernel, made = pipelined(tmp_path, preload, (CALL, f"            {call}\n"), *edits)
    return [arguments[position] for arguments, _ in calls(kernel, made)]


@pytest.mark.parametrize("preload", [0, 1, 2])
@pytest.mark.parametrize(
    "call, edits, expected",
    [
        ("consume(k, out, ch2)", (), [0, 1, 2, 3, 4]),
        ("consume(k * 2 + 1, out, ch2)", (), [1, 3, 5, 7, 9]),
        ("consume(row, out, ch2)", ((HEAD, "        row = k * k\n"),), [0, 1, 4, 9, 16]),
        ("consume(share, out, ch2)", ((HEAD, "        share = k * scale\n"),), [0.0, 0.5, 1.0, 1.5, 2.0]),
        ("consume(k / 4, out, ch2)", (), [0.0, 0.25, 0.5, 0.75, 1.0]),
        (
            "consume(state.row, out, ch2)",
            ((BEFORE, '    state = pl.struct("State", row=0)\n'), (HEAD, "        state.row = 7 - k\n")),
            [7, 6, 5, 4, 3],
        ),
        (
            "consume(state.rows[1], out, ch2)",
            ((BEFORE, '    state = pl.struct("State", rows=[0, 0])\n'), (HEAD, "        state.rows[1] = k + 3\n")),
            [3, 4, 5, 6, 7],
        ),
        ("consume(7, out, ch2)", (), [7] * 5),
        ("consume(n, out, ch2)", (), [5] * 5),
        ("consume(base, out, ch2)", ((BEFORE, "    with pl.section_vector():\n        base = 4\n"),), [4] * 5),
        ("consume(k > 2, out, ch2)", (), [False, False, False, True, True]),
        (
            "consume(total, out, ch2)",
            ((BEFORE, "    total = 0\n"), ("        # tail\n", "        total = total + k\n")),
            [0, 0, 1, 3, 6],
        ),
    ],
)
def test_each_iteration_has_its_values(tmp_path, preload, call, edits, expected):
    assert given(tmp_path, preload, call, *edits) == expected


def test_values_that_each_core_computes_for_itself(tmp_path):
    """A name that both sections bind is kept on the core whose stage needs it."""
    edits = (
        (
            HEAD,
            "        with pl.section_cube():\n            mine = k\n        with pl.section_vector():\n            mine = 10 * k\n",
        ),
    )
    assert given(tmp_path, 1, "consume(mine, out, ch2)", *edits) == [0, 10, 20, 30, 40]
    kernel, made = pipelined(
        tmp_path,
        1,
        ("produce_again(k, p, left", "produce_again(mine, p, left"),
        *edits,
        ("def produce_again(mine", "def produce_again(k"),
    )
    assert [a[0] for a, _ in calls(kernel, made, "produce_again", "cube")] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("preload", [0, 1, 2])
def test_keyword_arguments_are_kept(tmp_path, preload):
    kernel, made = pipelined(tmp_path, preload, (CALL, "            consume(out=out, ch2=ch2, k=k + 1)\n"))
    assert [named["k"] for _, named in calls(kernel, made)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("preload", [1, 2])
def test_whole_structs(tmp_path, preload):
    """A struct that the loop changes is kept whole, array fields included."""
    edits = (
        (BEFORE, '    state = pl.struct("State", row=0, rows=[0, 0], share=0.0)\n'),
        (
            HEAD,
            "        state.row = k\n        state.rows[0] = 2 * k\n        state.rows[1] = 3 * k\n        state.share = k * scale\n",
        ),
    )
    body = ("    pl.store(out, x, [k * 32, 0])\n", "    pl.store(out, x, [k.row, k.rows[1]])\n")
    kernel, made = pipelined(tmp_path, preload, (CALL, "            consume(state, out, ch2)\n"), body, *edits)
    seen = []
    names = dict(namespace_of(kernel))
    transformed = made
    log = run(transformed, names, "vector", "out", 4, 0.5)
    seen = [entry[2][0] for entry in log if entry[:2] == ("stage", "consume")]
    assert len({id(one) for one in seen}) == min(4, made.loops[0].depth)
    text = ast.unparse(made.node)
    assert "_pl_ctx_state_0.rows[1] = state.rows[1]" in text and "consume(_pl_ctx_state_neg" in text


def test_a_struct_that_nobody_changes_is_passed_as_it_is(tmp_path):
    _, made = pipelined(
        tmp_path, 2, (CALL, "            consume(state, out, ch2)\n"), (BEFORE, '    state = pl.struct("State", row=0)\n')
    )
    assert "consume(state, out, ch2)" in ast.unparse(made.node)


def test_a_stage_may_count_in_a_struct_of_its_own(tmp_path):
    count = ("    pl.store(out, x, [k * 32, 0])\n", "    k.row = k.row + 1\n    pl.store(out, x, [k.row * 32, 0])\n")
    edits = ((CALL, "            consume(state, out, ch2)\n"), (BEFORE, '    state = pl.struct("State", row=0)\n'), count)
    pipelined(tmp_path, 2, *edits)
    shared = ("def hand_back(k, ch, nz, p):\n", "def hand_back(k, ch, nz, p):\n    pl.set_validshape(nz, [k.row, 1])\n")
    with pytest.raises(StructWrittenByStage, match="which stage 'hand_back' uses too"):
        pipelined(tmp_path, 1, *edits, ("            hand_back(k, ch", "            hand_back(state, ch"), shared)


def test_structs_are_made_outside(tmp_path):
    edits = ((CALL, "            consume(state, out, ch2)\n"), (HEAD, '        state = pl.struct("State", row=k)\n'))
    for preload in (0, 1):
        with pytest.raises(StructInLoop):
            pipelined(tmp_path, preload, *edits)


OUTER = "    for i in pl.range(0, n):\n{pick}      for k in pl.range(0, 2):\n"
SCRATCH = "    scratch = pl.make_tile_group(type=vec, addrs=0x20000, mutex_ids=[12, 13, 14, 15])\n"


@pytest.mark.parametrize("preload", [0, 1, 2])
@pytest.mark.parametrize(
    "how, expected",
    [("scratch.next()", [1, 1, 2, 2, 3, 3]), ("scratch.previous()", [3, 3, 3, 3, 3, 3]), ("scratch[i % 3]", [0, 0, 1, 1, 2, 2])],
)
def test_tiles_taken_outside(tmp_path, preload, how, expected):
    """The tile of an outer iteration stays with its tasks, although the cursor has gone on."""
    pick = f"      tile = {how}\n"
    edits = (
        (BEFORE, SCRATCH + "    start = scratch.next()\n"),
        ("    for k in pl.range(0, n):\n", OUTER.format(pick=pick)),
        (CALL, "            consume(tile, out, ch2)\n"),
    )
    kernel, made = pipelined(tmp_path, preload, *edits)
    assert [a[0] for a, _ in calls(kernel, made, iterations=3)] == expected


def test_a_stage_that_turns_the_group_of_a_kept_tile(tmp_path):
    edits = (
        (BEFORE, SCRATCH),
        ("    for k in pl.range(0, n):\n", OUTER.format(pick="      tile = scratch.next()\n")),
        (CALL, "            consume(tile, out, ch2, scratch)\n"),
        ("def consume(k, out, ch2):\n", "def consume(k, out, ch2, group):\n    y = group.next()\n    pl.expands(y, 0.0)\n"),
    )
    with pytest.raises(SlotCursorShared):
        pipelined(tmp_path, 1, *edits)


@pytest.mark.parametrize("what", ["pl.make_tensor(out, [32, 64])", "out + k", "pl.make_ptr(out)"])
def test_what_cannot_be_kept(tmp_path, what):
    edits = ((CALL, "            consume(k, part, ch2)\n"), (HEAD, f"        part = {what}\n"))
    pipelined(tmp_path, 0, *edits)
    with pytest.raises(ArgumentNotDelayed, match="`part` of stage 'consume'"):
        pipelined(tmp_path, 1, *edits)


@pytest.mark.parametrize(
    "expression, first",
    [
        ("k", "0"),
        ("k / 2", "0.0"),
        ("k * scale", "0.0"),
        ("pl.const(0, pl.DT_FP32) + k", "0.0"),
        ("k == 1", "False"),
        ("pl.max(k, n)", "0"),
        ("pl.min(scale, 1.0)", "0.0"),
        ("pl.get_block_idx()", "0"),
        ("-k", "0"),
        ("half_of(k)", "0.0"),
        ("k if k > 1 else n", "0"),
    ],
)
def test_first_values_have_the_type_of_what_is_kept(tmp_path, expression, first):
    helper = ("IDS = [0, 1]\n", "IDS = [0, 1]\n\n\ndef half_of(x):\n    return x / 2\n")
    _, made = pipelined(
        tmp_path, 1, helper, (CALL, "            consume(value, out, ch2)\n"), (HEAD, f"        value = {expression}\n")
    )
    assert f" value={first}," in ast.unparse(made.node)


@pytest.mark.parametrize("order", [0, 1])
def test_accumulators_that_begin_in_a_branch(tmp_path, order):
    """Either order of the branches: the tile belongs to the stage alone, although another stage uses the group."""
    arms = ["pl.load(a, k, [0, 0])", "pl.matmul_acc(a, a, a, a)"]
    test = ["c == 0", "c > 0"][order]
    first, second = arms[order], arms[1 - order]
    loop = f"    for c in pl.range(0, 4):\n        if {test}:\n            {first}\n        else:\n            {second}\n"
    pipelined(tmp_path, 2, ("    pl.load(a, k, [0, 0])\n", loop))


def test_only_what_changes_is_kept(tmp_path):
    _, made = pipelined(tmp_path, 2, (BEFORE, "    fixed = n * 2\n"), (CALL, "            consume(fixed, out, ch2)\n"))
    text = ast.unparse(made.node)
    assert "consume(fixed, out, ch2)" in text and "fixed=" not in text


def test_every_core_runs_its_own_stages(tmp_path):
    kernel, made = pipelined(tmp_path, 2)
    for core in CORES:
        log = run(made, namespace_of(kernel), core, "out", 3, 0.5)
        assert {entry[1] for entry in log if entry[0] == "stage"} == (
            {"produce", "produce_again"} if core == "cube" else {"hand_back", "consume"}
        )
