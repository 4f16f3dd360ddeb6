"""Programs with something wrong, or merely unusual, in them: broken loop nests, odd statements, random keys."""

from __future__ import annotations

import random
import re

from pypto.fuzz.grammar import LOG

EXPRESSIONS = [
    "None", "...", "1.5", "'text'", "b'x'", "[]", "{}", "()", "(1, 2)", "[x]", "{'a': x}", "lambda: x", "x", "out", "table",
    "n", "k", "-n", "2**70", "float('nan')", "1j", "True", "x.shape", "x.dtype", "x[0:1, :]", "x[n : n + 1, :]", "table[0]",
    "table[n]", "n / 2", "n // 0", "n % 0", "n ** 2", "n << 1", "n & 3", "~n", "not x", "x and out", "x == x", "x in [x]",
    "x is x", "len(x)", "len(table)", "int(n)", "float(n)", "range(n)", "list(range(3))", "str(n)", "f'{n}'", "f'{x}'",
    "[i for i in range(n)]", "sum([1, n])", "sorted([n, 2])", "min(n)", "min()", "max(x, out)", "abs(n)", "round(n)",
    "divmod(n, 2)", "type(x)", "isinstance(n, int)", "x.sum(-1)", "x.T", "x.nothing", "pypto.nothing", "pypto", "np.ones(3)",
    "np.float32(2)", "np.add(x, x)", "print(x)", "x(1)", "n(1)", "kernel", "kernel(x)", "pypto.jit", "pypto.loop(3)",
    "pypto.is_loop_begin(n)", "pypto.is_loop_end(3)", "pypto.cond(x)", "pypto.view(x, [1, 4], [n, 0])",
    "pypto.tensor([2, 4], pypto.DT_FP32)", "pypto.tensor([n, 4], pypto.DT_FP32)", "pypto.Tensor()",
    "pypto.full([2], n, pypto.DT_INT32)", "pypto.arange(n)", "unknown_name", "(y := 3)", "[*x]", "{**{}}",
    "x if n > 0 else 3", "3 if n > 0 else 'a'", "x @ x", "x @ x.T", "x + 'a'", "x + None", "x + [1]", "1 + x", "x ** x",
    "x // 2", "5 % x", "x > 0", "x > n", "x + n", "n + x", "x * table", "x + out[0:1, :]", "pypto.concat([x, 3])",
    "pypto.concat([])", "(lambda v: v + 1.0)(x)", "(lambda *a: a)(x, x)", "blend(x, x, weight=n)", "blend(x)", "bump()",
    "bump(n, n, n)", "bump('a')", "first_here(x)",
]  # fmt: skip

STATEMENTS = [
    "break", "continue", "return", "return x", "pass", "del x", "del n", "del nothing", "raise", "raise ValueError('mine')",
    "raise 3", "assert n > 0", "assert False, 'mine'", "assert x", "import os", "from math import *", "global g",
    "nonlocal x", "yield", "yield x", "await x", "x.field = 3", "x.name = 'other'", "n.field = 1", "x += 1.0", "x -= out",
    "x @= x", "n += 1", "n //= 0", "x, out = out, x", "x = out = x + 1.0", "(x)", "[a, b] = x", "a, b = n",
    "a, *b = (1, 2, n)", "a: int = 3", "x[0, 0] += 1", "table[0] += 1", "table[n] = 5", "table[0] = 2.5", "table[0] = x",
    "out[:] = 1", "out[:] = x", "out[0] = x[0]", "out[n] = x[0]", "out[0:n] = x[0:n]", "out.move(3)", "out.move(out)",
    "out[:] = out", "x.move(x + 1.0)", "pypto.print(x)", "pypto.print('a', n, x[0:1, :])", "pypto.print()", "print(n, x)",
    "pypto.set_vec_tile_shapes()", "pypto.set_vec_tile_shapes(3)", "pypto.set_vec_tile_shapes(n)",
    "pypto.set_vec_tile_shapes(4, 3)", "pypto.set_vec_tile_shapes(1, 2, 3, 4, 5, 6)", "pypto.reset_options()",
    "pypto.set_cube_tile_shapes([1, 2], [3], [4])", "pypto.set_pass_options(enable_slice=True)",
    "pypto.set_pass_options(nothing=1)", "pypto.assemble(x, [0, 0], out)", "pypto.assemble(x, [n, 0], out)",
    "pypto.assemble(x, [0], out)", "pypto.assemble([], out)", "pypto.assemble(x)",
]  # fmt: skip

BLOCKS = [
    "if {e}:", "while {e}:", "for v in {e}:", "for v, w in {e}:", "for v in pypto.loop({e}):",
    "for v in pypto.loop(2, {e}):", "for v in pypto.loop(0, 3, {e}):", "for v in pypto.loop(3, unroll_list={e}):",
    "for v in pypto.loop(3, name={e}):", "for v in pypto.loop(3, {e}=1):",
    "for v, w in pypto.loop_unroll(3, unroll_list={e}):", "for v in pypto.loop_unroll(3):",
    "for v in pypto.loop(3, parallel=True):", "for v.field in pypto.loop(3):", "for [v] in pypto.loop(3):", "with {e}:",
    "with pypto.options(vec_tile_shapes={e}):", "with pypto.function('f', x):", "try:", "def inner(a, b={e}, *c):",
    "async def inner():", "class Inner:", "match n:", "for v in pypto.loop(n):", "if pypto.cond({e}):",
    "for v in pypto.loop(3, idx_name='a'):", "for v in pypto.loop(3, submit_before_loop={e}):", "while not out:",
    "for v in pypto.loop(2 ** 40, 2 ** 40 + 3):",
]  # fmt: skip

SMALL = """\
import numpy as np
import pypto


def blend(a, b, weight=0.5):
    return a * weight + b


def bump(number, by=1):
    number = number + by
    return number % 89


def first_here(index):
    return pypto.is_loop_begin(index)


@pypto.frontend.jit
def kernel(
    x: pypto.Tensor([4, 4], pypto.DT_FP32),
    table: pypto.Tensor([8], pypto.DT_INT32),
    out: pypto.Tensor([4, 4], pypto.DT_FP32),
    n: pypto.SymbolicScalar,
    k=2,
):
    out[:] = x + 1.0
{body}

def attempt():
    x, out = np.arange(16, dtype=np.float32).reshape(4, 4), np.full((4, 4), -1, np.float32)
    table = np.arange(8, dtype=np.int32)
    kernel(x, table, out, {n})
    return x, table, out
"""


def expression(choose: random.Random) -> str:
    """An expression that may make no sense."""
    a = choose.choice(EXPRESSIONS)
    if choose.random() < 0.6:
        return a
    b = choose.choice(EXPRESSIONS)
    return choose.choice(
        [f"({a}) + ({b})", f"({a}) < ({b})", f"({a})[{b}]", f"({a}) if ({b}) else x", f"pypto.add({a}, {b})", f"({a}) and ({b})"]
    )


def _lines(choose: random.Random, indent: int, depth: int) -> list[str]:
    pad, roll = "    " * indent, choose.random()
    if depth and roll < 0.4:
        inner = [line for _ in range(choose.randint(1, 2)) for line in _lines(choose, indent + 1, depth - 1)]
        block = choose.choice(BLOCKS).format(e=expression(choose))
        leave = [pad + "    break"] if block.startswith("while ") else []  # Python's own endless loop is no finding
        return [pad + block, *inner, *leave]
    if roll < 0.65:
        return [pad + choose.choice(STATEMENTS)]
    target = choose.choice(["y", "x", "n", "out[:]", "out[0:2, :]", "table[0]", "y, z", "x[n]", "k"])
    return [f"{pad}{target} = {expression(choose)}"]


def statement(choose: random.Random) -> str:
    """A small kernel with one to four random statements."""
    lines = [line for _ in range(choose.randint(1, 4)) for line in _lines(choose, 1, 2)]
    return SMALL.format(body="\n".join(lines) + "\n", n=choose.randint(-2, 5))


ODD_KEYS = ["...", "None", "1.5", "::2", "::-1", "[0, 1]", "x", "'a'", "n : n * 2", "x > 0.0", "True", "2**40", "3 : 1", "n : 4"]


def _start(choose: random.Random) -> str:
    usual = ["0", "1", "2", "n % 3", "n // 4 % 3", "2 - n % 3", "table[0]", "table[n % 8] % 3", "i"]
    return choose.choice([*usual, *usual, *usual, "n", "-1", "7", "-5"])


def _parts(choose: random.Random, extents: list[str], reading: bool = False) -> tuple[str, str]:
    """A key, and the key of a block of that extent at the origin."""
    key, origin = [], []
    for extent in extents:
        start = _start(choose)
        single = choose.random() < 0.2
        closed = start.isdigit() or reading  # an open slice of an unknown start has no extent to read
        key.append(start if single else f"{start} :" if not closed and choose.random() < 0.3 else f"{start} : {start} + {extent}")
        origin.append("0" if single else f"0:{extent}")
    if choose.random() < 0.05:
        key[choose.randrange(len(key))] = choose.choice(ODD_KEYS)
    return ", ".join(key), ", ".join(origin)


def indexing(choose: random.Random) -> str:
    """A small kernel that reads and writes with random keys."""
    lines = []
    for _ in range(choose.randint(1, 3)):
        key, origin = _parts(choose, [choose.choice("12"), choose.choice("12")])
        odd = choose.choice(["x", "x[0]", "1.0", "2", "n", "table[0:2]", "x[0:1, 0:1]"])
        value = odd if choose.random() < 0.06 else f"{choose.choice(['x', 'out', 'y'])}[{origin}] + 3.0"
        target = choose.choice(["out"] * 12 + ["y"] * 3 + ["table"])
        lines.append(f"{target}[{key}] = {value}")
        key, _ = _parts(choose, ["1", "2"], reading=True)
        lines.append(
            f"y = y + {choose.choice(['x', 'out'])}[{key}].sum(-1, keepdim=True)" if choose.random() < 0.4 else f"part = x[{key}]"
        )
    head = [
        "y = x * 2.0",
        f"for i in pypto.loop({choose.randint(0, 3)}):",
        *("    " + line for line in lines),
        "out[0:1] = y[1:2]",
    ]
    return SMALL.format(body="".join(f"    {line}\n" for line in head), n=choose.randint(-1, 5))


def _swap_number(choose: random.Random, line: str) -> str:
    numbers = list(re.finditer(r"\b\d+\b", line))
    if not numbers:
        return line
    found = choose.choice(numbers)
    return line[: found.start()] + choose.choice(["0", "-1", "7", "1.5", "100", "None", "'a'", "n"]) + line[found.end() :]


def _swap_name(choose: random.Random, line: str) -> str:
    names = list(re.finditer(r"\b(acc|prev|count|total|x|out|log|table|n|k|i\d+|row\d+)\b", line))
    if not names:
        return line
    found = choose.choice(names)
    return (
        line[: found.start()] + choose.choice(["acc", "count", "x", "log", "table", "n", "nothing", "None"]) + line[found.end() :]
    )


def _swap_operator(choose: random.Random, line: str) -> str:
    operators = list(re.finditer(r" (\+|-|\*|//|%|<|<=|==|and|or) ", line))
    if not operators:
        return line
    found = choose.choice(operators)
    return (
        line[: found.start()]
        + f" {choose.choice(['+', '-', '*', '/', '//', '%', '<', '==', 'and', '@', '**', 'in'])} "
        + line[found.end() :]
    )


def broken(choose: random.Random, source: str) -> str:
    """``source`` with one to three changed, dropped, repeated or inserted lines in the body of its kernel."""
    head, rest = source.split("):\n    pypto.set" if "):\n    pypto.set" in source else "):\n    acc", 1)
    body, tail = source[len(head) :].split("\n\ndef attempt", 1)
    lines = body.split("\n")
    for _ in range(choose.randint(1, 3)):
        at = choose.randrange(1, len(lines))
        pad = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        edit = choose.randrange(7)
        if edit == 0:
            del lines[at]
        elif edit == 1:
            lines.insert(at, pad + choose.choice(STATEMENTS).replace("x", "x"))
        elif edit == 2:
            lines.insert(at, f"{pad}{choose.choice(['acc', 'count', 'fresh'])} = {expression(choose)}")
        elif edit == 3:
            lines.insert(at, lines[choose.randrange(1, len(lines))])
        else:
            lines[at] = (_swap_number, _swap_name, _swap_operator)[edit - 4](choose, lines[at])
        if len(lines) < 3:
            break
    return f"{head}{chr(10).join(lines)}\n\ndef attempt{tail}".replace("[LOG]", f"[{LOG}]")
