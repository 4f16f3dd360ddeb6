"""The names of ``pypto`` (tensor API section 1): each is there, or says that it is planned."""

import subprocess
import sys

import pytest

import pypto
from pypto.dtypes import DataType
from pypto.errors.options import NoSuchName, NotYetImplemented
from pypto.public import ALIASES, DOCUMENTED, HOME_OF, RENAMED

# Operations that issue by issue leave this list; what is missing and not listed here is a mistake.
PLANNED = set(
    """
    axpy_ hypot prelu gcd ceil_div copysign atan2 signbit asin acos atan asinh acosh atanh cbrt cumprod var argsort
    sort32 mrgsort index_add_ index_add index_add__ub index_add_ub index_put_ scatter_ scatter gathermask
    get_scatter_mode interleave deinterleave pack unpack scaled_mm conv ConvParams quantize dequantize quant_mx
    uniform normal uniform_impl pad fillpad one_hot expand_exp_dif verify set_verify_golden_data 
    pass_verify_save distributed
    """.split()
)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_documented_name_is_there_or_planned(name):
    try:
        value = getattr(pypto, name)
    except NotYetImplemented as error:
        assert name in PLANNED, f"{name} is missing"
        assert "coverage.md" in str(error) and not hasattr(pypto, name)
    else:
        assert value is not None and name not in PLANNED, f"{name} exists: take it off the list"


def test_element_types_are_top_level_names():
    for name, member in DataType.__members__.items():
        assert getattr(pypto, name) is member
    assert pypto.bytes_of(pypto.DT_BF16) == 2


def test_aliases_are_the_classes_themselves():
    assert pypto.tensor is pypto.Tensor and pypto.element is pypto.Element and pypto.symbolic_scalar is pypto.SymbolicScalar
    assert pypto.jit is pypto.frontend.jit
    assert set(ALIASES) <= set(DOCUMENTED)


def test_names_that_shadow_the_standard_library():
    import enum

    assert pypto.enum is enum
    assert pypto.logging.log_warn is pypto.log_warn
    assert pypto.platform.npuarch == "DAV_2201"
    assert pypto.function is not pypto.frontend.function
    assert callable(pypto.options) and callable(pypto.min) and callable(pypto.sum)


def test_unknown_names_suggest_the_nearest():
    with pytest.raises(NoSuchName, match="did you mean 'softmax'"):
        pypto.sofmax
    with pytest.raises(AttributeError):
        pypto.__no_such_thing__
    with pytest.raises(AttributeError, match="experimental.online_softmax is not implemented yet"):
        pypto.experimental.online_softmax


def test_importing_a_room_does_not_change_what_its_name_means():
    code = (
        "import pypto.options, pypto.kernel, pypto.logging, pypto.ops, pypto.compiler; "
        "from pypto import options; "
        "assert callable(pypto.options) and options.current().get('run.engine') and callable(pypto.jit)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_names_are_listed():
    listed = set(dir(pypto))
    assert {"add", "Tensor", "DT_FP32", "options", "jit", "loop", *HOME_OF, *RENAMED} <= listed


def test_star_import_gives_what_is_documented():
    code = "from pypto import *; assert jit and Tensor and DT_FP32 and loop and add and sum and options; assert 'importlib' not in dir()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_ceildiv():
    assert [pypto.ceildiv(a, 4) for a in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_operation_options():
    assert pypto.experimental.get_operation_options() == {"combine_axis": True}
    with pypto.options():
        pypto.experimental.set_operation_options(combine_axis=False)
        assert pypto.experimental.get_operation_options() == {"combine_axis": False}
