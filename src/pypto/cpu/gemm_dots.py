"""Few rows times the rows of a transposed B, fp32: sums of products along memory, no packing.

    c[i, j] = a[i, :] · b[j, :]     four rows of B at a time, 16 lanes, two partial sums each, joined by halves

B is read once and bounds the time; packing it would read and write it again.
"""

from __future__ import annotations

from pypto.cpu.packing import BLOCK, invoke, parameters
from pypto.cpu.text import Function, Module, Operand

DOTS = "pipiiiipii"
DOTS_NAMES = "a lda b ldb m n k c ldc accumulate"
MOST_ROWS = 24  # of A; above that B is worth packing (24 rows: 1.02 of MKL, 32: 0.83, packed 0.77)
AT_ONCE = 4
_F = "<16 x float>"


def add_dots(module: Module) -> None:
    """``pypto_dots_f32(a, lda, b, ldb, m, n, k, c, ldc, accumulate)``; strides in elements."""
    for count in (AT_ONCE, 1):
        _some(module, count)
    f = module.function("void", "pypto_dots_f32", parameters(DOTS, DOTS_NAMES), linkage="internal", attributes="noinline")
    a, lda, b, ldb, m, n, k, c, ldc, accumulate = f.arguments
    whole = f.op("and", "i64", n, -AT_ONCE)
    for low, high, count in (("0", whole, AT_ONCE), (whole, n, 1)):
        with f.loop(low, high, count) as across, f.loop(0, m, 1) as down:
            row = f.gep("float", a, f.op("mul", "i64", down.index, lda))
            first = f.gep("float", b, f.op("mul", "i64", across.index, ldb))
            place = f.gep("float", f.gep("float", c, f.op("mul", "i64", down.index, ldc)), across.index)
            invoke(f, "void", f"pypto_dots_{count}", "ppiipi", row, first, ldb, k, place, accumulate)
    f.ret()


def _some(module: Module, count: int) -> None:
    """``dots_N(a, b, ldb, k, c, accumulate)``: one row of A with ``count`` rows of B."""
    listed = parameters("ppiipi", "a b ldb k c accumulate")
    f = module.function("void", f"pypto_dots_{count}", listed, linkage="internal", attributes="noinline")
    a, b, ldb, k, c, accumulate = f.arguments
    rows = [b, *(f.gep("float", b, f.op("mul", "i64", ldb, r)) for r in range(1, count))]
    bulk = f.op("and", "i64", k, -2 * BLOCK)
    sums = ["zeroinitializer"] * (2 * count)
    with f.loop(0, bulk, 2 * BLOCK, carried=[(_F, s) for s in sums]) as loop:
        found = list(loop.carried)
        for half in (0, 1):
            index = f.op("add", "i64", loop.index, half * BLOCK)
            left = f.load(_F, f.gep("float", a, index), align=4)
            for r, row in enumerate(rows):
                right = f.load(_F, f.gep("float", row, index), align=4)
                found[2 * r + half] = _fma(f, left, right, found[2 * r + half])
        loop.next = found
    joined = [f.op("fadd", _F, loop.results[2 * r], loop.results[2 * r + 1]) for r in range(count)]
    totals = [_halved(f, total) for total in joined]
    totals = _rest(f, bulk, k, a, rows, totals)
    for r, total in enumerate(totals):
        place = f.gep("float", c, r)
        before = _before(f, accumulate, place)
        f.store("float", f.op("fadd", "float", before, total), place)
    f.ret()


def _before(f: Function, accumulate: str, place: str) -> str:
    return f.either(f.icmp("ne", "i64", accumulate, 0), lambda: [f.load("float", place)], lambda: ["0.0"], ["float"])[0]


def _rest(f: Function, low: str, high: str, a: str, rows: list[str], totals: list[str]) -> list[str]:
    with f.loop(low, high, 1, carried=[("float", t) for t in totals]) as loop:
        left = f.load("float", f.gep("float", a, loop.index))
        found: list[Operand] = []
        for row, total in zip(rows, loop.carried, strict=True):
            right = f.load("float", f.gep("float", row, loop.index))
            found.append(f.intrinsic("float", "llvm.fma.f32", ("float", left), ("float", right), ("float", total)))
        loop.next = found
    return list(loop.results)


def _fma(f: Function, a: str, b: str, total: str) -> str:
    return f.intrinsic(_F, "llvm.fma.v16f32", (_F, a), (_F, b), (_F, total))


def _halved(f: Function, vector: str) -> str:
    """The sum of all lanes: lane i with lane i + 8, then 4, 2, 1."""
    for width in (8, 4, 2, 1):
        order = ", ".join(f"i32 {(lane + width) % BLOCK}" for lane in range(BLOCK))
        other = f.define(f"shufflevector {_F} {vector}, {_F} poison, <16 x i32> <{order}>")
        vector = f.op("fadd", _F, vector, other)
    return f.define(f"extractelement {_F} {vector}, i64 0")
