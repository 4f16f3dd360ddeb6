"""``pypto ops`` says what the CPU engine really does with an operation: compile it, or hand it to the reference."""

import numpy as np
import pytest

import pypto
from pypto.coverage import is_native
from pypto.ops.table import OPERATIONS

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32

CALLS = {
    "add": "x + x",
    "exp": "pypto.exp(x)",
    "cast": "pypto.cast(pypto.cast(x, pypto.DT_BF16), FP32)",
    "where": "pypto.where(x > 0.0, x, x)",
    "sum": "pypto.expand_clone(pypto.sum(x, -1, True), [4, 8])",
    "amax": "pypto.expand_clone(pypto.amax(x, -1, True), [4, 8])",
    "full": "pypto.full([4, 8], 2.0, FP32)",
    "arange": "pypto.reshape(pypto.arange(0.0, 32.0, 1.0), [4, 8])",
    "permute": "pypto.permute(pypto.permute(x, [1, 0]), [1, 0])",
    "concat": "pypto.concat([x[0:2, :], x[0:2, :]], 0)",
    "tril": "pypto.tril(x)",
    "cumsum": "pypto.cumsum(x, 1)",
    "matmul": "pypto.matmul(x, x[:, 0:8], FP32, a_trans=True)[0:4, :]",
    "topk": "pypto.topk(x, 8, -1)[0]",
    "index_select": "pypto.index_select(x, 0, pypto.cast(pypto.arange(0, 4, 1), INT32))",
}

SOURCE = """
import pypto
FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32

@pypto.frontend.jit
def kernel(x: pypto.Tensor([4, 8], FP32), out: pypto.Tensor([4, 8], FP32)):
    out[:] = {call}
"""


def handed_over(tmp_path, call, monkeypatch):
    """Names of the operations that a compiled kernel gives to the reference."""
    from pypto.cpu import plan

    found = []
    original = plan.CallItem

    def noted(number, name, *rest):
        found.append(name)
        return original(number, name, *rest)

    monkeypatch.setattr(plan, "CallItem", noted)
    file = tmp_path / "kernel_of_test.py"
    file.write_text(SOURCE.format(call=call))
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    names["kernel"](np.ones((4, 8), np.float32), np.zeros((4, 8), np.float32))
    return found


@pytest.mark.parametrize("name", CALLS)
def test_the_table_tells_the_truth(name, tmp_path, monkeypatch):
    assert is_native(OPERATIONS[name]) == (name not in handed_over(tmp_path, CALLS[name], monkeypatch))
