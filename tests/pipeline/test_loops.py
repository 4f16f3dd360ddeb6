"""Several loops in one kernel, outer loops, statements around the stages, constant branches, loops with nothing to overlap."""

import ast

import pytest
from pipeline_kernels import transform
from pipeline_timeline import CORES, run, tokens
from small import pipelined, small

from pypto.errors.pipeline import LoopsUnderOneLoop, PreloadCount, StatementBetweenStages
from pypto_pro.pipeline.traces import namespace_of

SECOND = (
    "        # tail\n",
    """    pl.system.sync_all(core_type=pl.SyncCoreType.MIX)
    for j in pl.range(0, n):
        with pl.section_cube():
            produce_again(j, p2, left, acc, ch3)
        with pl.section_vector():
            consume(j, out, ch3)
""",
)
MORE = (
    "    # before\n",
    """    ch3 = pl.make_tile_group(type=vec, addrs=0x18000, mutex_ids=[12, 13], fwd_ids=[12, 13], bwd_ids=[14, 15])
    p2 = pl.make_tile_group(type=l1, addrs=0x40000, mutex_ids=[14, 15])
""",
)


HAND_BACK = """        with pl.section_vector():
            hand_back(k, ch, nz, p)
"""
LAST_TWO = """        with pl.section_cube():
            produce_again(k, p, left, acc, ch2)
        with pl.section_vector():
            consume(k, out, ch2)
"""


def stages_of(kernel, made, core, *arguments):
    log = run(made, namespace_of(kernel), core, *arguments)
    return [(entry[1], entry[2][0]) for entry in log if entry[0] == "stage"]


@pytest.mark.parametrize("preload", [[1, 2], [0, 2], [2, 0], [0, 0], 1])
def test_two_loops(tmp_path, preload):
    kernel, made = pipelined(tmp_path, preload, MORE, SECOND)
    numbers = preload if isinstance(preload, list) else [preload] * 2
    assert [report.loop.preload for report in made.loops] == numbers
    for iterations in (0, 1, 3, 5):
        logs = {core: run(made, namespace_of(kernel), core, "out", iterations, 1.0) for core in CORES}
        assert all(sets == waits for sets, waits in tokens(logs["cube"], logs["vector"]).values())
        calls = [(entry[1], entry[2][0]) for entry in logs["vector"] if entry[0] == "stage"]
        for stage, times in (("hand_back", 1), ("consume", 2)):
            assert [k for name, k in calls if name == stage] == list(range(iterations)) * times


def test_names_of_two_loops_differ(tmp_path):
    text = ast.unparse(pipelined(tmp_path, [1, 2], MORE, SECOND)[1].node)
    for number, depth in ((0, 3), (1, 2)):
        assert f"_pl_ctx_arr_{number} = pl.struct_array({depth}, 'PipeCtx_{number}'" in text
        assert f"for _pl_drain_{number} in pl.range(0, {depth - 1}):" in text


def test_list_of_the_wrong_length(tmp_path):
    with pytest.raises(PreloadCount, match="lists 3 numbers, the kernel has 2 loops"):
        pipelined(tmp_path, [1, 1, 1], MORE, SECOND)


def test_two_loops_under_one(tmp_path):
    nested = SECOND[1].replace("\n    ", "\n        ").replace("    pl.system", "        pl.system", 1)
    with pytest.raises(LoopsUnderOneLoop):
        pipelined(
            tmp_path,
            1,
            MORE,
            ("    for k in pl.range(0, n):", "    for i in pl.range(0, 2):\n     for k in pl.range(0, n):"),
            ("        # tail\n", nested),
        )


OUTER = ("    for k in pl.range(0, n):\n", "    for i in pl.range(0, 3):\n      row = i * n\n      for k in pl.range(0, n):\n")


@pytest.mark.parametrize("preload", [0, 1, 2])
def test_the_pipeline_stays_full_over_outer_iterations(tmp_path, preload):
    kernel, made = pipelined(
        tmp_path, preload, OUTER, ("            consume(k, out, ch2)", "            consume(row + k, out, ch2)")
    )
    calls = stages_of(kernel, made, "vector", "out", 2, 1.0)
    assert [k for name, k in calls if name == "consume"] == list(range(6))
    text = ast.unparse(made.node)
    assert text.count("for _pl_drain") == (preload > 0)
    if preload:  # the drain stands after the outer loop
        assert text.index("for _pl_drain") > text.index("_pl_task_id = _pl_task_id + 1")
        assert "\n    for _pl_drain" in text


def test_statements_around_the_stages(tmp_path):
    """Statements of the loop run once per iteration, also those inside the first and the last section; ``continue`` skips a beat."""
    edits = (
        ("        # head\n", "        row = k * 2\n        if k == 1:\n            continue\n"),
        ("            produce(k, acc, ch)\n", "            column = row + 1\n            produce(k, acc, ch)\n"),
        ("consume(k, out, ch2)\n", "consume(row, out, ch2)\n            done = k\n"),
        ("        # tail\n", "        count = k\n"),
    )
    for preload in (0, 1, 2):
        kernel, made = pipelined(tmp_path, preload, *edits)
        calls = stages_of(kernel, made, "vector", "out", 5, 1.0)
        assert [k for name, k in calls if name == "consume"] == [0, 4, 6, 8]


@pytest.mark.parametrize("between", ["        x = 1\n", "        with pl.section_cube():\n            x = 1\n"])
def test_nothing_between_the_stages(tmp_path, between):
    place = "        with pl.section_vector():\n            hand_back"
    with pytest.raises(StatementBetweenStages):
        pipelined(tmp_path, 1, (place, between + place))


def test_a_block_without_a_stage_before_the_first(tmp_path):
    """It belongs to the loop, not to the stages."""
    kernel, made = pipelined(tmp_path, 2, ("        # head\n", "        with pl.section_vector():\n            x = k + 1\n"))
    assert len(made.loops[0].loop.stages) == 4
    assert [k for _, k in stages_of(kernel, made, "cube", "out", 1, 1.0)] == [0, 0]


@pytest.mark.parametrize("flag, stages", [("True", 4), ("False", 2)])
def test_constant_branches(tmp_path, flag, stages):
    body = """        if FLAG:
            with pl.section_cube():
                produce_again(k, p, left, acc, ch2)
            with pl.section_vector():
                consume(k, out, ch2)
"""
    edits = [(LAST_TWO, body), ("FLAG = True", f"FLAG = {flag}")]
    if flag == "False":
        edits += [(", fwd_ids=[4, 5], bwd_ids=[6, 7]", ""), (", fwd_ids=[8, 9], bwd_ids=[10, 11]", "")]
    _, made = pipelined(tmp_path, 1, *edits)
    assert len(made.loops[0].loop.stages) == stages
    assert "FLAG" not in ast.unparse(made.node)


def test_constants_of_the_specialisation(tmp_path):
    """Tiling keys and known extents decide branches as well."""
    edits = [
        ("        # head\n", "        if KEY == 3 and out.shape[0] > 100:\n            x = 1\n        else:\n            x = 2\n")
    ]
    kernel = small(tmp_path, *edits)
    text = ast.unparse(transform(kernel, 1, constants={"KEY": 3, "out.shape[0]": 256}).node)
    assert "x = 1" in text and "x = 2" not in text


def test_a_single_stage_stays_as_it_is(tmp_path):
    """Only cube work (or an empty stage): a plain loop, with a note."""
    plain = [
        (HAND_BACK + LAST_TWO, ""),
        (", fwd_ids=IDS, bwd_ids=[2, 3]", ""),
        (", fwd_ids=[4, 5], bwd_ids=[6, 7]", ""),
        (", fwd_ids=[8, 9], bwd_ids=[10, 11]", ""),
    ]
    kernel, made = pipelined(tmp_path, 2, *plain)
    assert made.warnings and "only one stage, 'produce'" in made.warnings[0]
    assert stages_of(kernel, made, "cube", "out", 3, 1.0) == [("produce", 0), ("produce", 1), ("produce", 2)]
    assert "_pl_" not in ast.unparse(made.node)


def test_a_stage_with_an_empty_body(tmp_path):
    body = "    x = ch2.next()\n    pl.store(out, x, [k * 32, 0])\n"
    edits = [(body, "    pass\n"), (", fwd_ids=[8, 9], bwd_ids=[10, 11]", "")]
    kernel, made = pipelined(tmp_path, 1, *edits)
    assert [k for name, k in stages_of(kernel, made, "vector", "out", 3, 1.0) if name == "consume"] == [0, 1, 2]


def test_start_and_step(tmp_path):
    kernel, made = pipelined(tmp_path, 2, ("pl.range(0, n)", "pl.range(2, n, 3)"))
    assert [k for name, k in stages_of(kernel, made, "vector", "out", 9, 1.0) if name == "consume"] == [2, 5, 8]


@pytest.mark.parametrize(
    "line, prefix",
    [("import pypto_pro.language as tiles", "tiles."), ("import pypto_pro.language", "pypto_pro.language.")],
)
def test_other_spellings_of_the_module(tmp_path, line, prefix):
    kernel, made = pipelined(tmp_path, 1, ("import pypto_pro.language as pl", line), ("pl.", prefix))
    text = ast.unparse(made.node)
    assert made.loops[0].depth == 3 and f"{prefix}system.set_cross_core" in text and "pl.system" not in text.replace(prefix, "")
