"""What a kernel may be called with: annotations, arrays of every kind, constants, run-time scalars, recompilation, aliasing."""

import copy
import enum
import pickle
import warnings

import ml_dtypes
import numpy as np
import pytest
import torch

import pypto
from blackbox import define, floats, integers, mistake, nans, quiet
from pypto.diagnostics import PyptoWarning

FP32, BF16, INT32 = pypto.DT_FP32, pypto.DT_BF16, pypto.DT_INT32


@pypto.frontend.jit
def add_one(x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([4, 4], FP32)):
    out[:] = x + 1.0


@pypto.frontend.jit()
def with_brackets(x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([4, 4], FP32)):
    out[:] = x + 1.0


@pypto.jit(
    runtime_options={"run_mode": pypto.RunMode.SIM},
    pass_options={"enable_slice": True},
    new_ir=True,
    create_new_logical_tensor=True,
)
def with_options(x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([4, 4], FP32)):
    out[:] = x + 1.0


@pypto.jit(
    runtime_options={"run_mode": 1}, host_options={}, codegen_options=None, verify_options={}, debug_options={}, new_ir=False
)
def old_spelling(x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([4, 4], FP32)):
    out[:] = x + 1.0


@pypto.jit
def unannotated(x, out):
    out[:] = x + 1.0


@pypto.jit
def subscripted(x: pypto.Tensor[[4, 4], FP32], out: pypto.Tensor[[4, 4], FP32]):
    out[:] = x + 1.0


@pypto.jit
def shapeless(x: pypto.Tensor(), out: pypto.Tensor([], FP32)):
    out[:] = x + 1.0


@pypto.jit
def marked(x: pypto.Tensor([pypto.STATIC, ...], FP32), out: pypto.Tensor([...], FP32)):
    out[:] = x + 1.0


@pypto.jit
def lower_case(x: pypto.tensor([4, 4], FP32), out: pypto.tensor((4, 4))):
    out[:] = x + 1.0


@pypto.jit
def text_annotations(x: "pypto.Tensor([4, 4], FP32)", out: "pypto.Tensor([4, 4], FP32)"):
    out[:] = x + 1.0


@pypto.jit
def bare_class(x: pypto.Tensor, out: pypto.Tensor):
    out[:] = x + 1.0


KERNELS = [
    add_one,
    with_brackets,
    with_options,
    old_spelling,
    unannotated,
    subscripted,
    shapeless,
    marked,
    lower_case,
    text_annotations,
    bare_class,
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.__name__)
def test_every_way_to_declare_a_kernel(engine, kernel):
    x, out = floats(4, 4), nans(4, 4)
    with quiet():
        kernel(x, out)
    assert np.array_equal(out, x + np.float32(1))


def test_a_kernel_keeps_its_name_and_docstring():
    @pypto.jit
    def documented(x: pypto.Tensor([4, 4], FP32)):
        """What it does."""
        x[:] = x + 1.0

    assert documented.__name__ == "documented" and documented.__doc__ == "What it does."
    documented.__name__ = "renamed"
    assert documented.__name__ == "renamed"


@pytest.mark.parametrize("thing", [3, "text", None, len, print, object()], ids=lambda thing: type(thing).__name__)
def test_decorating_what_is_not_a_function(thing):
    if thing is None:
        return
    with mistake(kind=TypeError):
        pypto.jit(thing)


# Arrays of every kind, without a copy


def as_dlpack(tensor):
    class Producer:
        """Another library's array: it knows DLPack and nothing else."""

        def __dlpack__(self, **options):
            return tensor.numpy().__dlpack__(**options)

        def __dlpack_device__(self):
            return tensor.numpy().__dlpack_device__()

    return Producer()


WRAPPINGS = {
    "torch": lambda t: t,
    "numpy": lambda t: t.numpy(),
    "from_torch": lambda t: pypto.from_torch(t),
    "from_torch_named": lambda t: pypto.from_torch(t, "named", dynamic_axis=[0]),
    "dlpack": as_dlpack,
}


@pytest.mark.parametrize("outgoing", WRAPPINGS)
@pytest.mark.parametrize("incoming", WRAPPINGS)
def test_arrays_of_every_kind_go_in_and_out_without_a_copy(engine, incoming, outgoing):
    x, out = torch.from_numpy(floats(4, 4)), torch.full((4, 4), float("nan"))
    where = out.data_ptr()
    add_one(WRAPPINGS[incoming](x), WRAPPINGS[outgoing](out))
    assert out.data_ptr() == where
    assert torch.equal(out, x + 1)


def test_dlpack_that_goes_through_torch_keeps_its_own_message(tmp_path):
    class Producer:
        def __init__(self, tensor):
            self.tensor = tensor

        def __dlpack__(self, **options):
            return self.tensor.__dlpack__()

        def __dlpack_device__(self):
            return self.tensor.__dlpack_device__()

    kernel = define(tmp_path, "@jit\ndef kernel(x: Tensor(), out: Tensor()):\n    out[:] = x\n")
    x, out = torch.ones(8, 4, dtype=torch.bfloat16), torch.zeros(8, 4, dtype=torch.bfloat16)
    with mistake("not all tensors are contiguous", "x.contiguous()"):
        kernel(Producer(torch.ones(4, 8, dtype=torch.bfloat16).t()), out)
    kernel(Producer(x), out)
    assert torch.equal(out, x)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"]
)
def test_torch_dtypes(engine, tmp_path, dtype):
    kernel = define(tmp_path, "@jit\ndef kernel(x: Tensor(), out: Tensor()):\n    out[:] = x\n")
    x = (torch.arange(-7, 8).reshape(3, 5) % 3).to(getattr(torch, dtype))
    out = torch.zeros_like(x)
    with quiet():
        kernel(x, out)
    assert torch.equal(out, x)


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.float16, np.uint16, np.uint32, np.uint64]
)
def test_numpy_and_ml_dtypes(engine, tmp_path, dtype):
    kernel = define(tmp_path, "@jit\ndef kernel(x: Tensor(), out: Tensor()):\n    out[:] = x\n")
    x = np.arange(15).reshape(3, 5).astype(dtype)
    out = np.zeros_like(x)
    with quiet():
        kernel(x, out)
    assert np.array_equal(out.view(np.uint8), x.view(np.uint8))


def test_a_bf16_numpy_array_computes(engine, tmp_path):
    kernel = define(
        tmp_path, "@jit\ndef kernel(x: Tensor([4, 4], DT_BF16), out: Tensor([4, 4], DT_BF16)):\n    out[:] = x * 3.0\n"
    )
    x = floats(4, 4).astype(ml_dtypes.bfloat16)
    out = np.zeros_like(x)
    kernel(x, out)
    assert np.array_equal(out, x * ml_dtypes.bfloat16(3))


@pytest.mark.parametrize(
    "bad", [None, 3, 2.5, "x", [[1.0] * 4] * 4, object(), np.float32(3), {}, add_one], ids=lambda b: type(b).__name__
)
def test_what_is_not_a_tensor_is_refused(bad):
    with mistake("x", "add_one"):
        add_one(bad, nans(4, 4))


@pytest.mark.parametrize(
    "bad, fragments",
    [
        (lambda: floats(4, 5), ["4", "5"]),
        (lambda: floats(3, 4), ["3", "4"]),
        (lambda: floats(4), ["dimension"]),
        (lambda: floats(1, 4, 4), ["dimension"]),
        (lambda: floats(4, 4).astype(np.float64), ["dtype"]),
        (lambda: floats(4, 4).astype(np.int32), ["dtype"]),
        (lambda: torch.zeros(4, 4, dtype=torch.bfloat16), ["dtype"]),
        (lambda: torch.zeros(4, 4, dtype=torch.complex64), ["dtype"]),
        (lambda: np.zeros((4, 4), np.complex64), ["dtype"]),
        (lambda: np.zeros((4, 4), object), ["dtype"]),
        (lambda: np.zeros((4, 4), "datetime64[s]"), ["dtype"]),
        (lambda: np.zeros((4, 4), ">f4"), ["byte"]),
        (lambda: floats(4, 4).T, ["contiguous"]),
        (lambda: torch.zeros(4, 4).T, ["contiguous"]),
        (lambda: floats(8, 4)[::2], ["contiguous"]),
        (lambda: torch.zeros(4, 8)[:, :4], ["contiguous"]),
        (lambda: np.broadcast_to(np.float32(1), (4, 4)), ["contiguous"]),
        (lambda: torch.zeros(4, 4).to_sparse(), ["sparse"]),
        (lambda: torch.zeros(4, 4, device="meta"), ["meta"]),
        (lambda: torch.nn.Parameter(torch.zeros(4, 4)), ["requires_grad"]),
        (lambda: torch.zeros(4, 4).conj().imag if False else torch.zeros(4, 4, requires_grad=True), ["requires_grad"]),
    ],
)
def test_wrong_tensors_are_refused_with_the_reason(bad, fragments):
    with mistake("x", *fragments):
        add_one(bad(), nans(4, 4))


def test_contiguous_is_the_help():
    with mistake(".contiguous()", "not all tensors are contiguous"):
        add_one(torch.zeros(4, 4).T, nans(4, 4))


def test_views_of_any_offset_are_fine(engine):
    store, result = floats(9, 4), nans(9, 4)
    add_one(store[3:7], result[1:5])
    assert np.array_equal(result[1:5], store[3:7] + np.float32(1))
    assert np.isnan(result[0]).all() and np.isnan(result[5:]).all()


def test_a_misaligned_array(engine):
    raw = np.zeros(4 * 16 + 1, np.uint8)
    x = raw[1:].view(np.float32).reshape(4, 4)
    out = nans(4, 4)
    try:
        add_one(x, out)
    except pypto.error.PyptoError as error:
        assert "align" in str(error)
        return
    assert (out == 1).all()


def test_a_read_only_output_is_refused(engine):
    out = nans(4, 4)
    out.setflags(write=False)
    with mistake("out", "read-only"):
        add_one(floats(4, 4), out)


def test_a_read_only_input_is_fine(engine):
    x, out = floats(4, 4), nans(4, 4)
    x.setflags(write=False)
    add_one(x, out)
    assert np.array_equal(out, x + np.float32(1))


def test_requires_grad_is_fine_under_no_grad(engine):
    x, out = torch.ones(4, 4, requires_grad=True), torch.empty(4, 4)
    with torch.no_grad():
        add_one(x, out)
    assert (out == 2).all()


@pytest.mark.parametrize(
    "call, fragments",
    [
        (lambda: add_one(), ["Expected at least 2 tensor argument(s), got 0"]),
        (lambda: add_one(nans(4, 4)), ["Expected at least 2 tensor argument(s), got 1"]),
        (lambda: add_one(nans(4, 4), nans(4, 4), nans(4, 4)), ["Too many positional arguments"]),
        (lambda: add_one(nans(4, 4), nans(4, 4), scale=1), ["Unknown keyword argument(s)", "scale"]),
        (lambda: scaled(nans(4, 4), nans(4, 4)), ["Missing required non-tensor argument 'factor'"]),
        (lambda: scaled(nans(4, 4), nans(4, 4), torch.ones(1)), ["Non-tensor parameter 'factor' must not be a torch.Tensor"]),
        (lambda: scaled(nans(4, 4), nans(4, 4), 1.0, factor=2.0), ["factor"]),
    ],
)
def test_wrong_argument_lists(call, fragments):
    with mistake(*fragments):
        call()


@pypto.jit
def scaled(x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([4, 4], FP32), factor, shift=0.5, *, sign=1):
    out[:] = (x * factor + shift) * float(sign)


def test_defaults_and_keywords(engine):
    x = integers(4, 4)
    for arguments, keywords, expected in [
        ((2.0,), {}, x * 2 + 0.5),
        ((2.0, 1.0), {}, x * 2 + 1),
        ((), {"factor": 3.0, "shift": 0.0}, x * 3),
        ((2.0,), {"shift": 1.5, "sign": -1}, -(x * 2 + 1.5)),
    ]:
        out = nans(4, 4)
        scaled(x, out, *arguments, **keywords)
        assert np.array_equal(out, expected)


def test_a_tensor_after_a_constant_is_refused_at_decoration(tmp_path):
    with mistake("x"):
        define(tmp_path, "@jit\ndef kernel(scale, x: Tensor([4], DT_FP32)):\n    x[:] = x * scale\n")


# Constants and run-time scalars


class Mode(enum.Enum):
    PLUS = 1
    MINUS = 2


@pypto.jit
def configured(out: pypto.Tensor([4, 4], FP32), mode=Mode.PLUS, rows=(0, 1), table=None):
    out[:] = pypto.full([4, 4], 1.0 if mode is Mode.PLUS else -1.0, FP32)
    for r in rows:
        out[r : r + 1, :] = pypto.full([1, 4], float((table or {}).get(r, 5)), FP32)


def test_constants_are_part_of_the_key():
    out = nans(4, 4)
    before = configured.compilations
    configured(out)
    configured(out, Mode.PLUS)
    assert configured.compilations == before + 1
    configured(out, Mode.MINUS, [2], {2: 7})
    assert configured.compilations == before + 2
    assert (out[2] == 7).all() and (out[0] == -1).all()
    configured(out, Mode.MINUS, [2], {2: 7})
    assert configured.compilations == before + 2
    configured(out, Mode.MINUS, [2], {2: 8})
    assert (out[2] == 8).all()


def test_equal_text_is_not_equality(engine):
    """Two constants that print alike are still two constants."""

    class Loud:
        def __init__(self, value):
            self.value = value

        def __repr__(self):
            return "Loud"

    @pypto.jit
    def loud(out: pypto.Tensor([4], FP32), thing):
        out[:] = pypto.full([4], thing.value, FP32)

    for value in (1.0, 2.0):
        out = nans(4)
        loud(out, Loud(value))
        assert (out == value).all()


def test_one_and_true_and_one_point_zero_are_different_constants(engine):
    @pypto.jit
    def typed(out: pypto.Tensor([4], FP32), thing):
        out[:] = pypto.full([4], {"int": 1.0, "bool": 2.0, "float": 3.0}[type(thing).__name__], FP32)

    for value, expected in [(1, 1), (True, 2), (1.0, 3)]:
        out = nans(4)
        typed(out, value)
        assert (out == expected).all()


@pypto.jit
def run_time(
    x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([4, 4], FP32), k: pypto.SymbolicScalar, by: pypto.SymbolicScalar = 1.0
):
    out[:] = x * by
    if k > 2:
        out[0:1, :] = x[k : k + 1, :]


def test_run_time_scalars_do_not_recompile(engine):
    x = integers(4, 4)
    before = run_time.compilations
    for k, by in [(0, 2.0), (1, 0.5), (3, -1.0), (2, 4.0)]:
        out = nans(4, 4)
        run_time(x, out, k, by)
        expected = x * by
        if k > 2:
            expected[0] = x[k]
        assert np.array_equal(out, expected)
    assert run_time.compilations == before + 1


@pytest.mark.parametrize("bad", ["3", None, [1], 2**70, torch.ones(2), 1j], ids=str)
def test_wrong_run_time_scalars(bad):
    with mistake("k"):
        run_time(integers(4, 4), nans(4, 4), bad)


def test_the_eighth_specialisation_warns():
    @pypto.jit
    def special(out: pypto.Tensor([4], FP32), k):
        out[:] = pypto.full([4], float(k), FP32)

    out = nans(4)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(7):
            special(out, k)
        early = [w for w in caught if issubclass(w.category, PyptoWarning)]
        special(out, 7)
    assert not early
    texts = [str(w.message) for w in caught if issubclass(w.category, PyptoWarning)]
    assert any("k" in text and "pypto.SymbolicScalar" in text for text in texts), texts


# Shape marks and recompilation


def shape_kernel(tmp_path, shape):
    return define(
        tmp_path,
        f"""
@jit
def kernel(x: Tensor({shape}, DT_FP32), out: Tensor([2, 4], DT_FP32)):
    out[:] = x[0:2, 0:4] + 1.0
""",
    )


def sizes(kernel, *shapes):
    for rows, width in shapes:
        x, out = integers(rows, width), nans(2, 4)
        with quiet():
            kernel(x, out)
        assert np.array_equal(out, x[:2, :4] + 1)
    return kernel.compilations


def test_dynamic_axes_do_not_recompile(tmp_path):
    for mark in ("DYNAMIC", "DYN", "-1", "frontend.dynamic('B')"):
        assert sizes(shape_kernel(tmp_path, f"[{mark}, 4]"), (2, 4), (3, 4), (9, 4)) == 1, mark


def test_static_axes_recompile(tmp_path):
    assert sizes(shape_kernel(tmp_path, "[STATIC, 4]"), (2, 4), (3, 4), (2, 4)) == 2
    assert sizes(shape_kernel(tmp_path, "[DYNAMIC, STATIC]"), (2, 4), (3, 4), (3, 5), (8, 5)) == 2


def test_three_dots_and_empty_shapes_recompile(tmp_path):
    assert sizes(shape_kernel(tmp_path, "[DYNAMIC, ...]"), (2, 4), (3, 4), (3, 5)) == 2
    assert sizes(shape_kernel(tmp_path, "[...]"), (2, 4), (3, 4), (2, 4)) == 2
    assert sizes(shape_kernel(tmp_path, "[]"), (2, 4), (3, 4), (2, 4)) == 2


def test_fixed_axes_must_match(tmp_path):
    kernel = shape_kernel(tmp_path, "[2, DYNAMIC]")
    assert sizes(kernel, (2, 4), (2, 8)) == 1
    with mistake("The shape of 1st input tensor"):
        kernel(integers(3, 4), nans(2, 4))
    with mistake("The number of dimensions of 1st input tensor"):
        kernel(integers(2, 4, 1), nans(2, 4))


def test_another_dtype_recompiles_or_is_refused(tmp_path):
    kernel = define(tmp_path, "@jit\ndef kernel(x: Tensor([4]), out: Tensor([4])):\n    out[:] = x + x\n")
    for dtype in (np.float32, np.int32, np.float16):
        x, out = np.arange(4).astype(dtype), np.zeros(4, dtype)
        kernel(x, out)
        assert np.array_equal(out, x + x)
    assert kernel.compilations == 3


def test_an_empty_dynamic_axis(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([DYNAMIC, 4], DT_FP32), out: Tensor([DYNAMIC, 4], DT_FP32)):
    for i in loop(x.shape[0]):
        out[i : i + 1, :] = x[i : i + 1, :] + 1.0
""",
    )
    for rows in (0, 3):
        x, out = integers(rows, 4), nans(rows, 4)
        kernel(x, out)
        assert np.array_equal(out, x + 1)


def test_dynamic_tensors_as_operands_warn_on_the_cpu(engine, tmp_path):
    kernel = define(
        tmp_path,
        "@jit\ndef kernel(x: Tensor([DYNAMIC, 4], DT_FP32), out: Tensor([DYNAMIC, 4], DT_FP32)):\n    out[:] = x + 1.0\n",
    )
    x, out = integers(5, 4), nans(5, 4)
    with pytest.warns(pypto.diagnostics.PortabilityWarning, match=r"(?i)dynamic"):
        kernel(x, out)
    assert np.array_equal(out, x + 1)


# Aliasing


def test_the_same_storage_twice_is_one_storage(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(a: Tensor([4, 4], DT_FP32), b: Tensor([4, 4], DT_FP32)):
    b[0:1, :] = a[1:2, :] + 1.0
    b[1:2, :] = a[0:1, :] * 2.0
""",
    )
    for wrap in (lambda t: t, torch.from_numpy):
        x, y = integers(4, 4), nans(4, 4)
        kernel(wrap(x), wrap(y))
        assert np.array_equal(y[:2], np.stack([x[1] + 1, x[0] * 2]))
        both = integers(4, 4)
        kernel(wrap(both), wrap(both))
        first = integers(4, 4)[1] + 1
        assert np.array_equal(both[:2], np.stack([first, first * 2]))


def test_partial_overlap_with_something_written_is_an_error(engine):
    store = integers(9, 4)
    before = store.copy()
    with mistake("x", "out", "overlap"):
        add_one(store[0:4], store[2:6])
    assert np.array_equal(store, before)


def test_partial_overlap_of_inputs_is_fine(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(a: Tensor([4, 4], DT_FP32), b: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    out[:] = a + b
""",
    )
    store, out = integers(9, 4), nans(4, 4)
    kernel(store[0:4], store[2:6], out)
    assert np.array_equal(out, store[0:4] + store[2:6])


def test_neighbours_do_not_overlap(engine):
    store = integers(8, 4)
    x = store[:4].copy()
    add_one(store[:4], store[4:])
    assert np.array_equal(store[4:], x + 1)


def test_in_place_update(engine):
    x = integers(4, 4)
    add_one(x, x)
    assert np.array_equal(x, integers(4, 4) + 1)


def test_a_keyword_may_have_any_name():
    with mistake("Unknown keyword argument(s)", "self"):
        add_one(nans(4, 4), nans(4, 4), self=3)


def test_asking_for_an_option_by_something_else_than_text():
    for key in ([], {}, None, 3):
        with mistake("Option not found"):
            pypto.get_current_scope().get_options_prefix(key)


def freed():
    tensor = torch.ones(4, 4)
    tensor.untyped_storage().resize_(0)
    return tensor


def cut_short():
    tensor = torch.ones(4, 4)
    tensor.untyped_storage().resize_(8)
    return tensor


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(4, 4)


@pytest.mark.parametrize(
    ("make", "fragments"),
    [
        (freed, ["'x'", "without memory"]),
        (cut_short, ["'x'", "64 bytes", "storage (8)"]),
        (fake, ["'x'", "FakeTensor without memory", "custom op"]),
        (lambda: torch.nested.nested_tensor([torch.ones(4), torch.ones(4)]), ["nested"]),
        (lambda: np.ma.array(np.ones((4, 4), np.float32), mask=True), ["masked", "filled"]),
    ],
)
def test_tensors_without_numbers_of_their_own_are_refused(tmp_path, make, fragments):
    kernel = define(
        tmp_path, "@jit\ndef kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):\n    out[:] = x + 1.0\n"
    )
    with mistake(*fragments):
        kernel(make(), torch.zeros(4, 4))


def test_a_freed_tensor_is_refused_by_a_kernel_that_ran_before(engine):
    x = torch.ones(4, 4)
    for _ in range(3):
        add_one(x, torch.zeros(4, 4))
    for arguments in ((freed(), torch.zeros(4, 4)), (x, freed())):
        with mistake("without memory"):
            add_one(*arguments)


def test_a_kernel_inside_a_transform_of_torch_is_refused():
    def call(x):
        out = torch.zeros_like(x)
        add_one(x, out)
        return out

    for transform in (
        lambda: torch.func.vmap(call)(torch.ones(2, 4, 4)),
        lambda: torch.func.jvp(call, *[(torch.ones(4, 4),)] * 2),
    ):
        with mistake("'x'", "without memory"):
            transform()


def test_a_kernel_is_pickled_by_name_and_copied_as_itself():
    assert pickle.loads(pickle.dumps(add_one)) is add_one
    assert copy.deepcopy({"kernel": add_one})["kernel"] is add_one
