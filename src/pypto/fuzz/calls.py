"""Calls with random arguments: operations on random operands, kernels with random arguments, options with random values."""

from __future__ import annotations

import inspect
import random
from typing import Any

DTYPES = ["FP32", "FP32", "FP32", "FP16", "BF16", "INT32", "INT32", "INT8", "UINT8", "INT16", "INT64", "BOOL"]
SHAPES = [
    [4, 8],
    [4, 8],
    [4, 1],
    [1, 8],
    [8],
    [1],
    [3, 5],
    [5, 3],
    [2, 3, 4],
    [1, 3, 1],
    [2, 2, 3, 4],
    [8, 4],
    [17],
    [1, 1],
    [6, 33],
]

OPERATION = """\
import ml_dtypes
import numpy as np
import pypto

TYPES = {{"FP32": "f4", "FP16": "f2", "BF16": ml_dtypes.bfloat16, "INT32": "i4", "INT8": "i1", "UINT8": "u1", "INT16": "i2"}}
TYPES |= {{"INT64": "i8", "BOOL": "?"}}
found = []


def call(a, b, c):
    return {call}


@pypto.frontend.jit
def probe({parameters}, done: pypto.Tensor([1], pypto.DT_INT32)):
    r = call(a, b, c)
    if isinstance(r, (list, tuple)):
        r = r[{which} % len(r)]
    found.append((list(r.shape), r.dtype))
    done[0] = 1


def define(shape, dtype):
    @pypto.frontend.jit
    def kernel({parameters}, out: pypto.Tensor(shape, dtype)):
        r = call(a, b, c)
        if isinstance(r, (list, tuple)):
            r = r[{which} % len(r)]
        out[:] = r

    return kernel


def data(shape, dtype, seed):
    values = np.random.default_rng(seed).integers(-4, 5, shape)
    if dtype in ("UINT8", "BOOL"):
        values = abs(values)
    array = values.astype(TYPES[dtype])
    if dtype in ("FP32", "FP16", "BF16") and {special}:
        array.reshape(-1)[::3] = {value}
    return array


def attempt():
    found.clear()
    inputs = [{inputs}]
    probe(*inputs, np.zeros(1, np.int32))
    shape, dtype = found[0]
    out = np.zeros([int(s) for s in shape], dtype.numpy)
    define(shape, dtype)(*inputs, out)
    return (out,)
"""

WRONG = [
    "None", "'a'", "1j", "object()", "[]", "float('nan')", "float('inf')", "2**70", "-1", "99", "pypto", "[a]", "()", "a", "len",
    "True", "{}",
]  # fmt: skip


def _value(choose: random.Random, name: str) -> str:
    """A value for a parameter called ``name``: usually of the right kind."""
    if choose.random() < 0.12:
        return choose.choice(WRONG)
    if "dtype" in name:
        return f"pypto.DT_{choose.choice(DTYPES)}"
    if name in ("tensors",):
        return choose.choice(["[a, b]", "[a, a]", "[a]", "[a, b, c]"])
    if name in ("shape", "size", "dims", "perm", "offsets", "valid_shape"):
        return str([choose.choice([0, 1, 2, 3, 4, 8, -1]) for _ in range(choose.randint(1, 4))])
    if name in ("dim", "dim0", "dim1", "axis", "diagonal", "decimals"):
        return str(choose.choice([-1, -1, 0, 1, -2, 2, 3]))
    if name in ("keepdim", "largest", "descending", "a_trans", "b_trans", "inplace", "c_matrix_nz"):
        return choose.choice(["True", "False"])
    if name in ("k", "correction", "mergesize"):
        return str(choose.choice([0, 1, 2, 3, 8]))
    if name == "mode":
        return f"pypto.CastMode.CAST_{choose.choice(['NONE', 'RINT', 'ROUND', 'FLOOR', 'CEIL', 'TRUNC'])}"
    return choose.choice(["a", "a", "b", "b", "c", "2.0", "3", "-1.5", "0", "a + b", "a[0:1]", "a.T"])


def _names() -> list[str]:
    from pypto.ops.table import OPERATIONS

    return sorted(row.name for row in OPERATIONS.values() if not row.name.startswith("_"))


def _function(name: str) -> Any:
    from pypto.ops.table import OPERATIONS

    return OPERATIONS[name].function


def _argument_texts(choose: random.Random, name: str) -> list[str]:
    texts = []
    for p in inspect.signature(_function(name)).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            texts += [_value(choose, p.name) for _ in range(choose.randint(0, 3))]
        elif p.default is p.empty or (p.kind is not p.VAR_KEYWORD and choose.random() < 0.4):
            prefix = f"{p.name}=" if p.kind is p.KEYWORD_ONLY or choose.random() < 0.1 else ""
            texts.append(prefix + _value(choose, p.name))
    return texts


def call_text(choose: random.Random) -> str:
    """A call of a random operation with random arguments."""
    import pypto

    name = choose.choice([n for n in _names() if hasattr(pypto, n)])
    texts = _argument_texts(choose, name)
    if choose.random() < 0.05:
        choose.shuffle(texts)
    if choose.random() < 0.05:
        texts = texts[:-1]
    positional = [t for t in texts if not t.split("(")[0].partition("=")[1]]
    return f"pypto.{name}({', '.join(positional + [t for t in texts if t not in positional])})"


def operation(choose: random.Random) -> str:
    """A program that calls an operation on random operands."""
    shape = choose.choice(SHAPES)
    dtype = choose.choice(DTYPES)
    operands = []
    for name in "abc":
        other = shape if choose.random() < 0.6 else choose.choice(SHAPES)
        operands.append((name, other, dtype if choose.random() < 0.8 else choose.choice(DTYPES)))
    return OPERATION.format(
        call=call_text(choose),
        which=choose.randint(0, 1),
        parameters=", ".join(f"{n}: pypto.Tensor({s}, pypto.DT_{d})" for n, s, d in operands),
        inputs=", ".join(f"data({s}, {d!r}, {k})" for k, (n, s, d) in enumerate(operands)),
        special=choose.random() < 0.3,
        value=choose.choice(["np.nan", "np.inf", "-np.inf", "-0.0", "1e-40", "1e30"]),
    )


ARGUMENT = """\
import dataclasses
import ml_dtypes
import numpy as np
import pypto


@pypto.frontend.jit
def kernel(
    x: pypto.Tensor({mark}, pypto.DT_FP32), out: pypto.Tensor({mark}, pypto.DT_FP32), n: pypto.SymbolicScalar = 1, scale=2.0
):
    for i in pypto.loop(x.shape[0]):
        out[i : i + 1, :] = x[i : i + 1, :] * scale
    if n > 1:
        out[0:1, :] = x[0:1, :]


def attempt():
    x, out = np.arange(32, dtype=np.float32).reshape(4, 8), np.zeros((4, 8), np.float32)
    kernel({arguments})
    return (out,)
"""

TENSORS = [
    "x", "out", "x", "out", "x[1:]", "x[::2]", "x.T", "x[:, 1:]", "x.astype('f8')", "x.astype('i4')", "x.astype('f2')",
    "x.astype('c8')", "x.astype(object)", "x.astype('S3')", "x.astype('>f4')", "x.astype(ml_dtypes.bfloat16)",
    "x.reshape(2, 2, 8)", "x.reshape(-1)", "x[0, 0]", "x[:0]", "np.float32(3)", "x.tolist()", "None", "3", "2.5", "'x'",
    "b'x'", "{}", "object()", "pypto", "kernel", "np.ma.array(x)", "np.matrix(x)", "memoryview(x)", "x.view(np.recarray)",
    "np.broadcast_to(x[0], (4, 8))", "np.frombuffer(x.tobytes(), 'f4').reshape(4, 8)",
    "pypto.tensor([4, 8], pypto.DT_FP32)", "pypto.Tensor()", "np.zeros((4, 8), [('a', 'f4')])", "x.view('u1')",
    "np.zeros((0, 8), 'f4')", "x.view('M8[s]')", "type('D', (), {'__dlpack__': 3})()",
    "type('D', (), {'__dlpack__': lambda s, **k: 1 / 0, '__dlpack_device__': lambda s: (1, 0)})()",
    "np.lib.stride_tricks.as_strided(x, (4, 8), (0, 4))",
]  # fmt: skip
SCALARS = [
    "0", "1", "2", "5", "-3", "2**31", "2**63", "2**70", "1.5", "True", "None", "'a'", "[1]", "np.int32(2)", "np.float32(2.5)",
    "np.ones(2)", "1j", "float('nan')", "x", "object()", "pypto.SymbolicScalar(3)", "pypto.SymbolicScalar('q')",
    "pypto.DT_FP32", "lambda v: v", "(1, 2)", "{'a': 1}", "range(3)", "Ellipsis",
]  # fmt: skip


def argument(choose: random.Random) -> str:
    """A kernel called with random arguments."""
    texts = ["x", "out"]
    for k in range(2):
        if choose.random() < 0.6:
            texts[k] = choose.choice(TENSORS)
    texts += [choose.choice(SCALARS) for _ in range(choose.choice([0, 0, 1, 1, 2, 3]))]
    if choose.random() < 0.2:
        texts = texts[: choose.randint(0, 2)]
    if choose.random() < 0.3:
        texts.append(f"{choose.choice(['n', 'scale', 'x', 'out', 'other', 'self'])}={choose.choice(SCALARS)}")
    mark = choose.choice(["[pypto.DYNAMIC, 8]", "[4, 8]", "[pypto.STATIC, ...]", "[]", "[...]", "[-1, -1]"])
    return ARGUMENT.format(mark=mark, arguments=", ".join(texts))


OPTION = """\
import numpy as np
import pypto


@pypto.frontend.jit{options}
def kernel(x: pypto.Tensor([4, 8], pypto.DT_FP32), out: pypto.Tensor([4, 8], pypto.DT_FP32)):
    {inside}
    out[:] = x + 1.0


def attempt():
    x, out = np.arange(32, dtype=np.float32).reshape(4, 8), np.zeros((4, 8), np.float32)
    try:
        with pypto.options({around}):
            {before}
            kernel(x, out)
    finally:
        pypto.reset_options()
    return (out,)
"""
VALUES = [
    "0", "1", "-1", "2", "True", "False", "None", "'a'", "''", "[]", "['a']", "[1]", "{}", "{-1: 2}", "{0: 1, 'func0_1': 2}",
    "(1, True, False)", "1.5", "2**40", "'GAPMIN'", "'Iso'", "object()", "pypto.RunMode.SIM", "pypto.CompStage.ALL_COMPLETE",
    "[0.1, 0.1]", "x", "float('nan')",
]  # fmt: skip
FAMILIES = ("pass", "host", "codegen", "runtime", "verify", "debug", "operation")
SETTERS = (
    "set_pass_options",
    "set_host_options",
    "set_codegen_options",
    "set_verify_options",
    "set_debug_options",
    "set_print_options",
)
SKIPPED = ("engine", "compile_stage", "dump", "cache_dir", "threads", "isa")  # change what is computed, where files go, or how


def _pair(choose: random.Random, family: str) -> tuple[str, str]:
    from pypto.options.table import TABLE

    rows = [row for row in TABLE.values() if row.family == family and row.name not in SKIPPED]
    row = choose.choice(rows)
    name = row.name if choose.random() < 0.85 else choose.choice([row.name[:-1], row.name + "s", "nothing", "_"])
    return name, repr(row.default) if choose.random() < 0.3 else choose.choice(VALUES)


def _family_text(choose: random.Random) -> str:
    family = choose.choice(FAMILIES)
    name, value = _pair(choose, family)
    body = f"{{{name!r}: {value}}}" if choose.random() < 0.9 else choose.choice(VALUES)
    return f"{family}_options={body}"


def _setting(choose: random.Random) -> str:
    numbers = ", ".join(
        choose.choice([*"1248", "16", "0", "-1", "1.5", "'a'", "None", "[4]"]) for _ in range(choose.randint(0, 4))
    )

    def pair():
        return choose.choice(["[16, 16]", "[16, 32]", "[16]", "[32, 16]", "[0, 0]", "16", "[16, 'a']", "None", "[16, 32, 64]"])

    setter = choose.choice(SETTERS)
    name, value = _pair(choose, setter.split("_")[1]) if setter != "set_print_options" else ("precision", choose.choice(VALUES))
    return choose.choice(
        [
            f"pypto.set_vec_tile_shapes({numbers})",
            f"pypto.set_cube_tile_shapes({pair()}, {pair()}, {pair()})",
            f"pypto.{setter}({name}={value})",
            f"pypto.set_options({_family_text(choose)})",
            f"pypto.set_semantic_label({choose.choice(VALUES)})",
            f"pypto.set_matrix_size({choose.choice(VALUES)})",
            f"pypto.set_global_config({choose.choice(VALUES)}, {choose.choice(VALUES)})",
            "pypto.get_options_tree()",
            f"pypto.get_current_scope().get_options_prefix({choose.choice(VALUES)})",
        ]
    )


def option(choose: random.Random) -> str:
    """Options set in a decorator, a kernel, a scope and by a setter."""
    options = f"({_family_text(choose)})" if choose.random() < 0.4 else ""
    around = _family_text(choose) if choose.random() < 0.5 else ""
    inside, before = (_setting(choose) if choose.random() < 0.5 else "pass" for _ in range(2))
    return OPTION.format(options=options, around=around, inside=inside.replace("x", "x"), before=before)
