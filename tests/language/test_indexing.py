"""Reading and writing parts of tensors (tensor API sections 4.4 to 4.6, rulings applied)."""

import numpy as np
import pytest
import torch

import pypto
from blackbox import define, integers, mistake, nans, quiet

HEAD = "@jit\ndef kernel(x: Tensor([4, 6], DT_FP32), out: Tensor([4, 6], DT_FP32), n: SymbolicScalar):\n"


def body(tmp_path, text, head=HEAD):
    return define(tmp_path, head + "\n".join("    " + line for line in text.strip("\n").splitlines()))


def run(kernel, n=0):
    out = nans(4, 6)
    kernel(integers(4, 6), out, n)
    return out


READS = {
    "x[:]": np.s_[:],
    "x[:, :]": np.s_[:],
    "x[()]": np.s_[:],
    "x[...]": np.s_[...],
    "x[0:4]": np.s_[0:4],
    "x[1:3]": np.s_[1:3],
    "x[1:]": np.s_[1:],
    "x[:3]": np.s_[:3],
    "x[-2:]": np.s_[-2:],
    "x[:-1]": np.s_[:-1],
    "x[-3:-1, 2:5]": np.s_[-3:-1, 2:5],
    "x[..., 1:3]": np.s_[..., 1:3],
    "x[1:3, ...]": np.s_[1:3, ...],
    "x[2]": np.s_[2],
    "x[-1]": np.s_[-1],
    "x[:, 3]": np.s_[:, 3],
    "x[..., -1]": np.s_[..., -1],
    "x[1, 2:6]": np.s_[1, 2:6],
    "x[0:4:1]": np.s_[0:4:1],
    "x[n + 1]": np.s_[2],
    "x[n : n + 2]": np.s_[1:3],
    "x[n : n + 2, 3 * n : 3 * n + 2]": np.s_[1:3, 3:5],
    "x[2 * n, 1:4]": np.s_[2, 1:4],
}


@pytest.mark.parametrize("form", READS)
def test_reading_a_part(engine, tmp_path, form):
    x = integers(4, 6)
    expected = x[READS[form]]
    shape = list(expected.shape)
    kernel = define(
        tmp_path,
        f"""
@jit
def kernel(x: Tensor([4, 6], DT_FP32), out: Tensor({shape}, DT_FP32), n: SymbolicScalar):
    part = {form}
    assert list(part.shape) == {shape}, part.shape
    out[:] = part + 1.0
""",
    )
    out = nans(*shape)
    kernel(x, out, 1)
    assert np.array_equal(out, expected + 1)


@pytest.mark.parametrize("form", ["x[:]", "x[:, :]", "x[()]"])
def test_full_slices_are_the_tensor_itself(tmp_path, form):
    run(body(tmp_path, f"assert {form} is x\nout[:] = x + 0.0"))


@pytest.mark.parametrize(
    "form, fragments",
    [
        ("x[0, 0, 0]", ["3", "2"]),
        ("x[0:1, 0:1, 0:1]", ["3", "2"]),
        ("x[..., ...]", ["..."]),
        ("x[::2]", ["step"]),
        ("x[::-1]", ["step"]),
        ("x['a']", ["index"]),
        ("x[1.5]", ["index"]),
        ("x[None]", ["index"]),
        ("x[[0, 1]]", ["index"]),
        ("x[0 : n]", ["extent"]),
        ("x[4]", ["4"]),
        ("x[-5]", ["-5"]),
        ("x[3:1]", ["extent"]),
    ],
)
def test_reading_what_cannot_be_read(tmp_path, form, fragments):
    with mistake(*fragments, at=form):
        run(body(tmp_path, f"part = {form}\nout[:] = x + 1.0\nout[0:1, 0:1] = part.reshape([1, 1])"), 2)


def test_reading_one_element_of_a_float_tensor_needs_an_integer_tensor_or_works(engine, tmp_path):
    kernel = body(tmp_path, "value = x[1, 2]\nif value > 0.0:\n    out[:] = x + 1.0\nelse:\n    out[:] = x - 1.0")
    x = integers(4, 6)
    try:
        out = run(kernel)
    except pypto.error.PyptoError as error:
        assert "int32" in str(error).lower()
        return
    assert np.array_equal(out, x + 1 if x[1, 2] > 0 else x - 1)


WRITES = {
    "out[:] = y": np.s_[:],
    "out[:, :] = y": np.s_[:],
    "out[...] = y": np.s_[:],
    "out.move(y)": np.s_[:],
    "out.assemble(y, [0, 0])": np.s_[:],
    "pypto.assemble(y, [0, 0], out)": np.s_[:],
    "pypto.assemble([(y, [0, 0])], out)": np.s_[:],
    "out[0:4, 0:6] = y": np.s_[:],
    "out[1:3] = y[0:2]": np.s_[1:3],
    "out[1:, 2:] = y[0:3, 0:4]": np.s_[1:, 2:],
    "out[-2:, :] = y[0:2, :]": np.s_[-2:, :],
    "out[n:, 2 * n:] = y[0:3, 0:4]": np.s_[1:, 2:],
    "out[n : n + 2, :] = y[0:2, :]": np.s_[1:3],
    "out[:2] = y[0:2]": np.s_[:2],
    "out[:, :3] = y[:, 0:3]": np.s_[:, :3],
    "out[2] = y[0]": np.s_[2],
    "out[n] = y[0]": np.s_[1],
    "out[:, 3] = y[:, 0]": np.s_[:, 3],
    "out[n, 1:4] = y[0, 0:3]": np.s_[1, 1:4],
    "out[..., 1:3] = y[:, 0:2]": np.s_[..., 1:3],
    "pypto.assemble(y[0:2, 0:3], [n, n + 1], out)": np.s_[1:3, 2:5],
    "out[1:, :] = y[0:2, :]": np.s_[1:3],
}


@pytest.mark.parametrize("form", WRITES)
def test_writing_a_part(engine, tmp_path, form):
    out = run(body(tmp_path, f"y = x * 2.0\n{form}"), 1)
    written = np.zeros((4, 6), bool)
    written[WRITES[form]] = True
    assert np.isnan(out[~written]).all()
    extent = out[WRITES[form]].shape
    y = integers(4, 6) * 2
    source = y[0, :6] if out[WRITES[form]].ndim == 1 and "[:, 0]" not in form else y[:, 0] if "[:, 0]" in form else y
    assert np.array_equal(out[WRITES[form]], source[tuple(slice(0, e) for e in extent)])


@pytest.mark.parametrize(
    "form",
    [
        "out[0:2] = x",
        "out[1:3, :] = x[0:1, :]",
        "out[0:4, 0:2] = x[:, 0:3]",
        "out[:2] = x[0:3]",
        "out[2:, :] = x",
        "out[:] = x[0:2]",
        "out.move(x[0:2])",
        "pypto.assemble(x, [1, 0], out)",
        "pypto.assemble(x, [0], out)",
        "out[0] = x",
        "out[0, :] = x[0:1, :].reshape([3, 2])",
        "out[5] = x[0]",
    ],
)
def test_writing_what_does_not_fit(tmp_path, form):
    with mistake(at=form):
        run(body(tmp_path, form))


@pytest.mark.parametrize(
    "form", ["out[:] = 1.0", "out[:] = [[1.0]]", "out[:] = None", "out.move(3)", "pypto.assemble(1.0, [0, 0], out)"]
)
def test_writing_what_is_not_a_tensor(tmp_path, form):
    with mistake(at=form):
        run(body(tmp_path, form))


def test_scalar_stores_and_reads(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(table: Tensor([2, 4], DT_INT32), out: Tensor([2, 4], DT_INT32), n: SymbolicScalar):
    out[:] = table
    out[0, 0] = 7
    out[1, n] = table[1, n] * 2 + n
    out[-1, -1] = table[n - 1, n] - table[0, -1]
    total = 0
    for i in loop(4):
        total = total + table[0, i]
    out[0, 1] = total
    if table[0, 0] > table[0, 1]:
        out[0, 2] = table[table[1, 0], 3]
""",
    )
    table = np.array([[5, 2, 3, 4], [1, 9, 8, 7]], np.int32)
    out = np.zeros_like(table)
    kernel(table, out, 2)
    assert out.tolist() == [[7, 14, 7, 4], [1, 9, 18, 8 - 4]]


def test_scalar_reads_of_computed_and_local_tensors(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(table: Tensor([4], DT_INT32), out: Tensor([4], DT_INT32)):
    doubled = table * 2
    local = tensor([2], DT_INT32)
    local[0] = doubled[3]
    local[1] = 5
    out[0] = doubled[1]
    out[1] = local[0] + local[1]
    out[2:4] = doubled[0:2]
""",
    )
    table, out = np.array([1, 2, 3, 4], np.int32), np.zeros(4, np.int32)
    kernel(table, out)
    assert out.tolist() == [4, 13, 2, 4]


def test_scalar_index_out_of_range_at_run_time(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(table: Tensor([4], DT_INT32), out: Tensor([4], DT_INT32), n: SymbolicScalar):
    out[0] = table[n]
""",
    )
    table, out = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    kernel(table, out, 3)
    assert out[0] == 3
    for bad in (4, -1, 2**31, 2**40):
        with mistake(str(bad), at="table[n]"):
            kernel(table, out, bad)


@pytest.mark.parametrize("n", [5, -1, 100, 2**40])
def test_a_region_out_of_range_at_run_time_is_never_written(engine, tmp_path, n):
    kernel = body(tmp_path, "out[n : n + 1, :] = x[0:1, :]")
    store = np.full((12, 6), np.nan, np.float32)
    with mistake(at="out[n"):
        kernel(integers(4, 6), store[4:8], n)
    assert np.isnan(store[:4]).all() and np.isnan(store[8:]).all()


def test_gather_by_a_tensor_stop(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 6], DT_FP32), index: Tensor([4, 2], DT_INT32), out: Tensor([4, 2], DT_FP32)):
    out[:] = x[1:index]
""",
    )
    x, index, out = integers(4, 6), np.array([[0, 5], [1, 1], [2, 0], [5, 4]], np.int32), nans(4, 2)
    kernel(x, index, out)
    assert np.array_equal(out, np.take_along_axis(x, index, 1))


def test_a_view_past_the_edge_infers_its_valid_shape(engine, tmp_path):
    kernel = body(
        tmp_path,
        """
for i in loop(2):
    part = view(x, [3, 4], [i * 3, 0])
    out[i * 3 :, 2:] = part * 2.0
    assert len(part.valid_shape) == 2
""",
    )
    out = run(kernel)
    assert np.isnan(out[:, :2]).all()
    assert np.array_equal(out[:, 2:], integers(4, 6)[:, :4] * 2)


def test_an_explicit_valid_shape_wins(engine, tmp_path):
    kernel = body(tmp_path, "part = view(x, [4, 6], [0, 0], valid_shape=[n, 6])\nassemble(part + 1.0, [0, 0], out)")
    for n in range(5):
        out = run(kernel, n)
        assert np.array_equal(out[:n], integers(4, 6)[:n] + 1) and np.isnan(out[n:]).all()


@pytest.mark.parametrize(
    "form",
    [
        "view(x, [4], [0])",
        "view(x, [4, 6], [0])",
        "view(x, [4, 6], [0, 0], valid_shape=[5, 6])",
        "view(x, [4, 6], [0, 0], valid_shape=[4])",
        "view(x, [4, 6])",
        "view(x, [4, n], [0, 0])",
        "view(x, [0, 6], [0, 0])",
        "view(x, [4, 6], [-1, 0])",
        "view(x, [4, 6], ['a', 0])",
        "view(1.0, [4, 6], [0, 0])",
    ],
)
def test_impossible_views(tmp_path, form):
    with mistake(at=form):
        run(body(tmp_path, f"part = {form}\nout[:] = part + 1.0"))


def test_a_view_reads_what_the_storage_held_when_it_was_taken(engine, tmp_path):
    kernel = body(
        tmp_path,
        """
out[:] = x
before = out[0:2, :]
out[0:2, :] = x[2:4, :]
out[2:4, :] = before + 1.0
""",
    )
    x = integers(4, 6)
    assert np.array_equal(run(kernel), np.concatenate([x[2:], x[:2] + 1]))


def test_swapping_rows_through_views(engine, tmp_path):
    kernel = body(tmp_path, "out[:] = x\nfor i in loop(3):\n    a, b = out[i], out[i + 1]\n    out[i] = b\n    out[i + 1] = a")
    assert np.array_equal(run(kernel), np.roll(integers(4, 6), -1, 0))


def test_writing_into_a_view_names_assemble(tmp_path):
    with mistake("assemble", at="part[:] = x[0:2, :]"):
        run(body(tmp_path, "out[:] = x\npart = view(out, [2, 6], [0, 0])\npart[:] = x[0:2, :]"))


def test_an_inplace_reshape_writes_through(engine, tmp_path):
    kernel = body(tmp_path, "flat = reshape(out, [24], inplace=True)\nflat[:] = x.reshape([24]) * 2.0\nflat[0:2] = x[0, 0:2]")
    expected = integers(4, 6) * 2
    expected[0, :2] /= 2
    assert np.array_equal(run(kernel), expected)


def test_a_plain_reshape_is_a_value(engine, tmp_path):
    kernel = body(tmp_path, "out[:] = x\nflat = out.reshape([24])\nout[0:1, :] = x[1:2, :]\nout[3] = flat[0:6]")
    x = integers(4, 6)
    assert np.array_equal(run(kernel), np.stack([x[1], x[1], x[2], x[0]]))


@pytest.mark.parametrize(
    "form", ["x.reshape([5, 5])", "x.reshape([n, 24])", "x.reshape([-1, -1])", "x.reshape([-1, 5])", "x.reshape('ab')"]
)
def test_impossible_reshapes(tmp_path, form):
    with mistake("reshape", at=form):
        run(body(tmp_path, f"y = {form}\nout[:] = x + 1.0"))


@pytest.mark.parametrize(
    "form, expected",
    [
        ("x.reshape([6, 4]).reshape([4, -1])", lambda x: x.reshape(6, 4).reshape(4, 6)),
        ("x.T.T", lambda x: x),
        ("x.transpose(0, 1).reshape([4, 6])", lambda x: x.T.reshape(4, 6)),
        ("x.unsqueeze(0).squeeze(0)", lambda x: x),
        ("x.unsqueeze(-1).reshape([4, 6])", lambda x: x),
        ("x.permute([1, 0]).permute([1, 0]).clone()", lambda x: x),
        ("concat([x[2:4], x[0:2]], 0)", lambda x: np.concatenate([x[2:], x[:2]])),
        ("concat([x[:, 3:6], x[:, 0:3]], dim=-1)", lambda x: np.concatenate([x[:, 3:], x[:, :3]], 1)),
        ("x[0:1].expand_clone([4, 6])", lambda x: np.repeat(x[:1], 4, 0)),
        ("x[:, 0:1].expand_clone([4, 6])", lambda x: np.repeat(x[:, :1], 6, 1)),
    ],
)
def test_movement(engine, tmp_path, form, expected):
    assert np.array_equal(run(body(tmp_path, f"out[:] = {form}")), expected(integers(4, 6)))


def test_iterating_or_unpacking_a_tensor_is_refused(tmp_path):
    for text in ("a, b, c, d = x", "rows = [r for r in x]", "rows = [*x]"):
        with mistake(kind=TypeError, at=text):
            run(body(tmp_path, text + "\nout[:] = x + 1.0"))


def test_a_tensor_has_no_truth(tmp_path):
    for text in ("if x > 0.0:\n    pass", "y = x and x", "y = not x", "y = bool(x)", "y = len(x) + float(x)"):
        with mistake(at=text.splitlines()[0]):
            run(body(tmp_path, text + "\nout[:] = x + 1.0"))


def test_overlapping_writes_of_a_list_keep_their_order(engine, tmp_path):
    kernel = body(tmp_path, "assemble([(x, [0, 0]), (x[0:2, :] * 0.0, [1, 0]), (x[0:1, 0:2] + 5.0, [2, 1])], out)")
    expected = integers(4, 6)
    first = expected[0:1, 0:2] + 5
    expected[1:3] = 0
    expected[2:3, 1:3] = first
    assert np.array_equal(run(kernel), expected)


def test_a_dynamic_axis(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([DYNAMIC, 4], DT_FP32), out: Tensor([DYNAMIC, 4], DT_FP32)):
    rows, width = x.shape
    assert width == 4
    for i in loop((rows + 2) // 3):
        part = view(x, [3, 4], [i * 3, 0], valid_shape=[min(rows - i * 3, 3), 4])
        assemble(part * 2.0, [i * 3, 0], out)
""",
    )
    for rows in (1, 2, 3, 7, 9):
        x, out = torch.from_numpy(integers(rows, 4)), torch.full((rows, 4), float("nan"))
        kernel(x, out)
        assert torch.equal(out, x * 2)
    assert kernel.compilations == 1


def test_comparing_a_symbolic_shape_with_numbers(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([DYNAMIC, 4], DT_FP32), out: Tensor([4, 4], DT_FP32)):
    assert x.shape == [-1, 4]
    out[:] = x[0:4, :]
""",
    )
    with quiet(), pytest.raises((ValueError, AssertionError)):
        kernel(integers(4, 4), nans(4, 4))


@pytest.mark.parametrize("form", ["x[n]", "(x * 2.0)[n]", "x[0:2][n]", "t[n]", "x[1:3, n]", "x[n, 1:3]", "part[n]"])
def test_an_index_outside_is_an_error_wherever_it_stands(engine, tmp_path, form):
    """A slice may reach past the end and then holds less; an index must be inside what is valid."""
    size = 2 if form in ("x[0:2][n]", "part[n]") else 4
    kernel = define(
        tmp_path,
        f"""
@jit
def kernel(x: Tensor([4, 4], DT_FP32), out: Tensor([{4 if ":" not in form.replace("0:2", "") else 2}], DT_FP32), n: SymbolicScalar):
    t = tensor([4, 4], DT_FP32, "t")
    t[:] = x
    part = view(x, [4, 4], [0, 0], valid_shape=[{size}, 4])
    for i in loop(1):
        out[:] = {form}
""",
    )
    x = integers(4, 4)
    for n in range(size):
        out = nans(2 if form in ("x[1:3, n]", "x[n, 1:3]") else 4)
        kernel(x, out, n)
        expected = {"x[1:3, n]": x[1:3, n], "x[n, 1:3]": x[n, 1:3], "(x * 2.0)[n]": 2 * x[n]}.get(form, x[n])
        assert np.array_equal(out, expected)
    for n in (size, size + 1, 1000, -1):
        out = nans(*out.shape)
        with mistake(f"index {n}", f"size {size}", kind=IndexError, at=form):
            kernel(x, out, n)
        assert np.isnan(out).all()


def test_squeezing_an_axis_that_holds_nothing_leaves_nothing(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 4], DT_FP32), row: Tensor([4], DT_FP32), column: Tensor([4], DT_FP32), total: Tensor([1], DT_FP32),
           n: SymbolicScalar):
    row[:] = view(x, [1, 4], [n, 0]).squeeze(0)
    column[:] = (x * 1.0)[:, n : n + 1].squeeze(1)
    total[:] = view(x, [1, 4], [n, 0]).squeeze(0).sum(0, True)
""",
    )
    x = integers(4, 4)
    for n in (0, 3, 4, 9):
        row, column, total = nans(4), nans(4), nans(1)
        kernel(x, row, column, total, n)
        inside = n < 4
        assert np.array_equal(row, x[n]) if inside else np.isnan(row).all()
        assert np.array_equal(column, x[:, n]) if inside else np.isnan(column).all()
        assert total[0] == (x[n].sum() if inside else 0)
