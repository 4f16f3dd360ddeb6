"""Random scalar programs: a kernel must do what Python does, but for divisions, which truncate at run time.

The text is one: Python runs it with ``divide`` and ``remainder`` of C, the kernel with helpers of the same names. Numbers are cut to twenty
bits at every assignment, so that they stay small on both sides.
"""

import importlib.util
import random
import textwrap

import numpy as np
import pytest

import pypto_pro.language as pl

LAUNCHES = ((3, -2, 4), (-7, 5, 1), (0, 11, 6))
HELPERS = """
def cut(x):
    return x & 0xFFFFF


def search(x, y):
    if x > y:
        return x - y
    for j in pl.range(3):
        if j * y > 10:
            return j
        x += j
    return x
"""
MODULE = """import pypto_pro.language as pl


def divide(x, y):
    return x // y


def remainder(x, y):
    return x % y

{helpers}

@pl.jit
def kernel(o: pl.Tensor[[8], pl.DT_INT64], a: pl.DT_INT64, b: pl.DT_INT64, n: pl.DT_INT64):
    with pl.section_vector():
{body}
"""


def divide(x, y):
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def remainder(x, y):
    return x - divide(x, y) * y


class Writer:
    """Writes a program. ``names``: what may be read; ``own``: what may be assigned."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.names, self.own, self.loops, self.count = ["a", "b", "n", "v"], ["v"], 0, 0

    def number(self, depth=0):
        draw, kind = self.draw, self.draw.random()
        if depth > 3 or kind < 0.3:
            return draw.choice(self.names)
        if kind < 0.45:
            return str(draw.randint(-5, 9))
        one, other = self.number(depth + 1), self.number(depth + 1)
        if kind < 0.85:
            return f"({one} {draw.choice('+-*&|^')} {other})"
        if kind < 0.9:  # never of two constants: those are folded as Python does
            return f"{draw.choice(['divide', 'remainder'])}(({one} + a), {draw.choice([2, 3, -4, 7])})"
        if kind < 0.95:
            return f"{draw.choice(['min', 'max'])}({one}, {other})"
        return f"({one} if {self.condition(depth + 1)} else {other})"

    def condition(self, depth=0):
        draw = self.draw
        if depth < 3 and draw.random() < 0.3:
            return f"({self.condition(depth + 1)} {draw.choice(['and', 'or'])} not {self.condition(depth + 1)})"
        return f"({self.number(depth + 1)} {draw.choice(['<', '<=', '>', '>=', '==', '!='])} {self.number(depth + 1)})"

    def block(self, depth, in_loop):
        names = list(self.names)
        lines = [line for _ in range(self.draw.randint(1, 3)) for line in self.statement(depth + 1, in_loop)]
        self.names = names
        return textwrap.indent("\n".join(lines), "    ").split("\n")

    def statement(self, depth=0, in_loop=False):
        draw, kind = self.draw, self.draw.random()
        if depth > 2 or kind < 0.3:
            return [f"{draw.choice(self.own)} {draw.choice(['=', '+=', '^='])} cut({self.number()})"]
        if kind < 0.45:
            return [f"o[{draw.randint(0, 7)}] = cut({self.number()})"]
        if kind < 0.7:
            other = ["else:", *self.block(depth, in_loop)] if draw.random() < 0.6 else []
            return [f"if {self.condition()}:", *self.block(depth, in_loop), *other]
        if kind < 0.85 and self.loops < 3:
            return self.loop(depth)
        if kind < 0.95 and in_loop:
            return [f"if {self.condition()}:", f"    {draw.choice(['break', 'continue', 'return'])}"]
        return [f"o[{draw.randint(0, 7)}] = search(cut({self.number()}), cut({self.number()}))"]

    def loop(self, depth):
        self.loops, self.count = self.loops + 1, self.count + 1
        index, names = f"i{self.count}", list(self.names)
        self.names.append(index)
        bounds = self.draw.choice(["3", "0, 4", "5, 0, -2", "n", "1, n, 2", "n, 0, -1"])
        lines = [f"for {index} in pl.range({bounds}):", *self.block(depth, True)]
        self.loops, self.names = self.loops - 1, names
        return lines


def by_python(body, a, b, n):
    space = {"pl": pl, "divide": divide, "remainder": remainder, "o": [0] * 8}
    exec(f"{HELPERS}\n\ndef program(o, a, b, n):\n{textwrap.indent(body, '    ')}\n\nprogram(o, {a}, {b}, {n})", space)
    return space["o"]


@pytest.mark.parametrize("seed", range(40))
def test_a_kernel_does_what_python_does(seed, tmp_path):
    writer = Writer(seed)
    body = "\n".join(["v = a + 1", *(line for _ in range(7) for line in writer.statement())])
    file = tmp_path / f"program_{seed}.py"
    file.write_text(MODULE.format(helpers=HELPERS, body=textwrap.indent(body, "        ")))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for a, b, n in LAUNCHES:
        out = np.zeros(8, np.int64)
        module.kernel(out, a, b, n)
        assert out.tolist() == by_python(body, a, b, n), f"{(a, b, n)}\n{body}"
