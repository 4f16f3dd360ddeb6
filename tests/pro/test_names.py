"""Names of the tile language: all exist, have their numbers, and say what they are for when used outside a kernel."""

import inspect

import pytest

import pypto_pro
import pypto_pro.language as pl
from pypto.errors.base import UserError
from pypto_pro.errors import ParserTypeError

DECLARED = [name for name in pl.__all__ if hasattr(getattr(pl, name), "__pypto_pro__")]

# Understood in kernels by spelling (tile API section 1.3).
HIDDEN = (
    "adds subs muls divs rems ands ors shls shrs maxs mins xors subc addsc subsc rem or_ not_"
    " row_sum row_max row_min row_prod col_sum col_max col_min col_prod row_argmax row_argmin col_argmax col_argmin"
    " row_expand col_expand row_expand_add row_expand_sub row_expand_mul row_expand_div row_expand_max row_expand_min"
    " row_expand_expdif col_expand_add col_expand_sub col_expand_mul col_expand_div col_expand_max col_expand_min"
    " col_expand_expdif row_reduce col_reduce row_expand_binop col_expand_binop cmp cmps sel sels full reshape ub_copy"
    " matmul_bias gemv gemv_acc gemv_bias store_fp move_fp fillpad_inplace fillpad_expand"
)


def test_every_name_exists():
    assert len(pl.__all__) > 190
    for name in pl.__all__:
        assert getattr(pl, name) is not None, name
    assert set(dir(pl)) == set(pl.__all__)


@pytest.mark.parametrize("name", DECLARED)
def test_declarations_bind_their_arguments_then_refuse(name):
    declaration = getattr(pl, name)
    signature = inspect.signature(declaration)
    with pytest.raises(TypeError):
        declaration(*range(50), not_a_parameter=1)
    required = [p for p in signature.parameters.values() if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    positional = [0 for p in required if p.kind is not p.KEYWORD_ONLY]
    named = {p.name: 0 for p in required if p.kind is p.KEYWORD_ONLY}
    with pytest.raises(RuntimeError, match=f"pl.{name} is a DSL declaration"):
        declaration(*positional, **named)
    assert declaration.__doc__


@pytest.mark.parametrize("name", HIDDEN.split())
def test_hidden_operations_have_rows(name):
    from pypto.ops.tile.table import find

    assert find(name) is not None
    assert name not in pl.__all__


def test_operations_of_the_namespaces():
    for space in (pl.system, pl.mutex):
        for name in dir(space):
            with pytest.raises((TypeError, RuntimeError)):
                getattr(space, name)()
        with pytest.raises(AttributeError, match="nothing_like_this"):
            space.nothing_like_this


@pytest.mark.parametrize(
    "name, members",
    [
        ("MemorySpace", "DDR Vec Mat Left Right Scaling Acc Bias ScaleLeft ScaleRight"),
        ("PipeType", "MTE1 MTE2 MTE3 M V S FIX ALL"),
        ("TensorLayout", "ND DN NZ ZN NN ZZ"),
        ("RoundMode", "CAST_NONE CAST_RINT CAST_ROUND CAST_FLOOR CAST_CEIL CAST_TRUNC CAST_ODD"),
        ("VFRoundMode", "CAST_ROUND CAST_RINT CAST_FLOOR CAST_CEIL CAST_TRUNC CAST_ODD CAST_HYBRID"),
        ("AccToVecMode", "SingleModeVec0 SingleModeVec1 DualModeSplitM DualModeSplitN"),
        ("CrossCoreSyncMode", "INTER_BLOCK INTER_SUBBLOCK INTRA_BLOCK UNICAST_BLOCK"),
        ("FunctionType", "Opaque InCore SimtVF SimtCallee"),
        ("MaskPattern", "ALL ALLF VL1 VL2 VL3 VL4 VL8 VL16 VL32 VL64 VL128 M3 M4 H Q"),
    ],
)
def test_enumerations_are_numbered_in_order(name, members):
    cls = getattr(pl, name)
    assert [one.name for one in cls] == members.split()
    assert [int(one) for one in cls] == list(range(len(cls)))


def test_data_types():
    assert pl.DT_FP32 is pypto_pro.DT_FP32 is pypto_pro.DataType.DT_FP32
    assert (pl.DT_BF16.get_bit(), pl.DT_BF16.bits(), pl.DT_BF16.is_float()) == (16, 16, True)
    assert (pl.DT_UINT8.is_int(), pl.DT_UINT8.is_signed(), pl.DT_UINT8.is_unsigned()) == (True, False, True)
    assert (pl.DT_BF16.to_string(), pl.DT_FP16.to_c_type_string()) == ("bfloat16", "half")
    assert pl.DT_FP8E4M3FN.to_string() == "fp8e4m3fn"


def test_what_runs_in_plain_python():
    assert list(pl.range(0, 6, 2)) == [0, 2, 4]
    with pl.section_cube(), pl.section_vector():
        record = pl.struct("S", a=1)
        record.a = 2
    assert record.a == 2
    assert pl.make_tuple(a=1).a == 1
    assert [one.a for one in pl.struct_array(3, "S", a=1)] == [1, 1, 1]
    with pytest.warns(DeprecationWarning, match="@pl.inline is deprecated"):
        assert pl.inline(len) is len


def test_register_level_names_are_refused_by_name():
    @pl.vector_function
    def scale(tile):
        pass

    assert scale.__name__ == "scale"
    with pytest.raises(NotImplementedError, match="vf.load_align.*come later"):
        pl.Vf.load_align
    with pytest.raises(NotImplementedError, match="pl.simt.launch"):
        pl.simt.launch()


# -- annotations --------------------------------------------------------------------------------------------------------------


def test_annotations_are_objects():
    tensor = pl.Tensor[[pl.DYNAMIC, 16, ...], pl.DT_FP16, pl.NZ]
    assert (tensor.shape, tensor.dtype, tensor.layout) == ([pl.DYNAMIC, 16, ...], pl.DT_FP16, pl.NZ)
    memory = pl.MemRef(pl.MemorySpace.Vec, 0, 64)
    assert pl.Tensor[[1], pl.DT_FP16, pl.ND, memory].memref is memory
    assert pl.Tile[[16, 16], pl.DT_FP16, memory].memref is memory
    assert pl.Ptr[pl.DT_INT8].dtype is pl.DT_INT8
    for wrong in (lambda: pl.Tensor[[1]], lambda: pl.Tile[[1, 1], pl.DT_FP16, 3], lambda: pl.Scalar(3)):
        with pytest.raises(ParserTypeError):
            wrong()


# -- tile types ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "space, dtype, layout, fractal",
    [
        ("Vec", "FP32", "ND", 0),
        ("Mat", "FP16", "NZ", 512),
        ("Left", "FP16", "NZ", 512),
        ("Right", "FP16", "ZN", 512),
        ("Acc", "FP32", "NZ", 1024),
        ("Acc", "INT32", "NZ", 1024),
        ("Scaling", "INT64", "ND", 0),
        ("ScaleLeft", "FP8E8M0", "ZZ", 32),
        ("ScaleRight", "FP8E8M0", "NN", 32),
    ],
)
def test_layouts_and_fractals_follow_the_memory(space, dtype, layout, fractal):
    type = pl.TileType([16, 64], getattr(pl, f"DT_{dtype}"), pl.MemorySpace[space]).core()
    assert (type.layout.name, type.fractal) == (layout, fractal)


def test_layouts_of_the_older_architecture(monkeypatch):
    monkeypatch.setenv("PYPTOPRO_JIT_ARCH", "a3")
    assert pl.TileType([16, 16], pl.DT_FP16, pl.MemorySpace.Left).layout is pl.ZZ
    assert pl.TileType([16, 16], pl.DT_FP16, pl.MemorySpace.Left, layout=pl.NZ).layout is pl.NZ
    with pytest.raises(ValueError, match="only supported on A5"):
        pl.TileType([16, 2], pl.DT_FP8E8M0, pl.MemorySpace.ScaleLeft)
    monkeypatch.setenv("PYPTOPRO_JIT_ARCH", "dav-3510")
    with pytest.raises(ValueError, match="tiles do not support ZZ layout on 'a5'"):
        pl.TileType([16, 16], pl.DT_FP16, pl.MemorySpace.Left, layout=pl.ZZ)


def test_impossible_layouts_name_the_possible_ones():
    """Field case FC-142."""
    with pytest.raises(ValueError, match=r"Acc tiles require layout in \{NZ\}, got ZN. Default for 'a5' is NZ."):
        pl.TileType([16, 16], pl.DT_FP32, pl.MemorySpace.Acc, layout=pl.ZN)
    with pytest.raises(UserError, match=r"Mat tiles require layout in \{NZ, ZN\}, got ND"):
        pl.TileType([16, 16], pl.DT_FP32, pl.MemorySpace.Mat, layout=pl.ND)
    assert pl.TileType([16, 16], pl.DT_INT64, pl.MemorySpace.Mat, layout=pl.ND).layout is pl.ND


def test_valid_shapes_of_tile_types():
    for dynamic in (None, [-1, -1]):
        assert pl.TileType([16, 64], pl.DT_FP32, valid_shape=dynamic).core().valid is None
    assert pl.TileType([16, 64], pl.DT_FP32, valid_shape=[3, -1]).core().valid == (3, 64)
    assert pl.TileType([16, 64], pl.DT_FP32, pad=2).pad is pl.TilePad.max


def test_the_stub_is_up_to_date():
    from pypto_pro.language.stub import FILE, stub

    assert FILE.read_text(encoding="utf-8") == stub(), "run python -m pypto_pro.language.stub"
