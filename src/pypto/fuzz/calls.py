"""Calls with random arguments: operations on random operands, kernels with random arguments, options with random values."""

from __future__ import annotations

import random

DTYPES = ["FP32", "FP32", "FP32", "FP16", "BF16", "INT32", "INT32", "INT8", "UINT8", "INT16", "INT64", "BOOL"]
SHAPES = [
    "[4, 8]", "[4, 8]", "[4, 1]", "[1, 8]", "[8]", "[1]", "[3, 5]", "[5, 3]", "[2, 3, 4]", "[1, 3, 1]", "[2, 2, 3, 4]",
    "[8, 4]", "[17]", "[1, 1]", "[6, 33]",
]  # fmt: skip
SCALARS = [
    "0", "1", "2", "5", "-3", "2**31", "2**63", "2**70", "1.5", "True", "None", "'a'", "[1]", "np.int32(2)",
    "np.float32(2.5)", "np.ones(2)", "1j", "float('nan')", "x", "object()", "pypto.SymbolicScalar(3)",
    "pypto.SymbolicScalar('q')", "pypto.DT_FP32", "lambda v: v", "(1, 2)", "{'a': 1}", "range(3)", "Ellipsis",
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
