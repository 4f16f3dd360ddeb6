"""The ``with pypto.function(...)`` builder and ``_device_run_once_data_from_host`` (kept for compatibility)."""

import pytest
import torch

import pypto
from blackbox import integers, mistake

FP32 = pypto.DT_FP32


def run(*tensors):
    pypto.runtime._device_run_once_data_from_host(*(pypto.from_torch(t) for t in tensors))


def pair(rows=8, width=8):
    return torch.from_numpy(integers(rows, width)), torch.full((rows, width), float("nan"))


def test_a_graph_with_a_loop_and_a_condition(engine):
    a, b = pypto.tensor([8, 8], FP32, "a"), pypto.tensor([8, 8], FP32, "b")
    with pypto.function("MAIN", a, b):
        for i in pypto.loop(2, name="L", idx_name="i"):
            pypto.set_vec_tile_shapes(4, 8)
            if pypto.cond(i == 0):
                b[i * 4 :, 0:] = a[i * 4 : (i + 1) * 4, :] + 1.0
            else:
                b[i * 4 :, 0:] = a[i * 4 : (i + 1) * 4, :] - 1.0
    x, y = pair()
    run(x, y)
    assert torch.equal(y, torch.cat([x[:4] + 1, x[4:] - 1]))


def test_init_and_fini_around_a_run(engine):
    pypto.runtime._device_init()
    a, b = pypto.tensor([8, 8], FP32), pypto.tensor([8, 8], FP32)
    with pypto.function("MAIN", a, b):
        for _ in pypto.loop(1):
            b.move(pypto.exp(a * 0.0))
    x, y = pair()
    run(x, y)
    pypto.runtime._device_synchronize()
    pypto.runtime._device_fini()
    assert (y == 1).all()


def test_statements_outside_loops_and_several_loops(engine):
    a, b = pypto.tensor([8, 8], FP32), pypto.tensor([8, 8], FP32)
    with pypto.function("MAIN", a, b):
        t = a + 1.0
        for i in pypto.loop(8):
            b[i : i + 1, :] = t[i : i + 1, :] * 2.0
        for i in pypto.loop(2, 8, 3):
            b[i : i + 1, :] = a[i : i + 1, :]
    x, y = pair()
    run(x, y)
    expected = (x + 1) * 2
    expected[[2, 5]] = x[[2, 5]]
    assert torch.equal(y, expected)


def test_two_conditions_are_replayed(engine):
    a, b = pypto.tensor([8, 8], FP32), pypto.tensor([8, 8], FP32)
    with pypto.function("MAIN", a, b):
        for i in pypto.loop(8):
            row = a[i : i + 1, :]
            if pypto.cond(i % 2 == 0):
                row = row + 1.0
            if pypto.cond(i > 3):
                row = row * 2.0
            b[i : i + 1, :] = row
    x, y = pair()
    run(x, y)
    expected = torch.stack([(x[i] + (i % 2 == 0)) * (2 if i > 3 else 1) for i in range(8)])
    assert torch.equal(y, expected)


def test_loop_begin_and_end(engine):
    a, b = pypto.tensor([8, 8], FP32), pypto.tensor([8, 8], FP32)
    with pypto.function("MAIN", a, b):
        for i in pypto.loop(8, unroll_list=[4, 2, 1]):
            if pypto.cond(pypto.is_loop_begin(i)):
                b[i : i + 1, :] = a[i : i + 1, :] + 5.0
            elif pypto.cond(pypto.is_loop_end(i)):
                b[i : i + 1, :] = a[i : i + 1, :] - 5.0
            else:
                b[i : i + 1, :] = a[i : i + 1, :]
    x, y = pair()
    run(x, y)
    expected = x.clone()
    expected[0] += 5
    expected[7] -= 5
    assert torch.equal(y, expected)


def test_too_many_conditions_advise_jit():
    a, b = pypto.tensor([8, 8], FP32), pypto.tensor([8, 8], FP32)
    with mistake("jit", "64"):
        with pypto.function("MAIN", a, b):
            for i in pypto.loop(8):
                row = a[i : i + 1, :]
                for bit in range(7):
                    if pypto.cond(i > bit):
                        row = row + 1.0
                b[i : i + 1, :] = row


def test_functions_do_not_nest():
    a = pypto.tensor([8, 8], FP32)
    with mistake("function nested is not allowed", kind=pypto.error.FeError):
        with pypto.function("A", a):
            with pypto.function("B", a):
                pass


def works_again():
    a, b = pypto.tensor([8, 8], FP32), pypto.tensor([8, 8], FP32)
    with pypto.function("AGAIN", a, b):
        for _ in pypto.loop(1):
            b[:] = a + 1.0
    x, y = pair()
    run(x, y)
    assert torch.equal(y, x + 1)


@pytest.mark.parametrize(
    "error", [ValueError("boom"), RuntimeError("construct fail"), KeyError("user")], ids=lambda e: type(e).__name__
)
def test_the_users_error_leaves_the_block_with_its_text_and_the_next_graph_works(error):
    a = pypto.tensor([8, 8], FP32)
    with pytest.raises((pypto.error.FeError, type(error)), match=str(error.args[0])):
        with pypto.function("MAIN", a):
            raise error
    works_again()


def test_a_catalogue_error_in_the_block_and_the_next_graph_works():
    a = pypto.tensor([8, 8], FP32)
    with mistake(kind=pypto.error.FeError):
        with pypto.function("MAIN", a):
            pypto.view(a, [4], [0])
    with mistake(kind=pypto.error.FeError):
        with pypto.function("MAIN", a):
            [*a]
    works_again()


def test_operations_outside_of_a_graph_are_refused():
    a = pypto.tensor([8, 8], FP32)
    with mistake("inside a kernel"):
        a + 1.0
    with mistake():
        pypto.loop(3).__iter__().__next__()


@pytest.mark.parametrize("bad", [3, None, torch.ones(8, 8)], ids=str)
def test_running_with_what_is_not_a_tensor(bad):
    works_again()
    with mistake(kind=pypto.error.PyptoRtError):
        pypto.runtime._device_run_once_data_from_host(bad)


def test_running_with_too_few_tensors():
    works_again()
    with mistake():
        run(torch.ones(8, 8))


def test_last_function_tells_its_name():
    works_again()
    last = pypto.get_last_function()
    assert "AGAIN" in last.raw_name
    assert "add" in last.dump().lower()
    assert pypto.get_current_function() is None
