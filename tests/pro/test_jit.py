"""Launches of tile kernels: forms, arguments, specialisation, tiling classes and keys, element types, caching, artefacts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import pypto_pro.language as pl
from pypto.errors.base import UserError
from pypto_pro.runtime.tilingkey import TilingKeyField, TilingKeySchema

OUT = pl.Tensor[[16], pl.DT_INT64]


def numbers(count=16, dtype=np.int64):
    return np.zeros(count, dtype)


@pl.jit
def add_number(out: OUT, n: pl.DT_INT64 = 5):
    out[pl.get_block_idx()] = n


def refused(kind, *fragments):
    """The block must raise a catalogue error of this builtin kind that names every fragment."""
    return _Refused(kind, fragments)


class _Refused:
    def __init__(self, kind, fragments):
        self.kind, self.fragments = kind, fragments

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        assert isinstance(error, self.kind) and isinstance(error, UserError), error
        for fragment in self.fragments:
            assert fragment in str(error), str(error)
        return True


# -- forms ----------------------------------------------------------------------------------------------------------------


def test_launch_forms():
    for launch in (add_number, add_number[1], add_number[None, 1], add_number["any stream", 1]):
        out = numbers()
        assert launch(out, 7) is None
        assert out[0] == 7 and not out[1:].any()
    out = numbers()
    add_number[3](out, n=2)
    assert out[:4].tolist() == [2, 2, 2, 0]
    add_number(out)
    assert out[0] == 5


@pytest.mark.parametrize("blocks", [0, -1, True, 1.0, None, "1"])
def test_block_dim_must_be_positive(blocks):
    with refused(ValueError, "block_dim must be a positive integer"):
        add_number[None, blocks]


def test_launch_arity():
    with refused(ValueError, "Expected kernel[stream, block_dim]"):
        add_number[None, 1, {}]


def test_plain_functions_stay_plain():
    @pl.jit
    def add(a, b: int = 2):
        return a + b

    assert add(1) == 3


def test_decorator_arguments():
    with refused(TypeError, "jit() got unexpected keyword argument(s): speed"):
        pl.jit(speed=3)
    with refused(ValueError, "Unsupported arch 'a7'"):
        pl.jit(arch="a7")
    with refused(TypeError, "auto_mutex"):
        pl.jit(auto_mutex=1)
    with refused(TypeError, "PipelineConfig"):
        pl.jit(pipeline=2)


# -- arguments ------------------------------------------------------------------------------------------------------------


@pl.jit
def typed(x: pl.Tensor[[16, pl.DYNAMIC], pl.DT_FP32], p: pl.Ptr[pl.DT_FP32], n: pl.DT_INT32, f: pl.DT_FP32, b: pl.DT_BOOL):
    pass


@pytest.mark.parametrize(
    "change, kind, fragments",
    [
        ({"x": [1.0]}, TypeError, ("parameter 'x'", "list")),
        ({"x": np.zeros((16, 4))}, TypeError, ("parameter 'x'", "DT_FP32", "DT_DOUBLE")),
        ({"x": np.zeros((16,), "f")}, ValueError, ("parameter 'x'", "rank")),
        ({"x": np.zeros((8, 4), "f")}, ValueError, ("parameter 'x'", "axis 0", "expected 16", "got 8")),
        ({"x": np.zeros((16, 0), "f")}, ValueError, ("parameter 'x'", "axis 1", "positive")),
        ({"x": np.zeros((4, 16), "f").T}, Exception, ("contiguous",)),
        ({"p": 3}, TypeError, ("'p'",)),
        ({"n": 1.5}, TypeError, ("'n'", "DT_INT32")),
        ({"n": 2**31}, ValueError, ("'n'", "does not fit")),
        ({"f": 1}, TypeError, ("'f'", "DT_FP32")),
        ({"b": 1}, TypeError, ("'b'", "DT_BOOL")),
    ],
)
def test_arguments_are_checked(change, kind, fragments):
    given = {"x": np.zeros((16, 4), "f"), "p": None, "n": 1, "f": 1.0, "b": True} | change
    with refused(kind, *fragments):
        typed(**given)


def test_good_arguments():
    typed(np.zeros((16, 4), "f"), np.zeros(3, "f"), True, 1.0, False)
    typed(None, None, 1, 2.0, True)


def test_argument_count():
    with refused(TypeError, "Expected 5 args, got 1"):
        typed(None)
    with refused(TypeError, "unexpected keyword argument 'z'"):
        typed(None, None, 1, 1.0, True, z=1)


def test_half_scalars_are_refused():
    @pl.jit
    def kernel(out: OUT, h: pl.DT_FP16):
        pass

    with refused(TypeError, "FP16/BF16 scalars are not supported"):
        kernel(numbers(), 1.0)


def test_torch_tensors_of_every_kind():
    torch = pytest.importorskip("torch")

    @pl.jit(datatype={"x": "T", "out": "T"})
    def copy(x: pl.Tensor[[16, 64], T], out: pl.Tensor[[16, 64], T]):  # noqa: F821
        tile = pl.make_tile_group(type=pl.TileType([16, 64], T), addrs=0, mutex_ids=[0]).next()  # noqa: F821
        pl.load(tile, x, [0, 0])
        pl.store(out, tile, [0, 0])

    for name, dtype in [
        ("float16", pl.DT_FP16),
        ("bfloat16", pl.DT_BF16),
        ("float32", pl.DT_FP32),
        ("int8", pl.DT_INT8),
        ("int64", pl.DT_INT64),
        ("uint8", pl.DT_HF8),
        ("float8_e5m2", pl.DT_FP8E5M2),
    ]:
        x = torch.randint(0, 100, (16, 64)).to(getattr(torch, name))
        out = torch.zeros_like(x)
        copy[None, 1, {"x": dtype, "out": dtype}](x, out)
        assert torch.equal(out.view(torch.uint8), x.view(torch.uint8)), name


# -- shape policies -------------------------------------------------------------------------------------------------------


def test_static_axes_are_constants_and_part_of_the_key():
    @pl.jit
    def kernel(x: pl.Tensor[[pl.STATIC, pl.DYNAMIC], pl.DT_FP32], out: OUT):
        if x.shape[0] == 2:
            out[0] = 100
        else:
            out[0] = x.shape[0]
        out[1] = x.shape[1]

    for shape, expected in (((2, 3), [100, 3]), ((4, 3), [4, 3]), ((4, 9), [4, 9])):
        out = numbers()
        kernel(np.zeros(shape, "f"), out)
        assert out[:2].tolist() == expected
    programs = next(iter(kernel._specialisations.values())).programs
    assert len(programs) == 2  # the dynamic axis is not part of the key


def test_open_ended_shapes():
    @pl.jit
    def kernel(x: pl.Tensor[[pl.DYNAMIC, ...], pl.DT_FP32], out: OUT):
        total = 1
        out[0] = x.shape[0] * total

    for shape in ((3,), (3, 4), (3, 4, 5)):
        out = numbers()
        kernel(np.zeros(shape, "f"), out)
        assert out[0] == 3


def test_null_tensors_have_no_extent():
    @pl.jit
    def kernel(x: pl.Tensor[[pl.DYNAMIC], pl.DT_FP32], out: OUT):
        out[0] = x.shape[0] + 7

    out = numbers()
    kernel(None, out)
    assert out[0] == 7


def test_compiling_without_a_launch():
    @pl.jit
    def kernel(x: pl.Tensor[[pl.STATIC, 4], pl.DT_FP32], out: OUT):
        out[0] = x.shape[0]

    with refused(ValueError, "static_shapes", "x"):
        kernel.compile()
    with refused(ValueError, "unknown", "y"):
        kernel.compile({"y": (1, 2)})
    with refused(TypeError, "mapping"):
        kernel.compile([1])
    assert "out" in kernel.compile({"x": (8, 4)}).text


# -- tiling classes -------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Sizes:
    rows: int
    scale: float
    fast: bool
    steps: int[3]


@pl.jit
def tiled(out: OUT, sizes: Sizes):
    out[0] = sizes.rows + sizes.steps[1]
    out[1] = int(sizes.scale * 4)
    for i in pl.range(3):
        out[2 + i] = sizes.steps[i]
    if sizes.fast:
        out[5] = 1
    steps = sizes.steps
    out[6] = steps[2]


def test_tiling_classes_are_passed_by_value():
    out = numbers()
    tiled(out, Sizes(10, 0.5, True, [1, 2, 3]))
    assert out[:7].tolist() == [12, 2, 1, 2, 3, 1, 3]


@pytest.mark.parametrize(
    "value, fragment",
    [
        ({"steps": [1, 2]}, "expected 3 elements, got 2"),
        ({"steps": 5}, "expected an indexable sequence"),
        ({"rows": 1.5}, "'sizes.rows' must be int"),
    ],
)
def test_tiling_values_are_checked(value, fragment):
    given = {"rows": 1, "scale": 0.5, "fast": False, "steps": [1, 2, 3]} | value
    with refused(Exception, fragment):
        tiled(numbers(), Sizes(**given))
    with refused(TypeError, "Sizes"):
        tiled(numbers(), given)


# -- tiling keys and element types ------------------------------------------------------------------------------------------


class Key:
    WIDE = TilingKeyField(bits=1, values=[0, 1])
    MODE = TilingKeyField(bits=2, values=[0, 1, 5])

    def is_valid(self, key):
        return key != (1, 5)


@pl.jit(tiling_key=Key)
def keyed(out: OUT):
    if WIDE == 1:  # noqa: F821
        out[0] = 10 + MODE  # noqa: F821
    else:
        out[0] = MODE  # noqa: F821


def test_tiling_keys_are_constants():
    for wide in (0, 1):
        for mode in (0, 1):
            out = numbers()
            keyed[None, 1, {"WIDE": wide, "MODE": mode}](out)
            assert out[0] == 10 * wide + mode
    assert TilingKeySchema(Key).pack({"WIDE": 0, "MODE": 5}) == 4
    assert (1, 5) not in TilingKeySchema(Key).enumerate_valid() and len(TilingKeySchema(Key).enumerate_valid()) == 5


def test_tiling_keys_are_checked():
    with refused(ValueError, "compile-time specialization and cannot be called directly"):
        keyed(numbers())
    with refused(ValueError, "Expected kernel[stream, block_dim, tilingkey]"):
        keyed[None, 1](numbers())
    with refused(ValueError, "candidate"):
        keyed[None, 1, {"WIDE": 0, "MODE": 2}](numbers())
    with refused(ValueError, "is_valid"):
        keyed[None, 1, {"WIDE": 1, "MODE": 5}](numbers())
    with refused(ValueError, "exactly the fields"):
        keyed[None, 1, {"WIDE": 1}](numbers())
    with refused(ValueError, "kernel parameter"):

        @pl.jit(tiling_key=Key)
        def clash(WIDE: OUT):
            pass


MODULE_WIDE = 3


def test_tiling_key_names_must_be_free():
    class Other:
        MODULE_WIDE = TilingKeyField(bits=1, values=[0, 1])

    with refused(ValueError, "module-level variable"):

        @pl.jit(tiling_key=Other)
        def clash(out: OUT):
            pass


@pytest.mark.parametrize(
    "bits, values, fragment",
    [
        (0, [0], "bits > 0"),
        (1, [], "non-empty"),
        (1, [0.5], "values must be ints"),
        (1, [True], "values must be ints"),
        (2, [1, 1], "must be unique"),
        (1, [0, 1, 2], "exceed"),
    ],
)
def test_tiling_key_fields(bits, values, fragment):
    with refused(ValueError, fragment):
        TilingKeyField(bits=bits, values=values)


def test_datatype_rules():
    @pl.jit(datatype={"x": "T", "y": "T"})
    def kernel(x: pl.Tensor[[4], T], y: pl.Tensor[[4], T]):  # noqa: F821
        pass

    with refused(TypeError, "must be a DataType"):
        kernel[None, 1, {"x": 1, "y": pl.DT_FP32}](None, None)
    with refused(ValueError, "disagree"):
        kernel[None, 1, {"x": pl.DT_FP16, "y": pl.DT_FP32}](None, None)
    with refused(ValueError, "exactly the keys"):
        kernel[None, 1, {"x": pl.DT_FP16}](None, None)
    for wrong, fragment in (({}, "non-empty"), ({"z": "T"}, "unknown"), ({"x": "y"}, "kernel parameter"), ({"x": "1"}, "symbol")):
        with refused(ValueError, fragment):
            pl.jit(datatype=wrong)(kernel.definition.function)


def test_both_specialisations():
    @pl.jit(tiling_key=Key, datatype={"x": "T"})
    def kernel(x: pl.Tensor[[4], T]):  # noqa: F821
        pass

    with refused(ValueError, "tilingkey, datatype"):
        kernel[None, 1, {"WIDE": 0, "MODE": 0}](None)
    kernel[None, 1, {"WIDE": 0, "MODE": 0}, {"x": pl.DT_FP16}](None)


# -- caching, artefacts, settings -------------------------------------------------------------------------------------------

FACTOR = 3


def factor():
    return FACTOR


@pl.jit
def scaled(out: OUT):
    out[0] = factor() * 10


def test_a_rebound_global_is_noticed(monkeypatch):
    out = numbers()
    scaled(out)
    assert out[0] == 30
    monkeypatch.setitem(globals(), "FACTOR", 4)
    scaled(out)
    assert out[0] == 40
    monkeypatch.setitem(globals(), "factor", lambda: 7)
    scaled(out)
    assert out[0] == 70


def test_artefacts_go_where_the_variable_says(tmp_path, monkeypatch):
    monkeypatch.setenv("PYPTOPRO_BUILD_DIR", str(tmp_path))

    @pl.jit(name="my kernel")
    def kernel(out: OUT):
        out[0] = 1

    kernel(numbers())
    assert kernel.folder == tmp_path / "jit__my_kernel__950" / "tk_none"
    assert "kernel kernel(out" in (kernel.folder / "core_programs.txt").read_text()
    assert (kernel.folder / "memory.txt").exists()


def test_the_report_of_the_last_launch():
    @pl.jit
    def kernel(out: OUT):
        out[0] = 1

    assert kernel.last_report is None
    kernel(numbers())
    assert kernel.last_report.cycles > 0
    with pl.simulate(timing=False, seed=1):
        kernel(numbers())
    assert kernel.last_report.cycles == 0


def test_simulate_checks_its_options():
    for wrong in ({"check": 1}, {"seed": "x"}, {"timing": None}):
        with refused(ValueError, "pl.simulate"):
            pl.simulate(**wrong)


def test_the_chip_is_chosen_by_arch_and_by_simulate():
    @pl.jit(arch="a3")
    def kernel(out: OUT):
        out[0] = 1

    kernel(numbers())
    assert kernel.last_compiled.program.chip == "910B"
    with pl.simulate(chip="950"):
        kernel(numbers())
    assert kernel.last_compiled.program.chip == "950"


def test_a_failing_assertion_can_be_passed_over(capsys):
    @pl.jit
    def kernel(out: OUT):
        pl.pto_assert(out[0] > 0, "it is %d", out[0])
        out[1] = 1

    out = numbers()
    with pytest.raises(AssertionError, match="out\\[0\\] > 0"):
        kernel(out)
    with pl.simulate(stop_on_assert=False):
        kernel(out)
    assert out[1] == 1 and "it is 0" in capsys.readouterr().out
