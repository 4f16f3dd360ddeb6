"""The option table, checks, scopes and environment variables."""

import contextvars
import inspect
import threading

import pytest

import pypto
from pypto.errors.base import UserError
from pypto.errors.options import EnvironmentValueInvalid, OptionOutOfRange, UnknownOption, UnknownOptionArgument
from pypto.options import TABLE, current, rows_of, scope
from pypto.options.check import checked
from pypto.options.environment import from_environment


@pytest.fixture(autouse=True)
def clean():
    """Every test in a context of its own."""
    pypto.reset_options()
    yield
    pypto.reset_options()


def test_every_default_passes_its_own_check():
    for key, option in TABLE.items():
        assert checked(key, option.default) == option.default or option.kind == "any"


def test_every_row_says_what_it_means_and_variables_are_unique():
    assert all(option.meaning for option in TABLE.values())
    variables = [option.environment for option in TABLE.values() if option.environment]
    assert len(variables) == len(set(variables)) and all(v.startswith("PYPTO_") for v in variables)


@pytest.mark.parametrize("family", ["pass", "host", "codegen", "verify", "debug", "run", "cpu"])
def test_setter_and_getter_know_the_same_names(family):
    setter = getattr(pypto, f"set_{family}_options")
    getter = getattr(pypto, f"get_{family}_options")
    assert set(inspect.signature(setter).parameters) == set(getter())
    assert set(getter()) == {name for name, option in rows_of(family).items() if option.setter}


def test_pass_options_have_exactly_the_nine_documented_keys():
    assert len(pypto.get_pass_options()) == 9
    assert pypto.get_pass_options()["cube_nbuffer_setting"] == {-1: 1}
    assert pypto.get_pass_options()["sg_set_scope"] == (-1, False, False)


def test_none_leaves_an_option_alone():
    pypto.set_run_options(engine="reference")
    pypto.set_run_options(engine=None, strict=True)
    assert pypto.get_run_options()["engine"] == "reference" and pypto.get_run_options()["strict"] is True


def test_enumeration_members_are_stored_as_numbers():
    pypto.set_host_options(compile_stage=pypto.CompStage.TILE_GRAPH)
    assert pypto.get_host_options()["compile_stage"] == pypto.CompStage.TILE_GRAPH.value


def test_merge_settings_keep_the_other_kind_of_keys():
    pypto.set_pass_options(cube_l1_reuse_setting={0: 2})
    pypto.set_pass_options(cube_l1_reuse_setting={"attention": (4, "LEFT")})
    assert pypto.get_pass_options()["cube_l1_reuse_setting"] == {0: 2, "attention": (4, "left")}
    pypto.set_pass_options(cube_l1_reuse_setting={1: (3, "auto")})
    assert pypto.get_pass_options()["cube_l1_reuse_setting"] == {"attention": (4, "left"), 1: 3}
    pypto.set_pass_options(cube_l1_reuse_setting={"func1_2": 5, "DEFAULT": 1})
    assert pypto.get_pass_options()["cube_l1_reuse_setting"] == {"attention": (4, "left"), "func1_2": 5, "DEFAULT": 1}


def test_a_getter_returns_a_copy():
    pypto.get_pass_options()["cube_nbuffer_setting"][7] = 7
    assert pypto.get_pass_options()["cube_nbuffer_setting"] == {-1: 1}


@pytest.mark.parametrize(
    "key, value",
    [
        ("host.compile_monitor_enable", "true"),
        ("host.compile_timeout", True),
        ("verify.pass_verify_save_tensor_dir", 123),
        ("debug.dump_pass_graph", 1),
        ("debug.dump_pass_graph", "ExpandFunction"),
        ("runtime.ready_on_host_tensors", "tensor0"),
        ("runtime.ready_on_host_tensors", ["a", 2]),
        ("runtime.device_sched_parallelism", "aa"),
        ("verify.pass_verify_pass_filter", False),
        ("verify.pass_verify_error_tol", "0.1,0.1"),
        ("pass.cube_nbuffer_setting", [1, 2]),
        ("pass.cube_nbuffer_setting", {-1: 1.5}),
        ("pass.cube_nbuffer_setting", {1.5: 1}),
        ("pass.sg_set_scope", ("a", True, True)),
        ("pass.sg_set_scope", (1, 2, True)),
        ("cpu.threads", 2.0),
    ],
)
def test_wrong_types_are_type_errors_with_the_key(key, value):
    with pytest.raises(TypeError, match=key.replace(".", r"\.")) as caught:
        checked(key, value)
    assert isinstance(caught.value, UserError) and "F00001" in str(caught.value)


@pytest.mark.parametrize(
    "key, value",
    [
        ("cpu.threads", -1),
        ("run.engine", "gpu"),
        ("runtime.run_mode", 2),
        ("pass.cube_l1_reuse_setting", {0: (1, "up")}),
        ("pass.cube_l1_reuse_setting", {0: (0, "left")}),
        ("pass.cube_l1_reuse_setting", {0: (1, 2, 3)}),
        ("pass.cube_nbuffer_setting", {-1: 0}),
        ("pass.sg_set_scope", (1, True)),
        ("pass.sg_set_ooo_scope", 0),
        ("host.compile_stage", 6),
    ],
)
def test_values_out_of_range_are_value_errors(key, value):
    with pytest.raises(ValueError) as caught:
        checked(key, value)
    assert isinstance(caught.value, UserError)


def test_unknown_names_list_the_known_and_the_nearest():
    """FC-164."""
    with pytest.raises(UnknownOption, match=r"did you mean run\.engine\?; known run options: engine, strict"):
        pypto.set_options(run_options={"engin": "cpu"})
    with pytest.raises(UnknownOption, match=r"did you mean run\.engine"):
        pypto.set_options(runtime_options={"engine": "cpu"})
    with pytest.raises(UnknownOptionArgument, match="did you mean compile_timeout"):
        pypto.set_host_options(compile_timeot=1)
    with pytest.raises(UnknownOption):
        pypto.get_global_config("no.such")


def test_every_verify_call_rewrites_the_tolerance():
    pypto.set_verify_options(pass_verify_error_tol=[0.1, 0.2])
    assert pypto.get_verify_options()["pass_verify_error_tol"] == [0.1, 0.2]
    pypto.set_verify_options(pass_verify_pass_filter=[])
    assert pypto.get_verify_options()["pass_verify_error_tol"] == [1e-3, 1e-3]
    assert pypto.get_verify_options()["pass_verify_pass_filter"] == ["no_verify"]


def test_print_options_always_write_all_four():
    assert pypto.get_global_config("tensor_print.threshold") == 1000
    pypto.set_print_options(precision=6)
    assert [pypto.get_global_config(f"tensor_print.{n}") for n in ("edgeitems", "precision", "threshold", "linewidth")] == [
        3,
        6,
        10,
        10,
    ]


# -- scopes --------------------------------------------------------------------------------------------------------------------


def test_the_scope_object_changes_with_every_change_only():
    before = current()
    assert current() is before
    pypto.set_cpu_options(threads=2)
    after = current()
    assert after is not before and before.get("cpu.threads") == 0 and after.get("cpu.threads") == 2


def test_scopes_nest_and_end():
    with scope("outer", {"run.engine": "reference"}), scope("inner", {"cpu.threads": 3}):
        assert (current().get("run.engine"), current().get("cpu.threads")) == ("reference", 3)
        pypto.set_run_options(engine="compare")
    assert (current().get("run.engine"), current().get("cpu.threads")) == ("cpu", 0)


def test_one_options_object_serves_threads_and_nesting():
    shared = pypto.options(cpu_options={"threads": 5})
    seen = []

    def use():
        with shared, shared:
            seen.append(current().get("cpu.threads"))
        seen.append(current().get("cpu.threads"))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == [0] * 4 + [5] * 4


def test_a_thread_starts_with_the_unscoped_settings_and_keeps_its_own():
    pypto.set_cpu_options(threads=2)
    seen = []

    def work():
        seen.append(current().get("cpu.threads"))
        pypto.set_cpu_options(threads=7)
        seen.append(current().get("cpu.threads"))

    with pypto.options(cpu_options={"threads": 4}):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [2, 7] and current().get("cpu.threads") == 2


def test_copied_contexts_are_separate():
    context = contextvars.copy_context()
    context.run(lambda: current() and scope("x").__enter__())
    assert current().name == "global"


def test_process_settings_survive_a_reset():
    from pypto import pypto_impl

    pypto_impl.SetGlobalConfig("pass.enable_slice", True)
    try:
        pypto.reset_options()
        assert pypto.get_pass_options()["enable_slice"] is True
    finally:
        from pypto.options import scopes

        scopes._PROCESS.clear()


def test_a_wrong_option_is_refused_where_it_is_written_and_changes_nothing():
    with pytest.raises(OptionOutOfRange):
        pypto.options(cpu_options={"threads": -1})
    with pytest.raises(OptionOutOfRange):
        pypto.set_options(run_options={"engine": "reference"}, cpu_options={"threads": -1})
    assert current().get("run.engine") == "cpu"


def test_the_tree_shows_open_scopes():
    with pypto.options("mine", cpu_options={"threads": 5}):
        lines = pypto.get_options_tree().splitlines()
    assert lines[:3] == ["global", "  mine", "    cpu.threads: 5"]


def test_config_scope_reads():
    with pypto.options(vec_tile_shapes=[2, 3], pass_options={"enable_slice": True}):
        view = pypto.get_current_scope()
        assert view.get_vec_tile_shapes() == [2, 3] and view.get_pass_options()["enable_slice"] is True
        assert view.has("run.engine") and not view.has("run.nope")
        assert "pass.enable_slice: True" in repr(view)
        with pytest.raises(KeyError, match="Option not found: run.nope"):
            view.get_options_prefix("run.nope")


# -- environment ---------------------------------------------------------------------------------------------------------------


def test_environment_variables_are_read_and_checked():
    assert from_environment({"PYPTO_ENGINE": "compare", "PYPTO_THREADS": "3", "PYPTO_STRICT": "yes", "HOME": "/"}) == {
        "run.engine": "compare",
        "cpu.threads": 3,
        "run.strict": True,
    }
    for name, text in [("PYPTO_THREADS", "many"), ("PYPTO_THREADS", "-2"), ("PYPTO_STRICT", "maybe"), ("PYPTO_ENGINE", "gpu")]:
        with pytest.raises(EnvironmentValueInvalid, match=f"{name}='{text}'"):
            from_environment({name: text})


def test_an_unknown_variable_is_pointed_out_and_foreign_ones_are_not():
    with pytest.warns(UserWarning, match="PYPTO_ENGIN is not known[\\s\\S]*PYPTO_ENGINE"):
        from_environment({"PYPTO_ENGIN": "cpu"})
    assert from_environment({"PYPTO_DATADUMP_ENABLE": "true", "PYPTO_THIRD_PARTY_PATH": "x"}) == {}


def test_the_environment_counts_less_than_a_setting(monkeypatch):
    monkeypatch.setenv("PYPTO_ENGINE", "reference")
    pypto.reset_options()
    assert current().get("run.engine") == "reference"
    pypto.set_run_options(engine="compare")
    assert current().get("run.engine") == "compare"
