"""Tile shapes, pass configuration, platform, logging and error names."""

import pytest

import pypto
from pypto import pypto_impl
from pypto.error import PassError, PyptoError, PyptoGeneralError, _catch_and_wrap_error


@pytest.fixture(autouse=True)
def scoped():
    with pypto.options():
        yield


def test_tile_shapes_round_trip():
    pypto.set_vec_tile_shapes(1, 2, 3, 4, 5)
    assert pypto.get_vec_tile_shapes() == [1, 2, 3, 4, 5]
    pypto.set_cube_tile_shapes([16, 32], [64, 128], [16, 64], enable_split_k=True)
    assert pypto.get_cube_tile_shapes() == ([16, 32], [64, 128, 128], [16, 64], True)
    first, second = pypto_impl.TileL1Info(1, 2, 3, 4, 5, 6, 7, 8), pypto_impl.TileL0Info(1, 2, 3, 4)
    pypto.set_conv_tile_shapes(first)
    assert pypto.get_conv_tile_shapes() == (first, None, False)
    pypto.set_conv_tile_shapes(first, second)
    assert pypto.get_conv_tile_shapes() == (first, second, True)


def test_tile_objects_show_the_native_fields():
    cube = pypto.CubeTile([16, 16], [16, 32, 64], [16, 16])
    assert (cube.k, cube.enableSplitK, cube.impl() is cube) == ([16, 32, 64], False, True)
    conv = pypto.ConvTile(pypto_impl.TileL1Info(*range(1, 9)))
    assert conv.tileL1Info is conv.tile_l1_info and conv.setL0Tile is False
    with pytest.raises(TypeError, match="TileL1Info"):
        pypto.ConvTile(3)


def test_pass_configuration_round_trips_and_default_is_separate():
    key = pypto.PassConfigKey.KEY_DUMP_GRAPH
    pypto.set_pass_default_config(key, True)
    assert pypto.get_pass_default_config(key, False) is True
    assert pypto.get_pass_config("PVC2_OOO", "ExpandFunction", key, False) is False
    pypto.set_pass_config("PVC2_OOO", "ExpandFunction", key, False)
    assert pypto.get_pass_configs("PVC2_OOO", "ExpandFunction").dumpGraph is False
    assert pypto.get_pass_configs("PVC2_OOO", "GenerateMoveOp").dumpGraph is True
    with pytest.raises(PassError, match="Expected boolean type, but received int"):
        pypto.set_pass_default_config(key, 1)
    with pytest.raises(PassError):
        pypto.get_pass_default_config("dump", True)


def test_platform_and_unknown_architectures():
    assert pypto.platform.npuarch == "DAV_2201"
    pypto.platform.npuarch = "DAV_3510"
    assert pypto.platform.npuarch == "DAV_3510"
    pypto.platform.npuarch = "abacus"
    assert pypto.platform.npuarch == "DAV_2201"


def test_external_error_numbers():
    expected = {
        "INVALID_TYPE": 1,
        "INVALID_VAL": 2,
        "RUNTIME_ERROR": 3,
        "NAME_ERROR": 4,
        "NOT_IMPLEMENTED_ERROR": 5,
        "KEY_ERROR": 6,
    }
    expected |= {"INVALID_OPERATION": 7, "OUT_OF_RANGE": 8, "BAD_FD": 9, "DYNAMIC_SHAPE_COMPUTE_UNSUPPORTED": 10}
    for name, number in expected.items():
        assert int(getattr(pypto_impl.ExternalError, name)) == number
    assert int(pypto_impl.ExternalError.UNKNOWN) == 0xFFFF


def test_logging_levels(capsys):
    pypto.set_log_level(pypto.LogLevel.ERROR)
    pypto.log_warn("quiet")
    pypto.log_error("loud")
    pypto.log_event("event")
    assert capsys.readouterr().err.splitlines() == ["[ERROR] pypto: loud", "[EVENT] pypto: event"]
    assert pypto.get_log_level() == pypto.LogLevel.ERROR
    with pytest.raises(ValueError, match="log level"):
        pypto.set_log_level(99)


def test_checks_raise_what_they_promise():
    pypto.check(True, "fine")
    with pytest.raises(ValueError, match="my text"):
        pypto.check(False, "my text")
    with pytest.raises(pypto.InternalError, match="^my text$"):
        pypto.internal_check(False, "my text")
    for name in ("ValueError", "TypeError", "RuntimeError", "NotImplementedError", "IndexError", "AssertionError"):
        with pytest.raises(getattr(__import__("builtins"), name), match="^text$"):
            pypto.logging.raise_error(name, "text")
    with pytest.raises(PyptoError, match="text"):
        pypto.logging.raise_error("Error", "text")
    with pytest.raises(Exception, match="Unknown error type"):
        pypto.logging.raise_error("Nonsense", "text")


def test_error_texts_carry_one_code():
    assert str(PyptoError(0xF00001, "test error")) == "ErrCode: F00001, test error"
    assert str(PyptoError(0xF00001, "ErrCode: F00002, x")).count("ErrCode:") == 1


@pytest.mark.parametrize("inner, code", [(ValueError("bad"), 0xF00002), (KeyError("k"), 0xF00006), (OSError("disk"), 0xF0FFFF)])
def test_catch_and_wrap_names_operation_and_subject(inner, code):
    @_catch_and_wrap_error("test operation")
    def fails(subject):
        raise inner

    with pytest.raises(PyptoGeneralError, match="Failed to test operation 'fails'") as caught:
        fails(3)
    assert caught.value.err_code == code and str(inner) in str(caught.value)


def test_catch_and_wrap_keeps_inner_codes_and_pypto_errors():
    @_catch_and_wrap_error("test operation")
    def fails(error):
        raise error

    with pytest.raises(PyptoGeneralError, match="ErrCode: F00003") as caught:
        fails(RuntimeError("ErrCode: F00003, deep"))
    assert "Failed to test operation" in str(caught.value)
    original = PyptoError(1, "x")
    with pytest.raises(PyptoError) as caught:
        fails(original)
    assert caught.value is original
