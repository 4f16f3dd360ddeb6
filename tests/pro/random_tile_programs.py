"""Random pieces of kernel on scalars: text that is both a kernel and plain Python."""

import random

NAMES = ("a", "b", "c", "d", "e")

HEAD = """
import pypto_pro.language as pl


def first_over(limit, step, count):
    total = 0
    for i in pl.range(count):
        total = total + step
        if total > limit:
            return total
        if i == 7:
            break
    return -total


def clamp(x, low, high=50):
    if x < low:
        return low
    if x > high:
        if high > 10:
            return high
        x = high + 1
    return x


def search(n, wanted):
    for i in pl.range(n):
        for j in pl.range(i + 1):
            if i * j == wanted:
                return i, j
            if j > 6:
                continue
    return n, -1


def bump(record, by):
    record.count = record.count + by
    return record.count


def body(out, n, m):
    record = pl.struct("S", count=0, items=[1, 2, 3, 4])
    pair = (n, 3)
    a, b, c, d, e = n, m, 0, 1, 7
"""


class Writer:
    """One random body."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.loops = 0
        self.fresh = 0

    def pick(self, *options):
        return self.random.choice(options)

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    # -- expressions: always small numbers, so that nothing overflows -----------------------------------------------------------

    def atom(self):
        return self.pick(
            *NAMES,
            str(self.random.randint(-9, 9)),
            "n",
            "m",
            "record.count",
            f"record.items[{self.random.randint(0, 3)}]",
            "pair[0]",
            "pair[1]",
        )

    def expression(self, depth=2):
        if depth == 0:
            return self.atom()
        left, right = self.expression(depth - 1), self.expression(depth - 1)
        kind = self.random.randint(0, 9)
        if kind < 4:
            combined = f"(({left} {self.pick('+', '-', '*', '&', '|', '^')} {right}) & 1023)"
            return f"({combined} {self.pick('//', '%')} {self.random.randint(1, 9)})" if kind == 0 else combined
        if kind == 4:
            return f"({left} if {self.condition(1)} else {right})"
        if kind == 5:
            return f"{self.pick('min', 'max')}({left}, {right})"
        if kind == 6:
            return f"clamp({left}, {self.random.randint(-5, 5)})"
        if kind == 7:
            return f"(first_over({left}, {self.random.randint(1, 5)}, 9) & 255)"
        if kind == 8:
            return f"(bump(record, {self.random.randint(0, 3)}) & 63)"
        return left

    def condition(self, depth=2):
        comparison = f"{self.expression(min(depth, 1))} {self.pick('<', '<=', '>', '>=', '==', '!=')} {self.atom()}"
        kind = self.random.randint(0, 4)
        if depth and kind == 0:
            return f"({comparison} {self.pick('and', 'or')} {self.condition(depth - 1)})"
        if depth and kind == 1:
            return f"not ({self.condition(depth - 1)})"
        if kind == 2:
            return f"({self.atom()} in (1, 2, {self.atom()}))"
        return f"({comparison})"

    # -- statements ---------------------------------------------------------------------------------------------------------------

    def block(self, depth, budget):
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth, budget)

    def statement(self, depth, budget):
        kind = self.random.randint(0, 13)
        if budget == 0 and kind in (5, 6, 7, 8):
            kind = 0
        target = self.pick(*NAMES)
        if kind <= 2:
            self.line(depth, f"{target} = ({self.expression()}) & 511")
        elif kind == 3:
            self.line(depth, f"{target} {self.pick('+=', '-=')} {self.random.randint(0, 5)}")
        elif kind == 4:
            first, second = self.random.sample(NAMES, 2)
            self.line(depth, f"{first}, {second} = {second}, ({self.expression(1)}) & 255")
        elif kind in (5, 6):
            self.branch(depth, budget)
        elif kind == 7:
            self.counted(depth, budget)
        elif kind == 8:
            self.endless(depth, budget)
        elif kind == 9:
            self.line(depth, f"record.items[{self.atom()} & 3] = ({self.expression(1)}) & 127")
        elif kind == 10:
            self.line(depth, f"pair = (pair[1], ({self.expression(1)}) & 63)")
        elif kind == 11:
            self.line(
                depth, f"{target}, {self.pick(*[x for x in NAMES if x != target])} = search({self.atom()} & 7, {self.atom()})"
            )
        elif kind == 12 and self.loops:
            self.line(depth, f"if {self.condition(1)}:")
            self.line(depth + 1, self.pick("break", "continue"))
        else:
            self.line(depth, f"record.count = ({self.expression(1)}) & 255")

    def branch(self, depth, budget):
        self.line(depth, f"if {self.condition()}:")
        self.block(depth + 1, budget - 1)
        if self.random.random() < 0.4:
            self.line(depth, f"elif {self.condition()}:")
            self.block(depth + 1, budget - 1)
        if self.random.random() < 0.5:
            self.line(depth, "else:")
            self.block(depth + 1, budget - 1)

    def counted(self, depth, budget):
        self.fresh += 1
        variable = f"i{self.fresh}"
        bounds = self.pick("4", "0, 7, 2", "5, 0, -1", "n & 3", "1, (m & 3) + 2")
        self.line(depth, f"for {variable} in pl.range({bounds}):")
        self.loops += 1
        self.line(depth + 1, f"{self.pick(*NAMES)} = {variable}")
        self.block(depth + 1, budget - 1)
        self.loops -= 1

    def endless(self, depth, budget):
        self.fresh += 1
        variable = f"w{self.fresh}"
        self.line(depth, f"{variable} = 0")
        self.line(depth, f"while {variable} < {self.random.randint(1, 4)} and {self.condition(1)}:")
        self.loops += 1
        self.line(depth + 1, f"{variable} = {variable} + 1")
        self.block(depth + 1, budget - 1)
        self.loops -= 1


def source(seed):
    """The text of a module with ``body(out, n, m)``: plain Python, and a helper that a kernel can call."""
    writer = Writer(seed)
    for _ in range(3):
        writer.block(1, 2)
    ends = [f"    out[{k}] = {name}" for k, name in enumerate(NAMES)]
    ends += [
        "    out[5] = record.count",
        "    out[6] = record.items[0] + record.items[1] * 2 + record.items[2] * 3 + record.items[3]",
    ]
    ends += ["    out[7] = pair[0]", "    out[8] = pair[1]"]
    return "\n".join([HEAD.rstrip(), *writer.lines, *ends]) + "\n"
