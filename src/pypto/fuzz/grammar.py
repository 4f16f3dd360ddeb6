"""A random valid kernel as source text: loop nests with branches, carried tensors and scalars, scalar reads, helpers.

The text means the same when ``pypto`` is this package and when it is ``standin``. Its tensor arithmetic is sums, halves and
maxima, which fp32 rounds the same way whether fused or not, so results must be equal bit for bit. ``choose`` is a
``random.Random``: hypothesis can supply one that it shrinks.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

ROWS, WIDTH, TABLE, LOG = 6, 4, 8, 64
UNROLL_LISTS = ([1], [2], [4, 2, 1], [4, 3, 1], [1, 2, 4], [3, 2], [5], [8, 3], [7, 2])
FACTORS_IN_NESTS = ([1], [2], [3, 2], [4])
STEPS = (1, 1, 1, 2, 3, 4, -1, -2, -3)

HEADER = f"""\
import pypto


def blend(a, b, weight=0.5):
    half = a * weight
    return half + b


def bump(number, by=1):
    number = number + by
    return number % 89


def first_here(index):
    return pypto.is_loop_begin(index)


@pypto.frontend.jit
def kernel(
    x: pypto.Tensor([pypto.DYNAMIC, {WIDTH}], pypto.DT_FP32),
    table: pypto.Tensor([{TABLE}], pypto.DT_INT32),
    out: pypto.Tensor([{ROWS}, {WIDTH}], pypto.DT_FP32),
    log: pypto.Tensor([{LOG}], pypto.DT_INT32),
    n: pypto.SymbolicScalar,
    k=2,
):
"""


@dataclass(frozen=True)
class Scope:
    """Names a statement may use. ``budget`` bounds the statements of a block, ``trips`` the trip count of a loop."""

    numbers: tuple[str, ...] = ("n", "k")
    indices: tuple[str, ...] = ()
    counters: tuple[str, ...] = ("count", "total")
    tensors: tuple[str, ...] = ("acc", "prev")
    depth: int = 0
    budget: int = 5
    trips: int = 9


@dataclass
class Writer:
    """Source under construction; ``fresh`` numbers new names so that nested loops never share one."""

    choose: random.Random
    lines: list[str] = field(default_factory=list)
    indent: int = 1
    used: int = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    def fresh(self, stem: str) -> str:
        self.used += 1
        return f"{stem}{self.used}"


def integer(w: Writer, s: Scope, deep: int = 2) -> str:
    """An integer expression; always within a few thousands."""
    c = w.choose
    if deep == 0 or c.random() < 0.3:
        return c.choice([str(c.randint(-3, 9)), *s.numbers, *s.indices * 2, *s.counters])
    a, b = integer(w, s, deep - 1), integer(w, s, deep - 1)
    divisor = c.choice([2, 3, 5, -2, -3])
    return c.choice(
        [
            f"({a} + {b})",
            f"({a} - {b})",
            f"{a} * {c.randint(-3, 3)}",
            f"({a}) // {divisor}",
            f"({a}) % {divisor}",
            f"min({a}, {b})",
            f"max({a}, {b}, {c.randint(-3, 9)})",
            f"pypto.min({a}, {b})",
            f"table[({a}) % {TABLE}]",
            f"bump({a})",
            f"({a} if {condition(w, s, 0)} else {b})",
        ]
    )


def condition(w: Writer, s: Scope, deep: int = 1) -> str:
    """A condition on symbols: comparisons, chains, and/or/not, first and last iteration."""
    c = w.choose
    if s.indices and c.random() < 0.35:
        index = c.choice(s.indices)
        return c.choice([f"pypto.is_loop_begin({index})", f"pypto.is_loop_end({index})", f"first_here({index})"])
    a, b = integer(w, s, min(deep, 1)), integer(w, s, 0)
    if deep == 0:
        return f"{a} {c.choice(['<', '<=', '>', '>=', '==', '!='])} {b}"
    p, q = condition(w, s, deep - 1), condition(w, s, deep - 1)
    return c.choice([f"{a} < {b}", f"{a} % 2 == 0", f"{b} <= {a} < {b} + 3", f"{p} and {q}", f"{p} or {q}", f"not ({p})", p])


def row(w: Writer, s: Scope, rows: int = ROWS) -> str:
    """Bind and return the name of a row number that is in range."""
    name = w.fresh("row")
    w.line(f"{name} = ({integer(w, s)}) % {rows}")
    return name


def source_row(w: Writer, s: Scope) -> str:
    """A [1, WIDTH] tensor read from x or out at a symbolic row."""
    r = row(w, s)
    source = w.choose.choice(["x", "x", "out"])
    return w.choose.choice([f"{source}[{r} : {r} + 1, :]", f"pypto.view({source}, [1, {WIDTH}], [{r}, 0])"])


def rebind_tensor(w: Writer, s: Scope) -> None:
    c = w.choose
    a, b = c.choice(s.tensors), c.choice(s.tensors)
    forms = [
        f"{a} = {b} + {source_row(w, s)}",
        f"{a} += {b}",
        f"{a} = {a} * 0.5",
        f"{a} = blend({a}, {b})",
        f"{a} = blend({b}, {source_row(w, s)}, weight=-0.5)",
        f"{a} = pypto.maximum({a}, {b} - 1.0)",
        f"{a} = -{b}",
        "acc, prev = prev, acc",
        f"{a} = {b} if {condition(w, s, 0)} else {a}",
        f"{a} = pypto.full([1, {WIDTH}], {c.randint(-2, 2)}.0, pypto.DT_FP32) + {b}",
    ]
    w.line(c.choice(forms))


def rebind_counter(w: Writer, s: Scope) -> None:
    name = w.choose.choice(s.counters)
    forms = [f"{name} = ({integer(w, s)}) % 97", f"{name} += 1", f"{name} = bump({name}, by={integer(w, s, 0)})"]
    w.line(w.choose.choice(forms))


def store(w: Writer, s: Scope) -> None:
    c = w.choose
    value = c.choice(s.tensors)
    r = row(w, s)
    forms = [
        f"out[{r} : {r} + 1, :] = {value}",
        f"pypto.assemble({value}, [{r}, 0], out)",
        f"out.assemble({value} + 1.0, [{r}, 0])",
    ]
    w.line(c.choice(forms))


def store_number(w: Writer, s: Scope) -> None:
    w.line(f"log[({integer(w, s, 1)}) % {LOG}] = {integer(w, s)}")


def block(w: Writer, s: Scope) -> None:
    """One to ``budget`` statements, one level deeper."""
    w.indent += 1
    for _ in range(w.choose.randint(1, max(1, s.budget))):
        statement(w, s)
    w.indent -= 1


def branch(w: Writer, s: Scope) -> None:
    c = w.choose
    inner = replace(s, budget=max(1, s.budget - 2))
    test = condition(w, s)
    w.line(f"if {c.choice([test, f'pypto.cond({test})'])}:")
    block(w, inner)
    if c.random() < 0.3:
        w.line(f"elif {condition(w, s, 0)}:")
        block(w, inner)
    if c.random() < 0.5:
        w.line("else:")
        block(w, inner)


def bounds(w: Writer, s: Scope) -> tuple[str, int]:
    """Arguments of ``loop`` with at most ``s.trips`` trips, and the step."""
    c = w.choose
    step, trips = c.choice(STEPS), c.randint(0, s.trips)
    if c.random() < 0.45:
        start = c.randint(-2, 5)
        extra = c.randint(0, abs(step) - 1) if trips else 0
        stop = start + trips * step - (extra if step > 0 else -extra)
        short = step == 1 and start == 0
        return (f"{stop}" if short else f"{start}, {stop}, {step}"), step
    if c.random() < 0.2:
        return f"0, x.shape[0] - {c.randint(0, 4)}, {abs(step)}", abs(step)
    first, length = integer(w, s, 1), f"({integer(w, s, 1)}) % {s.trips + 1}"
    if c.random() < 0.5:
        return length, 1
    begin = w.fresh("start")
    w.line(f"{begin} = {first}")
    sign = "+" if step > 0 else "-"
    return f"{begin}, {begin} {sign} {length}, {step}", step


def loop(w: Writer, s: Scope) -> None:
    c = w.choose
    arguments, step = bounds(w, s)
    index = w.fresh("i")
    inner = replace(s, indices=(*s.indices, index), depth=s.depth + 1, budget=max(1, s.budget - 1), trips=max(2, s.trips // 2))
    factors = c.choice(UNROLL_LISTS if s.depth < 2 else FACTORS_IN_NESTS)
    if c.random() < 0.3:
        size = w.fresh("size")
        w.line(f"for {index}, {size} in pypto.loop_unroll({arguments}, unroll_list={factors}):")
        chunk(w, inner, index, size, step)
        return
    extra = c.choice(["", f", unroll_list={factors}", f', name="L_{index}", idx_name="{index}"', ", submit_before_loop=True"])
    w.line(f"for {index} in pypto.loop({arguments}{extra}):")
    block(w, inner)


def chunk(w: Writer, s: Scope, index: str, size: str, step: int) -> None:
    """Body of ``loop_unroll``: statements once per chunk, then a Python loop over the chunk's own indices."""
    w.indent += 1
    at, inner = w.fresh("j"), w.fresh("at")
    w.line(f"count = (count + {size}) % 97")
    w.line(f"for {at} in range({size}):")
    w.indent += 1
    w.line(f"{inner} = {index} + {at} * {step}")
    w.line(f"log[({inner}) % {LOG}] = {inner} + count")
    w.indent -= 1
    block(w, replace(s, numbers=(*s.numbers, inner), budget=1, depth=max(s.depth, 2)))
    if w.choose.random() < 0.5:
        statement(w, replace(s, numbers=(*s.numbers, size), budget=1, depth=3))
    w.indent -= 1


def static_loop(w: Writer, s: Scope) -> None:
    name = w.fresh("p")
    w.line(f"for {name} in {w.choose.choice(['range(2)', 'range(k)', '(3, 1)', '[q * q for q in range(3)]'])}:")
    block(w, replace(s, numbers=(*s.numbers, name), budget=1, depth=s.depth + 1))


def statement(w: Writer, s: Scope) -> None:
    simple = [rebind_tensor, rebind_counter, store, store_number]
    nested = [branch, static_loop] if s.budget > 1 and s.depth < 3 else []
    loops = [loop, loop] if s.depth < 3 and s.budget > 1 else []
    w.choose.choice([*simple, *nested, *nested[:1], *loops])(w, s)


def kernel_source(choose: random.Random) -> str:
    """Source of a module that defines ``kernel``.

    >>> "def kernel(" in kernel_source(random.Random(1))
    True
    """
    w = Writer(choose)
    if choose.random() < 0.7:
        w.line("pypto.set_vec_tile_shapes(4, 8)")
    w.line(f"acc = {choose.choice([f'pypto.zeros(1, {WIDTH})', 'x[0:1, :]', 'x[1:2, :] + 1.0'])}")
    w.line(f"prev = pypto.full([1, {WIDTH}], 2.0, pypto.DT_FP32)")
    w.line("count = 0")
    w.line(f"total = {choose.choice(['n', '1', 'table[0]', 'k + 1'])}")
    for _ in range(choose.randint(1, 4)):
        statement(w, Scope())
    loop(w, Scope())
    w.line(f"out[{ROWS - 1} : {ROWS}, :] = acc + prev")
    w.line(f"log[{LOG - 1}] = count")
    w.line(f"log[{LOG - 2}] = total")
    return HEADER + "\n".join(w.lines) + "\n"
