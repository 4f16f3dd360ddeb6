"""What a kernel is recorded as: the statements, their nesting, what is carried, where storages stand."""

import re

import pytest

import pypto
from pypto.diagnostics import PyptoWarning
from pypto.errors import frontend as errors
from pypto.frontend.entry import ScalarArgument, TensorArgument, named_dimension, trace, trace_kernel
from pypto.ir.program import If, Loop, Op, Storage, walk
from pypto.ir.rules import verify
from pypto.ir.text import program_text

SMALL = TensorArgument(pypto.DT_FP32, (4, 8))
ROW = TensorArgument(pypto.DT_FP32, (1, 8))
TABLE = TensorArgument(pypto.DT_INT32, (16,))
NUMBER = ScalarArgument("int")


def traced(function, **arguments):
    """The program of ``function``, checked against the rules of the program form."""
    program = trace(function, arguments)
    verify(program)
    return program


def names(block):
    return [s.name if isinstance(s, Op) else type(s).__name__ for s in block.statements]


def only(program, kind):
    (found,) = [s for s in walk(program.body) if isinstance(s, kind)]
    return found


def test_straight_line_code():
    def kernel(x, out):
        out[:] = x * x + 1.0

    program = traced(kernel, x=SMALL, out=SMALL)
    assert names(program.body) == ["load", "mul", "add", "store"]
    assert [p.name for p in program.parameters] == ["x", "out"]


def test_statements_know_their_place_and_callers():
    def helper(v):
        return v + 1.0

    def kernel(x, out):
        out[:] = helper(x)

    add = [s for s in traced(kernel, x=SMALL, out=SMALL).body.statements if s.name == "add"][0]
    assert add.span.text.strip() == "return v + 1.0"
    assert [c.text.strip() for c in add.span.callers] == ["out[:] = helper(x)"]


def test_a_loop_carries_what_an_iteration_reads():
    def kernel(x, out):
        acc = pypto.zeros(1, 8)
        for i in pypto.loop(4):
            row = x[i : i + 1, :]
            acc = acc + row
        out[:] = acc * 1.0
        out[0:1, :] = acc

    loop = only(traced(kernel, x=SMALL, out=ROW), Loop)
    assert [c.argument.hint for c in loop.carried] == ["acc"]
    assert names(loop.body) == ["load", "add"]


def test_a_counter_that_is_used_is_carried():
    def kernel(log):
        count = 0
        for i in pypto.loop(4):
            count = count + i
        log[0] = count

    loop = only(traced(kernel, log=TABLE), Loop)
    assert [c.argument.name for c in loop.carried] == ["count"]


def test_storages_need_no_carrying():
    def kernel(x, out):
        t = pypto.tensor([1, 8], pypto.DT_FP32, "t")
        t[:] = pypto.zeros(1, 8)
        for i in pypto.loop(4):
            t[:] = t + x[i : i + 1, :]
        out[:] = t

    assert only(traced(kernel, x=SMALL, out=ROW), Loop).carried == ()


def test_a_value_written_in_place_becomes_a_local_before_the_loop():
    def kernel(x, out):
        acc = pypto.zeros(1, 8)
        for i in pypto.loop(4):
            acc[:, 0:8] = acc + x[i : i + 1, :]
        out[:] = acc

    program = traced(kernel, x=SMALL, out=ROW)
    assert names(program.body) == ["full", "allocate", "store", "Loop", "load", "store"]
    assert names(only(program, Loop).body) == ["load", "load", "add", "store"]


def test_a_value_first_written_in_an_inner_block_is_allocated_outside():
    def kernel(x, out, n):
        t = x + 1.0
        for i in pypto.loop(n):
            if i > 2:
                t[0:1, :] = x[1:2, :]
        out[:] = t

    program = traced(kernel, x=SMALL, out=SMALL, n=NUMBER)
    assert names(program.body) == ["load", "add", "allocate", "store", "Loop", "load", "store"]


def test_python_side_effects_are_not_doubled_by_a_second_attempt(capsys):
    def kernel(x, out):
        print("tracing")
        acc = pypto.zeros(1, 8)
        for i in pypto.loop(4):
            acc[:, 0:8] = acc + x[i : i + 1, :]
        out[:] = acc

    with pytest.warns(PyptoWarning, match="while the kernel is traced") as caught:
        traced(kernel, x=SMALL, out=ROW)
    assert capsys.readouterr().out == "tracing\n" and len(caught) == 1


def test_a_valid_shape_that_shrinks_is_carried():
    def kernel(x, out, n):
        acc = pypto.zeros(4, 8)
        for i in pypto.loop(n):
            acc = acc + pypto.view(x, [4, 8], [i, 0])
        out[:] = acc

    loop = only(traced(kernel, x=SMALL, out=SMALL, n=NUMBER), Loop)
    assert len(loop.carried) == 2
    assert loop.carried[0].initial == 4


def test_an_int_that_becomes_a_float_is_one_from_the_start():
    def kernel(x, out):
        scale = 0
        for i in pypto.loop(4):
            scale = scale + float(i)
        out[:] = x * scale

    (carried,) = only(traced(kernel, x=SMALL, out=SMALL), Loop).carried
    assert (carried.argument.kind, carried.initial) == ("float", 0.0)


def test_branches_are_traced_once_each():
    def kernel(x, out, n):
        y = x
        if n > 2:
            y = x + 1.0
        elif n > 1:
            y = x * 2.0
        out[:] = y + 0.0

    program = traced(kernel, x=SMALL, out=SMALL, n=NUMBER)
    ifs = [s for s in walk(program.body) if isinstance(s, If)]
    assert len(ifs) == 2 and len(ifs[0].results) == 1
    assert sum(isinstance(s, Op) and s.name == "add" for s in walk(program.body)) == 2


def test_numbers_without_statements_make_no_branch():
    def kernel(x, out, n):
        k = 2.0 if n > 3 else 1.0
        if n == 7:
            k = 5.0
        out[:] = x * k

    assert not [s for s in walk(traced(kernel, x=SMALL, out=SMALL, n=NUMBER).body) if isinstance(s, If)]


def test_the_right_side_of_and_is_read_only_where_python_would():
    def kernel(x, table, out, n):
        if n < 16 and table[n] > 3:
            out[:] = x
        else:
            out[:] = x + 1.0

    program = traced(kernel, x=SMALL, table=TABLE, out=SMALL, n=NUMBER)
    first = program.body.statements[0]
    assert isinstance(first, If) and names(first.then) == ["read"] and names(first.orelse) == []


def test_names_that_nobody_reads_later_are_not_merged():
    def kernel(x, out, n):
        if n > 2:
            t = x + 1.0
            out[:] = t
        else:
            t = x - 1.0
            out[:] = t * 2.0

    assert only(traced(kernel, x=SMALL, out=SMALL, n=NUMBER), If).results == ()


def test_arms_with_different_valid_extents_yield_them():
    def kernel(x, out, n):
        if n > 2:
            part = pypto.view(x, [4, 8], [0, 0], valid_shape=[n - 2, 8])
        else:
            part = pypto.view(x, [4, 8], [0, 0], valid_shape=[n, 8])
        out[:] = part

    branch = only(traced(kernel, x=SMALL, out=SMALL, n=NUMBER), If)
    assert [type(r).__name__ for r in branch.results] == ["Symbol", "Value"]


def test_whole_loads_are_shared_until_something_is_written():
    def kernel(x, out):
        out[:] = x + x
        out[:] = out + x
        out[:] = out * x

    assert names(traced(kernel, x=SMALL, out=SMALL).body).count("load") == 3  # x, and out twice


def test_an_inplace_reshape_is_an_alias():
    def kernel(x, out):
        flat = pypto.reshape(out, [32], inplace=True)
        flat[:] = x.reshape([32])

    program = traced(kernel, x=SMALL, out=SMALL)
    alias = [s.result for s in program.body.statements if s.name == "alias"][0]
    assert isinstance(alias, Storage) and alias.root.name == "out"


def test_lists_of_tensors_are_carried_and_merged_by_element():
    def kernel(x, out, n):
        parts = [pypto.zeros(1, 8), pypto.zeros(1, 8)]
        for i in pypto.loop(4):
            parts[0] = parts[0] + x[i : i + 1, :]
            if i > n:
                parts[1] = parts[1] + 1.0
        out[0:1, :] = parts[0]
        out[1:2, :] = parts[1]

    program = traced(kernel, x=SMALL, out=SMALL, n=NUMBER)
    assert len(only(program, Loop).carried) == 2 and len(only(program, If).results) == 1


def test_dynamic_axes_are_dimensions():
    size = named_dimension("x", 0)
    long = TensorArgument(pypto.DT_FP32, (size, 8))

    def kernel(x, out):
        for i in pypto.loop(x.shape[0]):
            out[i : i + 1, :] = x[i : i + 1, :]

    program = traced(kernel, x=long, out=long)
    assert list(program.dimensions) == [size]
    assert only(program, Loop).stop is size


def test_loop_unroll_makes_one_loop_per_factor():
    def kernel(log, n):
        for i, size in pypto.loop_unroll(n, unroll_list=[2, 4, 4]):
            log[i] = size

    loops = [s for s in walk(traced(kernel, log=TABLE, n=NUMBER).body) if isinstance(s, Loop)]
    assert [loop.step for loop in loops] == [4, 2, 1]


def test_unroll_of_a_loop_is_advice():
    def kernel(log, n):
        for i in pypto.loop(n, unroll_list=[2, 4], name="L"):
            log[i] = i

    loop = only(traced(kernel, log=TABLE, n=NUMBER), Loop)
    assert (loop.unroll, loop.step, loop.name) == ((4, 2, 1), 1, "L")


def test_the_watch_knows_globals_and_what_was_written():
    def kernel(x, out):
        out[:] = x * FACTOR

    result = trace_kernel(kernel, {"x": SMALL, "out": SMALL})
    assert result.written == {"out"} and result.watch.holds()
    kernel.__globals__["FACTOR"] = 3.0
    try:
        assert not result.watch.holds()
    finally:
        kernel.__globals__["FACTOR"] = 2.0


FACTOR = 2.0


def test_the_same_memory_twice_is_one_parameter():
    def kernel(x, out):
        out[:] = x + 1.0

    program = traced(kernel, x=SMALL, out=TensorArgument(pypto.DT_FP32, (4, 8), alias_of="x"))
    assert [p.name for p in program.parameters] == ["x"]


def test_twelve_branches_stay_twelve():
    def kernel(x, out, n):
        y = x + 0.0
        for bit in range(12):
            if n // 2**bit % 2 == 1:
                y = y + 1.0
        out[:] = y

    assert sum(isinstance(s, If) for s in walk(traced(kernel, x=SMALL, out=SMALL, n=NUMBER).body)) == 12


def test_an_assertion_on_a_symbol_is_checked_at_run_time():
    def kernel(x, out, n):
        assert n > 2, "need more"
        out[:] = x

    (check,) = [s for s in traced(kernel, x=SMALL, out=SMALL, n=NUMBER).body.statements if s.name == "check"]
    assert isinstance(check.attributes["error"], errors.KernelAssertion)


def test_programs_do_not_depend_on_what_was_traced_before():
    def kernel(x, out, n):
        for i in pypto.loop(n):
            if i > 1:
                out[0:1, :] = x[i : i + 1, :]

    texts = {re.sub(r"\s+", " ", program_text(traced(kernel, x=SMALL, out=SMALL, n=NUMBER))) for _ in range(3)}
    assert len(texts) == 1


# -- errors that only this room can make ---------------------------------------------------------------------------------------


def refused(error, function, **arguments):
    with pytest.raises(error) as caught:
        trace(function, arguments)
    assert caught.value.span is not None
    return caught.value


def test_a_tensor_that_left_its_loop():
    def kernel(x, out):
        kept = []
        for i in pypto.loop(4):
            kept.append(x[i : i + 1, :] + 1.0)
        out[:] = kept[0]

    assert "out[:] = kept[0]" in refused(errors.EscapedTensor, kernel, x=SMALL, out=ROW).span.text


def test_a_number_that_left_its_loop():
    def kernel(log):
        kept = []
        for i in pypto.loop(4):
            kept.append(i * 2)
        log[0] = kept[0]

    assert "log[0] = kept[0]" in refused(errors.EscapedScalar, kernel, log=TABLE).span.text


def test_an_attribute_rebound_in_a_loop():
    class State:
        pass

    def kernel(x, out):
        state = State()
        state.acc = pypto.zeros(1, 8)
        for i in pypto.loop(4):
            state.acc = state.acc + x[i : i + 1, :]
        out[:] = state.acc

    assert "state.acc" in str(refused(errors.ContainerChanged, kernel, x=SMALL, out=ROW))


def test_writing_into_a_merged_parameter_is_ambiguous():
    def kernel(a, b, n):
        chosen = a if n > 2 else b
        chosen[0:1, :] = a[1:2, :]

    refused(errors.AmbiguousWrite, kernel, a=SMALL, b=SMALL, n=NUMBER)


def test_a_symbol_asked_for_its_value_in_native_code_names_the_function():
    def kernel(x, out, n):
        order = sorted([n, 3])
        out[:] = x * order[0]

    assert "sorted" in str(refused(errors.SymbolicInNative, kernel, x=SMALL, out=SMALL, n=NUMBER))


def test_a_helper_with_try_runs_as_python_and_says_so():
    def helper(n):
        try:
            return 1 if n > 2 else 0
        finally:
            pass

    def kernel(x, out, n):
        out[:] = x * helper(n)

    text = str(refused(errors.SymbolicInNative, kernel, x=SMALL, out=SMALL, n=NUMBER))
    assert "helper" in text and "try" in text


def test_endless_recursion_is_named():
    def forever(v):
        return forever(v)

    def kernel(x, out):
        out[:] = forever(x)

    assert "forever" in str(refused(errors.RecursionWithoutEnd, kernel, x=SMALL, out=SMALL))


def test_the_users_own_exception_gets_a_note_with_its_place():
    def kernel(x, out):
        out[:] = x * (1 / 0)

    with pytest.raises(ZeroDivisionError) as caught:
        trace(kernel, {"x": SMALL, "out": SMALL})
    assert any("out[:] = x * (1 / 0)" in note for note in caught.value.__notes__)


def test_an_error_in_a_helper_shows_the_call_chain():
    def inner(v):
        return v + missing  # noqa: F821

    def outer(v):
        return inner(v)

    def kernel(x, out):
        out[:] = outer(x)

    error = refused(errors.UnboundName, kernel, x=SMALL, out=SMALL)
    assert [c.function for c in error.chain] == ["outer", "kernel"]
    assert str(error).count("called from") == 2


def test_a_name_bound_by_two_loops_that_may_not_run():
    def kernel(x, out, n):
        for i in pypto.loop(n):
            t = x[i : i + 1, :] + 1.0
        for j in pypto.loop(n - 2):
            t = x[j : j + 1, :] * 2.0
        out[0:1, :] = t
        for k in pypto.loop(n):
            t = t + 1.0
        out[1:2, :] = t

    program = traced(kernel, x=SMALL, out=SMALL, n=NUMBER)
    assert [s.name for s in program.body.statements if isinstance(s, Op)].count("check") == 1 + 1


def test_the_index_after_a_loop_is_the_last_one():
    def kernel(log, n):
        for i in pypto.loop(3, 10, 4):
            log[i] = 1
        log[0] = i
        for j in pypto.loop(n):
            log[j] = 2
        log[1] = j

    program = traced(kernel, log=TABLE, n=NUMBER)
    writes = [s for s in program.body.statements if isinstance(s, Op)]
    assert [s.name for s in writes] == ["write", "check", "write"]
    assert writes[0].operands[1] == 7


def test_a_name_that_one_arm_may_not_have_bound_is_checked_there():
    def kernel(x, out, n):
        for i in pypto.loop(n):
            t = x[i : i + 1, :]
        if n > 3:
            t = x[0:1, :]
        out[0:1, :] = t

    branch = only(traced(kernel, x=SMALL, out=SMALL, n=NUMBER), If)
    assert names(branch.then) == ["load"] and names(branch.orelse) == ["check"]
