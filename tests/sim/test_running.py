"""What runs: the scalar unit, blocks, barriers, phases, descriptors, output, and the laws of time."""

import textwrap
from dataclasses import replace

import numpy as np
import pytest
from small_language import program, scalar, tensor

from pypto.chips import chip
from pypto.cores import program as p
from pypto.cores.types import Pointer, Struct
from pypto.dtypes import DataType
from pypto.errors import simulation as errors
from pypto.errors.base import UserError
from pypto.sim import simulate

SEEDS = (None, 0, 1, 2)
ROWS = tensor(["rows", 64])
FAST = ({}, {"timing": False}, {"check": False}, {"check": False, "timing": False}, {"seed": 3})


def data(blocks, seed=0):
    return np.random.default_rng(seed).standard_normal((64 * blocks, 64)).astype(np.float32)


# -- the scalar unit ----------------------------------------------------------------------------------------------------------


def test_loops_branches_and_early_ends():
    text = """
    for i in range(10, 0, -3):
        if i % 2 == 0:
            printf("even %d ", i)
        else:
            printf("odd %d ", i)
    k = 0
    while True:
        k = k + 1
        if k > 3:
            break
    printf("k=%d\\n", k)
    return
    printf("never\\n")
    """
    for switches in FAST:
        assert simulate(program(vector=text), {}, **switches).printed == "even 10 odd 7 even 4 odd 1 k=4\n"


@pytest.mark.parametrize(
    "text, kind, message",
    [
        ("x = n // (n - n)", errors.ScalarDivision, "integer division by zero"),
        ("for i in range(0, 4, n - n):\n    pass", errors.LoopStep, "the step of a loop is 0"),
        (
            "g = group(Vec, [8, 8], DT_FP32, [0, 256])\nx = g[n]",
            errors.GroupIndex,
            "index 3 is out of range for the 2-tile group 'g'",
        ),
    ],
)
def test_mistakes_of_the_scalar_unit_have_a_place(text, kind, message):
    with pytest.raises(kind) as error:
        simulate(program(vector=text, n=scalar()), {"n": 3})
    assert message in str(error.value) and "vector.py:" in str(error.value) and "scalar unit of AIV0" in str(error.value)


def test_tiles_are_chosen_and_renamed():
    text = """
    a = tile(Vec, [64, 64], DT_FP32, 0)
    b = tile(Vec, [64, 64], DT_FP32, 16384)
    for i in range(0, 2):
        c = choose(i == 0, a, b)
        load(c, source, [i * 64, 0])
    bar_all()
    add(a, a, b)
    bar_all()
    store(target, a, [0, 0])
    """
    source, target = data(2), data(1, 1)
    built = program(vector=text, source=ROWS, target=ROWS)
    simulate(built, {"source": source, "target": target})
    assert np.array_equal(target, source[:64] + source[64:])


def test_rings_turn():
    text = """
    ring = group(Vec, [8, 8], DT_FP32, [0, 256, 512])
    x = ring.current()
    setval(x, 0, 2.0)
    x = ring.next()
    setval(x, 0, 0.0)
    x = ring.next()
    setval(x, 0, 1.0)
    y = ring.previous()
    v = getval(y, 0)
    w = getval(ring[2], 0)
    u = getval(x, 0)
    printf("%f %f %f", v, w, u)
    """
    assert simulate(program(vector=text), {}).printed == "0.000000 2.000000 1.000000"


def test_windows_share_bytes():
    text = """
    x = tile(Vec, [64, 64], DT_FP32, 0)
    load(x, source, [0, 0])
    bar_all()
    part = x[16:32, 8:40]
    adds(part, part, 1.0)
    bar_all()
    store(target, x, [0, 0])
    """
    source, target = data(1), data(1, 1)
    expected = source.copy()
    expected[16:32, 8:40] += 1
    simulate(program(vector=text, source=ROWS, target=ROWS), {"source": source, "target": target})
    assert np.array_equal(target, expected)


def test_records():
    text = """
    s = struct(count=3, other=4)
    s.count = s.count + n
    printf("%d %d", s.count, s.other)
    """
    assert simulate(program(vector=text, n=scalar()), {"n": 5}).printed == "8 4"


def test_records_cross_the_scalar_buffer():
    vector = """
    s = struct(first=11, second=n)
    if subblock_idx() == 0:
        ssbuf_store(s, 16)
    set_cross_core(pipe=S, event_id=3)
    """
    cube = """
    s = struct(first=0, second=0)
    wait_cross_core(pipe=S, event_id=3)
    ssbuf_load(s, 16)
    printf("%d %d", s.first, s.second)
    """
    for seed in SEEDS:
        assert simulate(program(cube, vector, n=scalar()), {"n": -7}, seed=seed).printed == "11 -7"


def test_arguments_that_do_not_fit():
    built = program(vector="x = 1", source=ROWS, n=scalar())
    with pytest.raises(errors.ArgumentMissing, match="'n'"):
        simulate(built, {"source": data(1)})
    with pytest.raises(errors.ArgumentKind, match="must be a number, got str"):
        simulate(built, {"source": data(1), "n": "3"})
    with pytest.raises(errors.ArgumentKind, match="an array of fp32"):
        simulate(built, {"source": data(1).astype(np.float16), "n": 3})
    with pytest.raises(errors.BlockCount):
        simulate(built, {"source": data(1), "n": 3}, block_dim=0)


def test_structs_and_pointers_and_none_as_arguments():
    kind = Struct("Tiling", (("rows", DataType.DT_INT32, None), ("sizes", DataType.DT_INT32, 2)))
    text = """
    printf("%d ", tiling.rows)
    """
    built = program(vector=text, tiling=kind, base=Pointer(DataType.DT_FP32), source=ROWS)
    null = p.Operation("is_null", (p.Name("source"),), DataType.DT_BOOL)
    shown = p.Instruction("printf", built.vector.body[0].pipe, ("%d %d %d", null, p.Extent(p.Name("source"), 0), p.Name("rows")))
    built = replace(built, vector=replace(built.vector, body=(*built.vector.body, shown)))
    run = simulate(built, {"tiling": {"rows": 5, "sizes": [1, 2]}, "base": None, "source": None})
    assert run.printed == "5 1 0 0"


def test_tensors_that_cannot_be_accessed():
    built = program(vector="x = tile(Vec, [64, 64], DT_FP32, 0)\nload(x, source, [0, 0])\n", source=ROWS)
    with pytest.raises(errors.NullAccess, match="'source' is None"):
        simulate(built, {"source": None})
    text = "x = tile(Vec, [64, 64], DT_FP32, 0)\nexpands(x, 1.0)\nbar_all()\nstore(target, x, [0, 0])\n"
    frozen = data(1)
    frozen.flags.writeable = False
    with pytest.raises(errors.ReadOnlyTensor, match="'target' is written"):
        simulate(program(vector=text, target=ROWS), {"target": frozen})
    rows = np.zeros((64, 128), np.float32)
    simulate(program(vector=text, target=ROWS), {"target": rows[:, ::2]})
    assert (rows[:, ::2] == 1).all() and not rows[:, 1::2].any()


# -- descriptors --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_waiting_call_keeps_the_extents_it_was_issued_with(seed):
    text = """
    x = tile(Vec, [64, 64], DT_FP32, 0)
    y = tile(Vec, [64, 64], DT_FP32, 16384)
    load(x, source, [0, 0])
    sync_dst(set_pipe=MTE2, wait_pipe=V, event_id=0)
    set_validshape(y, [8, 64])
    adds(y, x, 1.0)
    set_validshape(y, [64, 64])
    sync_src(set_pipe=MTE2, wait_pipe=V, event_id=0)
    bar_all()
    set_validshape(y, [8, 64])
    store(target, y, [0, 0])
    """
    source, target = data(1), np.zeros((64, 64), np.float32)
    simulate(program(vector=text, source=ROWS, target=ROWS), {"source": source, "target": target}, seed=seed)
    assert np.array_equal(target[:8], source[:8] + 1) and not target[8:].any()


@pytest.mark.parametrize("seed", SEEDS)
def test_strides_change_for_later_transfers_only(seed):
    text = """
    x = tile(Vec, [32, 64], DT_FP32, 0)
    load(x, source, [0, 0])
    sync_src(set_pipe=MTE2, wait_pipe=MTE3, event_id=0)
    sync_dst(set_pipe=MTE2, wait_pipe=MTE3, event_id=0)
    store(target, x, [0, 0])
    set_stride(target, [128, 1])
    store(target, x, [0, 0])
    """
    source, target = data(1), np.zeros((64, 64), np.float32)
    simulate(program(vector=text, source=ROWS, target=ROWS), {"source": source, "target": target}, seed=seed)
    assert np.array_equal(target[0:64:2][:16], source[:32][:16])
    assert np.array_equal(target[2], source[1]) and np.array_equal(target[1], source[1])


# -- blocks -------------------------------------------------------------------------------------------------------------------

COPY = """
x = tile(Vec, [64, 64], DT_FP32, 0)
load(x, source, [block_idx() * 64, 0])
sync_src(set_pipe=MTE2, wait_pipe=MTE3, event_id=0)
sync_dst(set_pipe=MTE2, wait_pipe=MTE3, event_id=0)
store(target, x, [block_idx() * 64, 0])
{meet}
"""


def test_blocks_run_side_by_side_and_in_waves():
    built = program(vector=COPY.format(meet="pass"), source=ROWS, target=ROWS)
    cycles = {}
    for blocks in (1, 48, 49, 96):
        source, target = data(blocks), data(blocks, 1)
        cycles[blocks] = simulate(built, {"source": source, "target": target}, block_dim=blocks).cycles
        assert np.array_equal(source, target)
    assert cycles[1] == cycles[48]  # one block on each of 48 vector cores
    assert cycles[49] == cycles[96] == pytest.approx(2 * cycles[1])


def test_block_numbers():
    cube = 'printf("c%d/%d ", block_idx(), block_num())'
    vector = 'printf("v%d:%d/%d ", block_idx(), subblock_idx(), block_num())'
    printed = simulate(program(cube, vector), {}, block_dim=2).printed
    assert sorted(printed.split()) == ["c0/2", "c1/2", "v0:0/2", "v1:1/2", "v2:0/2", "v3:1/2"]
    assert simulate(program(vector=vector), {}, block_dim=2).printed == "v0:0/2 v1:0/2 "


@pytest.mark.parametrize("seed", SEEDS)
def test_all_blocks_meet(seed):
    text = COPY.format(meet="sync_all(core_type=AIV_ONLY)") + "load(x, target, [(block_idx() + 1) % block_num() * 64, 0])\n"
    text += "bar_all()\nadds(x, x, 1.0)\nbar_all()\nstore(second, x, [block_idx() * 64, 0])\n"
    built = program(vector=text, source=ROWS, target=ROWS, second=ROWS)
    source, target, second = data(4), data(4, 1), data(4, 2)
    simulate(built, {"source": source, "target": target, "second": second}, block_dim=4, seed=seed)
    assert np.array_equal(second, np.roll(source, -64, 0) + 1)
    racing = program(vector=text.replace("sync_all(core_type=AIV_ONLY)", "pass"), source=ROWS, target=ROWS, second=ROWS)
    with pytest.raises(errors.DataRace):
        simulate(racing, {"source": source, "target": target, "second": second}, block_dim=4, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_events_between_blocks_order_blocks(seed):
    text = COPY.format(meet="set_cross_core(pipe=MTE3, event_id=0, sync_mode=INTER_BLOCK)")
    text += "wait_cross_core(pipe=MTE2, event_id=0, sync_mode=INTER_BLOCK)\n"
    text += "y = tile(Vec, [64, 64], DT_FP32, 16384)\nload(y, target, [(block_idx() + 1) % block_num() * 64, 0])\n"
    source, target = data(3), data(3, 1)
    built = program(vector=text, source=ROWS, target=ROWS)
    simulate(built, {"source": source, "target": target}, block_dim=3, seed=seed)
    assert np.array_equal(source, target)


def test_more_blocks_than_cores_cannot_meet():
    built = program(vector="sync_all(core_type=AIV_ONLY)")
    simulate(built, {}, block_dim=48)
    with pytest.raises(errors.TooManyBlocks, match="49 blocks meet"):
        simulate(built, {}, block_dim=49)


@pytest.mark.parametrize("mode, lanes", [("INTRA_BLOCK", 2), ("UNICAST_BLOCK", 1)])
def test_lanes_of_cross_core_events(mode, lanes):
    """A cube core takes one token from each vector core, or from one lane only."""
    cube = f"wait_cross_core(pipe=MTE1, event_id=4, sync_mode={mode})"
    vector = f"if subblock_idx() == 0:\n    set_cross_core(pipe=V, event_id=4, sync_mode={mode})\n"
    if lanes == 1:
        simulate(program(cube, vector), {})
    else:
        with pytest.raises(errors.Deadlock, match="event 4 from AIV1 to AIC"):
            simulate(program(cube, vector), {})


def test_a_set_for_one_lane():
    cube = "set_cross_core(pipe=FIX, event_id=n, sync_mode=UNICAST_BLOCK)"
    vector = "if subblock_idx() == {lane}:\n    wait_cross_core(pipe=V, event_id=2)\n"
    simulate(program(cube, vector.format(lane=0), n=scalar()), {"n": 2})
    simulate(program(cube, vector.format(lane=1), n=scalar()), {"n": 18})
    with pytest.raises(errors.Deadlock):
        simulate(program(cube, vector.format(lane=1), n=scalar()), {"n": 2})


def test_vector_cores_meet_each_other():
    vector = """
    set_cross_core(pipe=V, event_id=1, sync_mode=INTER_SUBBLOCK)
    wait_cross_core(pipe=MTE3, event_id=1, sync_mode=INTER_SUBBLOCK)
    """
    simulate(program("x = 1", vector), {})


# -- phases -------------------------------------------------------------------------------------------------------------------

PHASES = """
left = tile(Left, [16, 16], DT_FP32, 0)
right = tile(Right, [16, 16], DT_FP32, 0)
flat = tile(Mat, [16, 16], DT_FP32, 0)
acc = tile(Acc, [16, 16], DT_FP32, 0)
load(flat, source, [0, 0])
bar_all()
move(left, flat)
move(right, flat)
bar_all()
for i in range(0, 3):
    matmul(acc, left, right, phase={first})
    matmul_acc(acc, acc, left, right, phase={second})
    store(target, acc, [i * 16, 0], phase={stored})
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_unit_flags_order_cube_and_fixpipe(seed):
    text = PHASES.format(first="AccPartial", second="AccFinal", stored="StoreFinal")
    built = program(text, source=tensor([16, 16]), target=tensor([48, 16]))
    source, target = data(1)[:16, :16].copy(), np.zeros((48, 16), np.float32)
    simulate(built, {"source": source, "target": target}, seed=seed)
    assert np.allclose(target, np.tile(2 * source @ source, (3, 1)), atol=1e-4)


@pytest.mark.parametrize(
    "phases, kind, message",
    [
        (
            ("AccPartial", "AccPartial", "StoreFinal"),
            errors.Deadlock,
            r"FIX of AIC.*\(a product with AccPhase.Final\), and nothing gives",
        ),
        (("AccFinal", "AccFinal", "StoreFinal"), errors.Deadlock, "M of AIC"),
        (
            ("AccPartial", "AccFinal", "StorePartial"),
            errors.Deadlock,
            r"M of AIC.*\(a store with STPhase.Final\), and nothing gives",
        ),
        (("AccPartial", "AccFinal", "StoreUnspecified"), errors.DataRace, "nothing orders"),
    ],
)
def test_phases_that_do_not_match(phases, kind, message):
    first, second, stored = phases
    text = PHASES.format(first=first, second=second, stored=stored).replace(", phase=StoreUnspecified", "")
    built = program(text, source=tensor([16, 16]), target=tensor([48, 16]))
    for seed in SEEDS:
        with pytest.raises(kind, match=message):
            simulate(built, {"source": data(1)[:16, :16].copy(), "target": np.zeros((48, 16), np.float32)}, seed=seed)


def test_a_product_that_nobody_takes():
    text = PHASES.format(first="AccPartial", second="AccFinal", stored="StoreFinal").replace("range(0, 3)", "range(0, 1)")
    text = "\n".join(line for line in text.splitlines() if "store(" not in line)
    built = program(text, source=tensor([16, 16]), target=tensor([48, 16]))
    with pytest.raises(errors.UnpairedSync, match="product at 0x0 of L0C of AIC was not taken"):
        simulate(built, {"source": data(1)[:16, :16].copy(), "target": np.zeros((48, 16), np.float32)})


# -- output -------------------------------------------------------------------------------------------------------------------


def test_a_failing_assertion_stops_there():  # FC-144
    text = """
    for i in range(0, 5):
        pto_assert(i + block_idx() < 5, "sum is %d", i + block_idx())
    """
    built = program(vector=text)
    with pytest.raises(AssertionError) as error:
        simulate(built, {}, block_dim=3)
    shown = str(error.value)
    assert "sum is 5" in shown and "S of AIV0 of block 1, i=4" in shown and "vector.py:2" in shown
    assert "sum is 5" in error.value.simulation.printed
    assert simulate(built, {}, block_dim=3, assertions="continue").printed.count("Assertion failed") == 3


def test_a_trap_ends_its_core():
    text = 'if block_idx() == 1:\n    trap()\nprintf("%d ", block_idx())\n'
    assert simulate(program(vector=text), {}, block_dim=3).printed.splitlines() == ["0 trap on S of AIV0 of block 1", "2 "]


def test_breakpoints_see_the_kernel():
    class Observer:
        seen = []

        def breakpoint(self, call, names):
            self.seen.append((call.iteration, names["i"], names["x"].read()[0, 0]))

    text = """
    x = tile(Vec, [8, 8], DT_FP32, 0)
    for i in range(0, 3):
        expands(x, 1.0)
        bar_all()
    """
    built = program(vector=text)
    body = built.vector.body
    stop = p.Instruction("breakpoint", body[1].body[0].pipe)
    loop = replace(body[1], body=(*body[1].body, stop))
    simulate(replace(built, vector=replace(built.vector, body=(body[0], loop))), {}, observer=Observer())
    assert Observer.seen == [((0,), 0, 1.0), ((1,), 1, 1.0), ((2,), 2, 1.0)]


def test_an_observer_hears_prints_at_once():
    class Observer:
        heard = []

        def printed(self, text):
            self.heard.append(text)

    simulate(program(vector='for i in range(0, 2):\n    printf("%d", i)\n'), {}, observer=Observer())
    assert Observer.heard == ["0", "1"]


# -- time ---------------------------------------------------------------------------------------------------------------------


def loads(count):
    text = f"ring = group(Vec, [64, 64], DT_FP32, {[16384 * slot for slot in range(count)]})\n"
    text += "".join(f"load(ring[{slot}], source, [{slot * 64}, 0])\n" for slot in range(count))
    return program(vector=text, source=ROWS)


def test_the_latency_of_global_memory_is_paid_once():
    rate = chip().rate("COPY_IN")
    one = rate.cycles(64 * 64 * 4, first=True)
    for count in (1, 2, 8):
        cycles = simulate(loads(count), {"source": data(count)}).cycles
        assert cycles == pytest.approx(chip().cycles["issue"] + rate.latency + count * one)


def test_bytes_that_were_read_before_are_nearer():
    text = "x = tile(Vec, [64, 64], DT_FP32, 0)\nload(x, source, [0, 0])\nbar_mte2()\nload(x, source, [0, 0])\n"
    trace = simulate(program(vector=text, source=ROWS), {"source": data(1)}).trace
    first, second = (event.end - event.start for event in trace)
    rate = chip().rate("COPY_IN")
    assert (first, second) == (pytest.approx(rate.cycles(16384, first=True)), pytest.approx(rate.cycles(16384)))


def test_time_does_not_depend_on_checks():
    built, arguments = loads(4), {"source": data(4)}
    assert simulate(built, arguments).cycles == simulate(built, arguments, check=False).cycles > 0
    fast = simulate(built, arguments, timing=False)
    assert fast.cycles == 0 and fast.trace == [] and fast.waits == []


def test_the_trace_tells_what_waited_for_what():
    text = COPY.format(meet="pass")
    run = simulate(program(vector=text, source=ROWS, target=ROWS), {"source": data(1), "target": data(1)})
    operations = [(event.operation, event.core, event.pipe, event.line) for event in run.trace]
    assert operations == [("load", "AIV0", "MTE2", 2), ("store", "AIV0", "MTE3", 5)]
    waits = [gap for gap in run.waits if gap.pipe == "MTE3"]
    assert [(gap.reason, gap.line, gap.end) for gap in waits] == [("sync_src of MTE2 of AIV0", 3, run.trace[0].end)]
    assert run.microseconds == pytest.approx(run.cycles / 1850) and 0 < run.utilisation["AIV0", "MTE2"] < 1


def test_what_has_no_price_is_named():
    without = replace(chip(), rates={name: rate for name, rate in chip().rates.items() if name == "default"})
    run = simulate(loads(2), {"source": data(2)}, chip=without)
    assert run.cycles > 0 and len(run.unpriced) == 1


def test_a_full_queue_holds_the_scalar_unit():
    text = """
    x = tile(Vec, [64, 64], DT_FP32, 0)
    for i in range(0, n):
        expands(x, 0.0)
    setval(y, 0, 1.0)
    """
    built = program(vector="y = tile(Vec, [8, 8], DT_FP32, 65536)\n" + textwrap.dedent(text), n=scalar())
    for depth in (4, 16):
        trace = simulate(built, {"n": 40}, chip=replace(chip(), queue_depth=depth)).trace
        behind = next(event.start for event in trace if event.operation == "setval")
        assert sum(event.start <= behind for event in trace if event.operation == "expands") == 40 - depth


def test_memories_that_are_too_small(golden):  # FC-141
    text = "a = tile(Vec, [8, 64], DT_FP32, 0)\nring = group(Vec, [64, 64], DT_FP32, [2048, 237600])\n"
    with pytest.raises(errors.TileOutsideMemory) as error:
        simulate(program(vector=text), {})
    golden("sim_capacity", str(error.value) + "\n")
    simulate(program(vector=text), {}, permissive=True)


def test_addresses_and_spaces_that_a_chip_refuses():
    with pytest.raises(errors.TileMisaligned, match="starts at 0x100; L0A needs multiples of 512"):
        simulate(program("x = tile(Left, [16, 16], DT_FP32, 256)"), {})
    with pytest.raises(errors.SpaceNotOnChip, match="ScaleLeft memory, which the chip 910B"):
        simulate(program("x = tile(ScaleLeft, [16, 16], DT_FP8E8M0, 256)", chip="910B"), {})


def test_errors_are_user_errors_that_carry_the_run():
    with pytest.raises(UserError) as error:
        simulate(program(vector='printf("so far")\nsync_dst(set_pipe=V, wait_pipe=MTE3, event_id=2)'), {})
    assert error.value.simulation.printed == "so far"
