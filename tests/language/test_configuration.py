"""Options and tile shapes: scopes, getters, refusals (tensor API section 7)."""

import threading

import numpy as np
import pytest

import pypto
from blackbox import define, integers, mistake, nans, quiet

FP32 = pypto.DT_FP32


@pytest.fixture(autouse=True)
def defaults():
    pypto.reset_options()
    yield
    pypto.reset_options()


SEEN = {}


def look(name):
    SEEN[name] = (pypto.get_vec_tile_shapes(), pypto.get_pass_options()["enable_slice"])


@pypto.jit(pass_options={"enable_slice": True})
def sliced(x: pypto.Tensor([4, 8], FP32)):
    look("before")
    pypto.set_vec_tile_shapes(2, 8)
    look("after")
    x[:] = x + 1.0


@pypto.jit
def plain(x: pypto.Tensor([4, 8], FP32)):
    look("plain")
    x[:] = x + 1.0


def test_a_kernel_sees_the_global_settings_and_leaks_nothing():
    pypto.set_vec_tile_shapes(4, 8)
    sliced(integers(4, 8))
    assert SEEN["before"] == ([4, 8], True) and SEEN["after"] == ([2, 8], True)
    plain(integers(4, 8))
    assert SEEN["plain"] == ([4, 8], False)
    assert pypto.get_vec_tile_shapes() == [4, 8] and pypto.get_pass_options()["enable_slice"] is False


def test_options_as_context_and_as_decorator():
    with pypto.options(
        "mine", vec_tile_shapes=[1, 2], pass_options={"auto_mix_partition": 1}, cube_tile_shapes=([16, 16], [16, 32], [16, 16])
    ):
        assert pypto.get_vec_tile_shapes() == [1, 2]
        assert pypto.get_pass_options()["auto_mix_partition"] == 1
        m, k, n, split = pypto.get_cube_tile_shapes()
        assert (list(m), list(k), list(n), split) == ([16, 16], [16, 32, 32], [16, 16], False)
        with pypto.options(vec_tile_shapes=[3]):
            assert pypto.get_vec_tile_shapes() == [3]
        assert pypto.get_vec_tile_shapes() == [1, 2]
    assert pypto.get_vec_tile_shapes() == []

    @pypto.options(vec_tile_shapes=[7])
    def inside():
        return pypto.get_vec_tile_shapes()

    assert inside() == [7] and pypto.get_vec_tile_shapes() == []


def test_an_exception_closes_the_scope():
    with pytest.raises(KeyError), pypto.options(vec_tile_shapes=[3]):
        raise KeyError("mine")
    assert pypto.get_vec_tile_shapes() == []


def test_threads_do_not_disturb_each_other():
    seen = []
    pypto.set_vec_tile_shapes(9)
    with pypto.options(vec_tile_shapes=[3]):
        thread = threading.Thread(target=lambda: seen.append(pypto.get_vec_tile_shapes()))
        thread.start()
        thread.join()
        assert pypto.get_vec_tile_shapes() == [3]
    assert seen[0] != [3]


@pytest.mark.parametrize(
    "call, fragments",
    [
        (lambda: pypto.set_options(runtime_options={"not_exist": 1}), ["key: runtime.not_exist does not exist."]),
        (lambda: pypto.set_options(runtime_options={"run_mod": 1}), ["run_mod", "run_mode"]),
        (
            lambda: pypto.set_pass_options(cube_l1_reuse_setting={-11: 2}),
            ["pass.cube_l1_reuse_setting", "doesn't within the value range"],
        ),
        (lambda: pypto.set_host_options(compile_timeout=-10), ["host.compile_timeout", "doesn't within the value range"]),
        (
            lambda: pypto.set_host_options(compile_timeout="100"),
            ["Option 'host.compile_timeout' has invalid type. Expected int64, but got"],
        ),
        (
            lambda: pypto.set_codegen_options(support_dynamic_aligned="true"),
            ["Option 'codegen.support_dynamic_aligned' has invalid type. Expected bool"],
        ),
        (lambda: pypto.set_debug_options(runtime_debug_mode="1"), ["debug.runtime_debug_mode", "int64"]),
        (
            lambda: pypto.set_debug_options(dump_pass_graph=["a", 1]),
            ["invalid list element type at index 1. Expected str, but got int"],
        ),
        (
            lambda: pypto.set_options(runtime_options={"stitch_function_max_num": "aa"}),
            ["runtime.stitch_function_max_num", "int64"],
        ),
        (lambda: pypto.set_pass_options(sg_set_scope=-2), ["scope_id -2 is out of range. Expected -1~2147483647."]),
        (lambda: pypto.set_pass_options(sg_set_scope=(1, True)), ["Expected 3"]),
        (
            lambda: pypto.set_pass_options(sg_set_scope="a"),
            ["Option 'pass.sg_set_scope' has invalid type. Expected int64 or tuple, but got str."],
        ),
        (lambda: pypto.set_pass_options(vec_nbuffer_setting={0: 1, "func1_2": 2}), ["cannot mix"]),
        (lambda: pypto.set_semantic_label("func1_2"), ["conflicts with function-granularity hashOrder"]),
        (lambda: pypto.set_cube_tile_shapes([16], [16, 16], [16, 16]), ["m must have exactly 2 elements, got 1"]),
        (lambda: pypto.set_cube_tile_shapes([16, 16], [16], [16, 16]), ["k must have 2 or 3 elements, got 1"]),
        (lambda: pypto.set_vec_tile_shapes(0), ["set_vec_tile_shapes", "positive"]),
        (lambda: pypto.set_vec_tile_shapes(4, -8), ["set_vec_tile_shapes", "positive"]),
        (lambda: pypto.set_vec_tile_shapes("a"), ["set_vec_tile_shapes"]),
        (lambda: pypto.set_vec_tile_shapes([4, 8]), ["set_vec_tile_shapes"]),
        (lambda: pypto.set_vec_tile_shapes(4.0), ["set_vec_tile_shapes"]),
        (lambda: pypto.options(runtime_options={"run_mode": 7}).__enter__(), ["runtime.run_mode"]),
        (lambda: pypto.jit(runtime_options={"run_mode": 7})(lambda x: None), ["run mode must be RunMode.NPU or RunMode.SIM"]),
        (lambda: pypto.jit(runtime_options={"nope": 7})(lambda x: None), ["runtime.nope"]),
        (lambda: pypto.jit(pass_optoins={})(lambda x: None), ["pass_optoins"]),
    ],
)
def test_wrong_options(call, fragments):
    with mistake(*fragments):
        call()


def test_the_npu_without_a_device_runs_on_the_cpu_with_one_notice():
    @pypto.jit(runtime_options={"run_mode": pypto.RunMode.NPU})
    def on_npu(x: pypto.Tensor([4, 8], FP32)):
        x[:] = x + 1.0

    x = integers(4, 8)
    on_npu(x)
    on_npu(x)
    assert np.array_equal(x, integers(4, 8) + 2)


@pytest.mark.parametrize("value", ["cpu", "reference", "compare"])
def test_engines_by_public_option(value):
    x = integers(4, 8)
    with pypto.options(run_options={"engine": value}):
        plain(x)
    assert np.array_equal(x, integers(4, 8) + 1)


def test_a_portability_rule_of_the_tile_is_a_warning():
    @pypto.jit
    def narrow(x: pypto.Tensor([4, 8], FP32), out: pypto.Tensor([4, 8], FP32)):
        pypto.set_vec_tile_shapes(4, 4, 8)
        out[:] = x + 1.0

    out = nans(4, 8)
    with pytest.warns(pypto.diagnostics.PortabilityWarning):
        narrow(integers(4, 8), out)
    assert np.array_equal(out, integers(4, 8) + 1)


def test_resetting_options_in_a_kernel_ends_with_the_kernel(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 8], DT_FP32), n: SymbolicScalar, broken=False):
    pypto.set_vec_tile_shapes(8, 8)
    if n > 1:
        pypto.reset_options()
        pypto.set_vec_tile_shapes(2, 8)
        x[0:1, :] = x[0:1, :] + 1.0
    assert pypto.get_vec_tile_shapes() == [8, 8]
    for i in loop(n):
        pypto.reset_options()
        assert pypto.get_vec_tile_shapes() == []
        pypto.set_vec_tile_shapes(4, 8)
        x[i : i + 1, :] = x[i : i + 1, :] + (nothing if broken else 1.0)
    pypto.reset_options()
    pypto.set_vec_tile_shapes(1, 8)
    x[:] = x * 2.0
""",
    )
    before = pypto.get_options_tree()
    for broken in (False, True):
        x = integers(4, 8)
        expected = x.copy()
        expected[0] += 1
        expected[:2] += 1
        try:
            with quiet():
                kernel(x, 2, broken=broken)
            assert np.array_equal(x, expected * 2)
        except NameError:
            assert broken
        assert pypto.get_vec_tile_shapes() == [] and pypto.get_options_tree() == before
