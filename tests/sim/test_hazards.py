"""Every kind of hazard: found whatever the schedule, with its exact text (``tests/golden/sim_*.txt``)."""

import numpy as np
import pytest
from small_language import pointer, program, scalar, tensor

from pypto.errors import simulation as errors
from pypto.sim import simulate, units

SEEDS = (None, 0, 1, 2)
ROWS = tensor(["rows", 64])


def data(blocks, seed=0):
    return np.random.default_rng(seed).standard_normal((64 * blocks, 64)).astype(np.float32)


def caught(kind, built, arguments, **switches):
    """The error, the same class under every schedule."""
    found = None
    for seed in SEEDS:
        with pytest.raises(kind) as error:
            copies = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}
            simulate(built, copies, seed=seed, **switches)
        found = found or error.value
    return str(found) + "\n"


# -- races inside a core ------------------------------------------------------------------------------------------------------

ADD = """
x = tile(Vec, [64, 64], DT_FP32, 0)
y = tile(Vec, [64, 64], DT_FP32, 16384)
{prime}
for i in range(0, n):
    {free}
    load(x, source, [i * 64, 0])
    {loaded}
    {stored}
    adds(y, x, 1.0)
    {used}
    store(target, y, [i * 64, 0])
    {done}
{finish}
"""
EDGES = {
    "prime": "sync_src(set_pipe=V, wait_pipe=MTE2, event_id=0)\nsync_src(set_pipe=MTE3, wait_pipe=V, event_id=0)",
    "free": "sync_dst(set_pipe=V, wait_pipe=MTE2, event_id=0)",
    "loaded": "sync_src(set_pipe=MTE2, wait_pipe=V, event_id=0)\n    sync_dst(set_pipe=MTE2, wait_pipe=V, event_id=0)",
    "stored": "sync_dst(set_pipe=MTE3, wait_pipe=V, event_id=0)",
    "used": "sync_src(set_pipe=V, wait_pipe=MTE2, event_id=0)\n    sync_src(set_pipe=V, wait_pipe=MTE3, event_id=0)\n"
    "    sync_dst(set_pipe=V, wait_pipe=MTE3, event_id=0)",
    "done": "sync_src(set_pipe=MTE3, wait_pipe=V, event_id=0)",
    "finish": "sync_dst(set_pipe=V, wait_pipe=MTE2, event_id=0)\nsync_dst(set_pipe=MTE3, wait_pipe=V, event_id=0)",
}


def adding(**edges):
    return program(vector=ADD.format(**{**EDGES, **edges}), source=ROWS, target=ROWS, n=scalar())


@pytest.mark.parametrize("seed", [*SEEDS, 3, 4, 5, 6, 7])
def test_a_right_program_has_no_finding_and_one_result(seed):
    source, target = data(5), data(5, 1)
    simulate(adding(), {"source": source, "target": target, "n": 5}, seed=seed)
    assert np.array_equal(target, source + 1)


@pytest.mark.parametrize(
    "name, edges",
    [
        ("read_after_write", {"loaded": "pass"}),
        (
            "write_after_read",
            {"prime": EDGES["prime"].splitlines()[1], "free": "pass", "finish": EDGES["finish"].splitlines()[1]},
        ),
    ],
)
def test_races_between_pipes(name, edges, golden):
    if name == "write_after_read":  # the load of the next turn overwrites what is still read
        edges["used"] = "\n    ".join(line.strip() for line in EDGES["used"].splitlines()[1:])
    text = caught(errors.DataRace, adding(**edges), {"source": data(3), "target": data(3), "n": 3})
    golden(f"sim_{name}", text)


def test_write_after_write_between_pipes(golden):
    text = """
    x = tile(Vec, [64, 64], DT_FP32, 0)
    other_name = tile(Vec, [32, 64], DT_FP32, 8192)
    load(x, source, [0, 0])
    expands(other_name, 0.0)
    """
    built = program(vector=text, source=ROWS)
    golden("sim_write_after_write", caught(errors.DataRace, built, {"source": data(1)}))


def test_two_loads_into_one_slot_need_a_barrier(golden):
    text = """
    x = tile(Vec, [64, 64], DT_FP32, 0)
    load(x, source, [0, 0])
    {barrier}
    load(x, source, [64, 0])
    """
    built = program(vector=text.format(barrier="pass"), source=ROWS)
    golden("sim_two_loads", caught(errors.DataRace, built, {"source": data(2)}))
    simulate(program(vector=text.format(barrier="bar_mte2()"), source=ROWS), {"source": data(2)})


def test_a_reader_between_two_loads_orders_them():
    simulate(adding(), {"source": data(2), "target": data(2), "n": 2})


def test_tokens_order_pipes_in_the_order_of_the_text():
    text = """
    ring = group(Vec, [64, 64], DT_FP32, [0, 16384], ids=[0, 1])
    for i in range(0, n):
        x = ring.next()
        mutex_lock(x, pipe=MTE2)
        load(x, source, [i * 64, 0])
        mutex_unlock(x, pipe=MTE2)
        mutex_lock(x, pipe=V)
        adds(x, x, 1.0)
        mutex_unlock(x, pipe=V)
        mutex_lock(x, pipe=MTE3)
        store(target, x, [i * 64, 0])
        mutex_unlock(x, pipe=MTE3)
    """
    built = program(vector=text, source=ROWS, target=ROWS, n=scalar())
    for seed in SEEDS:
        source, target = data(7), data(7, 1)
        simulate(built, {"source": source, "target": target, "n": 7}, seed=seed)
        assert np.array_equal(target, source + 1)


def test_the_scalar_unit_races_too(golden):
    text = """
    x = tile(Vec, [8, 8], DT_FP32, 0)
    load(x, source, [0, 0])
    value = getval(x, 3)
    """
    golden("sim_scalar_race", caught(errors.DataRace, program(vector=text, source=ROWS), {"source": data(1)}))


def test_what_the_scalar_unit_writes_is_under_way():
    text = """
    x = tile(Vec, [8, 8], DT_FP32, 0)
    setval(x, 0, 1.0)
    adds(x, x, 1.0)
    """
    error = caught(errors.DataRace, program(vector=text), {})
    assert "`adds` on V of AIV0" in str(error) and "`setval` on S of AIV0" in str(error)


def test_what_the_scalar_unit_reads_it_has():
    text = """
    x = tile(Vec, [8, 8], DT_FP32, 0)
    load(x, source, [0, 0])
    sync_src(set_pipe=MTE2, wait_pipe=S, event_id=0)
    sync_dst(set_pipe=MTE2, wait_pipe=S, event_id=0)
    value = getval(x, 3)
    expands(x, 1.0)
    """
    for seed in SEEDS:
        simulate(program(vector=text, source=ROWS), {"source": data(1)}, seed=seed)


def test_bar_all_orders_everything():
    text = """
    x = tile(Vec, [8, 8], DT_FP32, 0)
    load(x, source, [0, 0])
    bar_all()
    value = getval(x, 3)
    setval(x, 0, value)
    bar_all()
    adds(x, x, 1.0)
    bar_all()
    store(target, x, [0, 0])
    """
    for seed in SEEDS:
        source, target = data(1), data(1, 1)
        simulate(program(vector=text, source=ROWS, target=ROWS), {"source": source, "target": target}, seed=seed)
        assert target[0, 0] == source[0, 3] + np.float32(1) and target[1, 1] == source[1, 1] + np.float32(1)


# -- races between cores ------------------------------------------------------------------------------------------------------

CUBE = """
halves = group(Vec, [32, 64], DT_FP32, [0, 8192])
left = tile(Left, [64, 64], DT_FP32, 0)
right = tile(Right, [64, 64], DT_FP32, 0)
acc = tile(Acc, [64, 64], DT_FP32, 0)
a_tile = tile(Mat, [64, 64], DT_FP32, 0)
for i in range(0, n):
    load(a_tile, a, [i * 64, 0])
    bar_all()
    move(left, a_tile)
    move(right, a_tile)
    bar_all()
    matmul(acc, left, right)
    bar_all()
    half = halves.next()
    {back}
    move(half, acc, acc_to_vec_mode=DualModeSplitM)
    set_cross_core(pipe=FIX, event_id=i % 2)
    bar_all()
{drain}
"""
VECTOR = """
halves = group(Vec, [32, 64], DT_FP32, [0, 8192])
{prime}
for i in range(0, n):
    {forward}
    half = halves.next()
    store(out, half, [i * 64 + subblock_idx() * 32, 0])
    {release}
"""
BACK = {
    "back": "wait_cross_core(pipe=FIX, event_id=2 + i % 2)",
    "drain": "wait_cross_core(pipe=FIX, event_id=2)\nwait_cross_core(pipe=FIX, event_id=3)",
    "prime": "set_cross_core(pipe=MTE3, event_id=2)\nset_cross_core(pipe=MTE3, event_id=3)",
    "forward": "wait_cross_core(pipe=MTE3, event_id=i % 2)",
    "release": "set_cross_core(pipe=MTE3, event_id=2 + i % 2)",
}


def squaring(**changes):
    parts = {**BACK, **changes}
    return program(CUBE.format(**parts), VECTOR.format(**parts), a=ROWS, out=ROWS, n=scalar())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_cube_and_vector_cores_hand_over(turns, seed):
    a, out = data(5), data(5, 1)
    simulate(squaring(), {"a": a, "out": out, "n": turns}, seed=seed)
    blocks = a.reshape(5, 64, 64)[:turns]
    assert np.allclose(out.reshape(5, 64, 64)[:turns], blocks @ blocks, atol=1e-4)


def test_only_forward_ids_let_the_producer_overtake(golden):  # FC-127
    built = squaring(back="pass", drain="pass", prime="pass", release="pass")
    simulate(built, {"a": data(2), "out": data(2), "n": 2})  # two slots are enough for two turns
    golden("sim_forward_only", caught(errors.DataRace, built, {"a": data(4), "out": data(4), "n": 4}))


def test_a_missing_wait_between_cores(golden):
    built = squaring(forward="pass")
    golden("sim_missing_wait", caught((errors.DataRace, errors.UnpairedSync), built, {"a": data(3), "out": data(3), "n": 3}))


def test_two_vector_cores_write_interleaved_parts_of_one_tile():
    cube = """
    joined = tile(Mat, [64, 64], DT_FP32, 0)
    left = tile(Left, [64, 64], DT_FP32, 0)
    wait_cross_core(pipe=MTE1, event_id=0)
    move(left, joined)
    """
    vector = """
    joined = tile(Mat, [64, 64], DT_FP32, 0)
    plain = tile(Vec, [32, 64], DT_FP32, 0)
    part = tile(Vec, [32, 64], DT_FP32, 8192, layout=NZ)
    load(plain, source, [subblock_idx() * 32, 0])
    bar_all()
    move(part, plain)
    bar_all()
    insert(joined, part, [subblock_idx() * {step}, 0])
    set_cross_core(pipe=MTE3, event_id=0)
    """
    for seed in SEEDS:
        simulate(program(cube, vector.format(step=32), source=ROWS), {"source": data(1)}, seed=seed)
    overlapping = program(cube, vector.format(step=16), source=ROWS)
    assert "write after write" in caught(errors.DataRace, overlapping, {"source": data(1)})


# -- global memory ------------------------------------------------------------------------------------------------------------

SHARE = """
x = tile(Vec, [64, 64], DT_FP32, 0)
load(x, source, [block_idx() * 64, 0])
sync_src(set_pipe=MTE2, wait_pipe=MTE3, event_id=0)
sync_dst(set_pipe=MTE2, wait_pipe=MTE3, event_id=0)
store(target, x, [{row}, 0]{atomic})
"""


def sharing(row, atomic=""):
    return program(vector=SHARE.format(row=row, atomic=atomic), source=ROWS, target=ROWS)


def test_blocks_write_parts_of_their_own():
    source, target = data(24), data(24, 1)
    simulate(sharing("block_idx() * 64"), {"source": source, "target": target}, block_dim=24)
    assert np.array_equal(source, target)


def test_blocks_that_write_the_same_place(golden):
    arguments = {"source": data(4), "target": data(4)}
    golden("sim_blocks", caught(errors.DataRace, sharing("block_idx() * 32"), arguments, block_dim=4))


def test_blocks_that_read_what_another_writes():
    arguments = {"source": data(4), "target": data(4)}
    with pytest.raises(errors.DataRace, match="write after read|read after write"):
        shared = arguments["source"]
        simulate(sharing("(block_idx() + 1) % 4 * 64"), {"source": shared, "target": shared}, block_dim=4)


def test_atomic_additions_do_not_race():
    source, target = np.ones((256, 64), np.float32), np.zeros((64, 64), np.float32)
    simulate(sharing("0", ", atomic=AtomicAdd"), {"source": source, "target": target}, block_dim=4)
    assert (target == 4).all()


# -- undefined bytes and bounds -----------------------------------------------------------------------------------------------


def test_bytes_that_nothing_wrote(golden):
    text = """
    x = tile(Vec, [64, 64], DT_FP32, 0)
    y = tile(Vec, [64, 64], DT_FP32, 16384)
    set_validshape(x, [40, 64])
    load(x, source, [0, 0])
    set_validshape(x, [64, 64])
    bar_all()
    adds(y, x, 1.0)
    """
    golden("sim_undefined", caught(errors.UndefinedRead, program(vector=text, source=ROWS), {"source": data(1)}))


def test_a_window_outside_of_its_memory(golden):
    text = """
    x = tile(Vec, [64, 64], DT_FP32, 0)
    load(x, source, [n * 64, 0])
    """
    built = program(vector=text, source=ROWS, n=scalar())
    for switches in ({}, {"check": False}, {"check": False, "timing": False}):
        with pytest.raises(IndexError) as error:
            simulate(built, {"source": data(2), "n": 2}, **switches)
    golden("sim_window_outside", str(error.value) + "\n")


def test_a_pointer_view_outside_of_its_memory():
    built = program(vector="x = tile(Vec, [64, 64], DT_FP32, 0)\nload(x, view, [0, 0])\n", base=pointer(), view=tensor([64, 64]))
    from dataclasses import replace

    from pypto.cores import program as p

    declared = p.DeclareTensor(
        "view", p.Name("base"), built.parameters[1].type.dtype, (p.Constant(64), p.Constant(64)), None, p.Constant(64)
    )
    vector = replace(built.vector, body=(declared, *built.vector.body))
    built = replace(built, parameters=built.parameters[:1], vector=vector)
    simulate(built, {"base": np.zeros(64 * 65, np.float32)})
    with pytest.raises(errors.WindowOutsideMemory):
        simulate(built, {"base": np.zeros(64 * 64, np.float32)})


# -- flags, counters, tokens --------------------------------------------------------------------------------------------------


def test_a_flag_that_is_set_twice(golden):  # FC-131
    text = """
    sync_src(set_pipe=MTE2, wait_pipe=V, event_id=3)
    sync_src(set_pipe=MTE2, wait_pipe=V, event_id=3)
    sync_dst(set_pipe=MTE2, wait_pipe=V, event_id=3)
    sync_dst(set_pipe=MTE2, wait_pipe=V, event_id=3)
    """
    golden("sim_set_twice", caught(errors.FlagSetTwice, program(vector=text), {}))


def test_a_set_in_one_arm_only(golden):  # FC-131
    text = """
    for i in range(0, 2):
        if i == 0:
            sync_src(set_pipe=MTE2, wait_pipe=V, event_id=1)
        sync_dst(set_pipe=MTE2, wait_pipe=V, event_id=1)
    """
    golden("sim_one_arm", caught(errors.Deadlock, program(vector=text), {}))


def test_a_set_without_wait(golden):  # FC-131
    text = """
    for i in range(0, 2):
        sync_src(set_pipe=V, wait_pipe=MTE3, event_id=i)
    """
    golden("sim_set_without_wait", caught(errors.UnpairedSync, program(vector=text), {}))


def test_a_wait_without_set(golden):  # FC-131
    golden(
        "sim_wait_without_set",
        caught(errors.Deadlock, program(vector="sync_dst(set_pipe=V, wait_pipe=MTE3, event_id=2)"), {}),
    )


def test_too_many_outstanding_sets(golden):
    cube = "for i in range(0, n):\n    set_cross_core(pipe=FIX, event_id=1)\n"
    vector = "for i in range(0, n):\n    wait_cross_core(pipe=V, event_id=1)\n"
    built = program(cube, vector, n=scalar())
    simulate(built, {"n": 15})
    golden("sim_too_many_sets", caught(errors.TooManySets, built, {"n": 16}))


def test_a_token_that_is_not_given_back(golden):
    text = """
    x = tile(Vec, [8, 8], DT_FP32, 0, ids=[5])
    mutex_lock(x, pipe=V)
    expands(x, 1.0)
    """
    golden("sim_token_held", caught(errors.UnpairedSync, program(vector=text), {}))


def test_a_token_that_is_not_held(golden):
    text = """
    x = tile(Vec, [8, 8], DT_FP32, 0, ids=[5])
    mutex_unlock(x, pipe=V)
    """
    golden("sim_token_not_held", caught(errors.UnlockNotHeld, program(vector=text), {}))


def test_event_ids_that_do_not_exist():
    text = "set_cross_core(pipe=V, event_id=n)"
    with pytest.raises(errors.EventRange, match=r"\[0, 16\), got 16"):
        simulate(program(vector=text, n=scalar()), {"n": 16})


# -- deadlocks ----------------------------------------------------------------------------------------------------------------


def test_two_cores_wait_for_each_other(golden):  # FC-132
    cube = """
    for i in range(0, 3):
        wait_cross_core(pipe=MTE1, event_id=1)
        set_cross_core(pipe=MTE1, event_id=0)
    """
    vector = """
    for i in range(0, 3):
        wait_cross_core(pipe=V, event_id=0)
        set_cross_core(pipe=V, event_id=1)
    """
    golden("sim_circle", caught(errors.Deadlock, program(cube, vector), {}))


def test_a_token_taken_twice(golden):
    text = """
    x = tile(Vec, [8, 8], DT_FP32, 0, ids=[5])
    mutex_lock(x, pipe=MTE2)
    mutex_lock(x, pipe=MTE2)
    """
    golden("sim_token_taken_twice", caught(errors.Deadlock, program(vector=text), {}))


def test_a_barrier_that_one_core_misses(golden):
    text = """
    if block_idx() == 0:
        sync_all(core_type=AIV_ONLY)
    """
    golden("sim_missed_barrier", caught(errors.Deadlock, program(vector=text), {}, block_dim=2))


def test_deadlocks_are_found_without_checks():
    built = program(vector="sync_dst(set_pipe=V, wait_pipe=MTE3, event_id=2)")
    with pytest.raises(errors.Deadlock):
        simulate(built, {}, check=False, timing=False)


def test_a_loop_that_never_ends(monkeypatch):
    monkeypatch.setattr(units, "MOST_TURNS", 1000)
    text = "s = struct(word=0)\nwhile True:\n    s.word = s.word + 1\n    ssbuf_store(s, 0)\n    ssbuf_load(s, 0)\n"
    for seed in SEEDS:
        with pytest.raises(errors.EndlessLoop, match="AIV0 turns for ever: 1000 times") as error:
            simulate(program(vector=text), {}, seed=seed)
        assert "vector.py:2" in str(error.value)


def test_a_loop_that_polls_ends_when_another_core_writes():
    cube = "struct_on_cube = struct(word=7)\nssbuf_store(struct_on_cube, 0)\n"
    vector = "s = struct(word=0)\nwhile True:\n    ssbuf_load(s, 0)\n    if s.word == 7:\n        break\n"
    simulate(program(cube, vector), {}, check=False)
    with pytest.raises(errors.DataRace):  # right by luck of the machine only
        simulate(program(cube, vector), {})


# -- many findings ------------------------------------------------------------------------------------------------------------


def test_findings_are_collected():
    found = simulate(
        adding(loaded="pass", used="pass", prime="pass", free="pass", stored="pass", done="pass", finish="pass"),
        {"source": data(2), "target": data(2), "n": 2},
        check="collect",
    ).findings
    assert len({str(one) for one in found}) == len(found) >= 3
    assert all(isinstance(one, errors.DataRace) for one in found)
