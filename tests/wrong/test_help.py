"""Messages end with something to do: every class of the catalogues has a help line, and some helps follow the user's own code."""

import importlib
import pkgutil
import warnings

import numpy as np
import pytest

import pypto
import pypto.errors
import pypto_pro.errors
from blackbox import mistake
from pypto.diagnostics import PortabilityWarning
from pypto.errors.base import UserError

MODULES = sorted(
    one.name
    for package in (pypto.errors, pypto_pro.errors)
    for one in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")
    if one.name != "pypto_pro.errors.base"
)

# Classes whose text is the user's own (or that of the check they wrap), and bases that are never raised.
WITHOUT = {"AssertionFailed", "CheckFailed", "KernelAssertion", "PipelineMistake", "SyntaxMistake", "TileValueError"}
WITHOUT |= {"LaunchTypeError", "LaunchValueError", "TilingTypeError", "TilingValueError", "UserError"}

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32
Number = pypto.SymbolicScalar
Rows = pypto.Tensor([pypto.DYNAMIC, 8], FP32)


@pytest.mark.parametrize("name", MODULES)
def test_every_class_has_a_help_line(name):
    module = importlib.import_module(name)
    classes = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, UserError)]
    own = [c for c in classes if c.__module__ == module.__name__]
    assert not [c.__name__ for c in own if not c.help and c.__name__ not in WITHOUT]


def test_writing_into_a_view_shows_the_region():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([4, 8], FP32), out: pypto.Tensor([4, 8], FP32)):
        for i in pypto.loop(2, idx_name="i"):
            rows = out[2 * i : 2 * i + 2, :]
            rows[:] = x[0:2, :]

    with mistake("out[(loop_idx_i*2):((loop_idx_i*2)+2), 0:8] = value", "pypto.assemble(value, [(loop_idx_i*2), 0], out)"):
        kernel(np.ones((4, 8), np.float32), np.ones((4, 8), np.float32))


def test_writing_into_a_view_of_a_value_names_no_tensor():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([4, 8], FP32), out: pypto.Tensor([4, 8], FP32)):
        rows = (x + 1.0)[0:2, :]
        rows[:] = x[0:2, :]
        out[:] = x

    with mistake("help: write into the tensor itself: t[0:2, 0:8] = value"):
        kernel(np.ones((4, 8), np.float32), np.ones((4, 8), np.float32))


@pytest.mark.parametrize(("number", "other"), [(17, 5), (-17, 5), (17, -5), (-17, -5), (0, 3)])
def test_divmod_of_symbols(number, other):
    @pypto.frontend.jit
    def kernel(out: pypto.Tensor([6], INT32), n: Number, m: Number):
        out[0], out[1] = divmod(n, m)
        out[2], out[3] = divmod(n, 4)
        out[4], out[5] = divmod(7, m)

    out = np.zeros(6, np.int32)
    kernel(out, number, other)
    assert out.tolist() == [*divmod(number, other), *divmod(number, 4), *divmod(7, other)]


@pytest.mark.parametrize(("text", "help"), [("round(n)", "int(x + 0.5)"), ("n >> 1", "//"), ("n << 1", "power of two")])
def test_what_symbols_cannot_do_says_what_to_write(tmp_path, text, help):
    from blackbox import define

    source = f"""
    @pypto.jit
    def kernel(out: pypto.Tensor([4], pypto.DT_INT32), n: pypto.SymbolicScalar):
        out[0] = {text}
    """
    with mistake("Invalid type", help, at=text):
        define(tmp_path, source)(np.zeros(4, np.int32), 3)


def test_a_kernel_on_dynamic_tensors_warns_once():
    @pypto.frontend.jit
    def kernel(x: pypto.Tensor([pypto.DYNAMIC, 8], FP32), out: pypto.Tensor([pypto.DYNAMIC, 8], FP32)):
        y = x + 1.0
        z = pypto.exp(y)
        out[:] = z * 2.0

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel(np.ones((3, 8), np.float32), np.ones((3, 8), np.float32))
    said = [str(w.message) for w in caught if issubclass(w.category, PortabilityWarning)]
    assert len(said) == 1 and "add(): an operand with a DYNAMIC axis" in said[0] and "y = x + 1.0" in said[0]


def test_a_run_time_one_is_not_repeated_and_the_cure_works():
    ones = lambda rows: np.ones((rows, 8), np.float32)

    @pypto.frontend.jit
    def dynamic(x: pypto.Tensor([pypto.DYNAMIC, 8], FP32), y: pypto.Tensor([pypto.DYNAMIC, 8], FP32), out: Rows):
        out[:] = x + y

    with mistake("at run time 3 differs from 1", "annotate the axis with 1 or pypto.STATIC", at="x + y"):
        dynamic(ones(3), ones(1), ones(3))

    @pypto.frontend.jit
    def static(x: pypto.Tensor([pypto.DYNAMIC, 8], FP32), y: pypto.Tensor([pypto.STATIC, 8], FP32), out: Rows):
        out[:] = x + y

    for rows in (1, 3):
        out = ones(3)
        static(ones(3), ones(rows), out)
        assert (out == 2).all()
