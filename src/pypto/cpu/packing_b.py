"""Packing of B: ``pypto_packed_bytes_<kind>`` and ``pypto_pack_b_<kind>``.

Packed B: panels of 64 columns, each ``steps`` words deep (k in words, rounded up to 16)::

    wide    panel[step][64]                  one multiply kernel takes 64 columns
    narrow  panel[4][step][16]               it takes 16 columns
    tile    panel[2][step/16][2][16][16]     tiles of 16 steps × 16 columns, two side by side per multiply step
    split   panel[2][step/16][4][16][16]     the same, two tiles of high parts, then two of low parts; then a flag word
"""

from __future__ import annotations

from pypto.cpu.packing import (
    BLOCK,
    INFINITE,
    MOVER,
    PANEL,
    WORDS,
    Format,
    across_words,
    invoke,
    line_of,
    mover_name,
    panel_bytes,
    parameters,
    steps_of,
)
from pypto.cpu.target import Target
from pypto.cpu.text import Function, Module, Operand


def add_packing(module: Module, target: Target, fmt: Format) -> None:
    """Add ``pypto_packed_bytes``, ``pypto_pack_b`` and what they use, beside the movers."""
    _packed_bytes(module, fmt)
    _lines(module, target, fmt)
    _pack_range(module, fmt)
    _pack_b(module, fmt)


def _packed_bytes(module: Module, fmt: Format) -> None:
    f = module.function("i64", f"pypto_packed_bytes_{fmt.kind}", [("i64", "k"), ("i64", "n")])
    k, n = f.arguments
    panels = f.op("sdiv", "i64", f.op("add", "i64", n, PANEL - 1), PANEL)
    f.ret("i64", f.op("mul", "i64", panels, panel_bytes(f, fmt, steps_of(f, fmt, k))))


def block_place(f: Function, fmt: Format, panel: str, steps: str, step: str, column: int) -> tuple[str, int]:
    """Where the block of 16 steps × 16 columns (``column`` 0…3 of the panel) begins, and its pitch in bytes."""
    if fmt.layout == "wide":
        return f.gep("i32", f.gep("i32", panel, f.op("mul", "i64", step, PANEL)), column * BLOCK), PANEL * 4
    if fmt.layout == "narrow":
        offset = f.op("mul", "i64", f.op("add", "i64", f.op("mul", "i64", steps, column), step), BLOCK)
        return f.gep("i32", panel, offset), BLOCK * 4
    per_step = 32 * fmt.panel_words // PANEL
    half = f.gep("i32", panel, f.op("mul", "i64", steps, per_step * (column // 2)))
    return f.gep("i32", f.gep("i32", half, f.op("mul", "i64", step, per_step)), (column % 2) * 256), BLOCK * 4


RANGE = "piiiiiiiip"


def _pack_range(module: Module, fmt: Format) -> None:
    """``pypto_pack_range``: the panels [first, last) at the steps [low, high) (multiples of 16) of packed B.

    Goes along memory: for row-major B one block of steps across all columns, so that lines are read to their end.
    """
    listed = parameters(RANGE, "b ldb transposed k n first last low high packed")
    f = module.function("void", f"pypto_pack_range_{fmt.kind}", listed, linkage="internal", attributes="noinline")
    _, ldb, is_transposed, k, _, first, last, low, high, _ = f.arguments
    steps = steps_of(f, fmt, k)
    stride = f.op("mul", "i64", ldb, fmt.bytes)

    def by_panel() -> list[Operand]:
        with f.loop(first, last, 1) as panels, f.loop(low, high, BLOCK) as blocks:
            _pack_panel_blocks(f, fmt, "along", stride, steps, blocks.index, panels.index)
        return []

    def by_step() -> list[Operand]:
        with f.loop(low, high, BLOCK) as blocks, f.loop(first, last, 1) as panels:
            _pack_panel_blocks(f, fmt, "across", stride, steps, blocks.index, panels.index)
        return []

    f.either(f.icmp("ne", "i64", is_transposed, 0), by_panel, by_step)
    f.ret()


def _pack_panel_blocks(f: Function, fmt: Format, reading: str, stride: str, steps: str, step: str, panel: str) -> None:
    """The four blocks of one panel at one step; ``f`` is ``pypto_pack_range``."""
    n, packed = f.arguments[4], f.arguments[9]
    where = f.gep("i8", packed, f.op("mul", "i64", panel, panel_bytes(f, fmt, steps)))
    if reading == "along" or fmt.layout == "split":
        _four_blocks(f, fmt, reading, stride, steps, step, panel, where)
        return
    first_n, first_k = f.op("mul", "i64", panel, PANEL), f.op("mul", "i64", step, fmt.group)
    wide = f.icmp("sle", "i64", f.op("add", "i64", first_n, PANEL), n)
    deep = f.icmp("sle", "i64", f.op("add", "i64", first_k, BLOCK * fmt.group), f.arguments[3])

    def whole() -> list[Operand]:
        offset = f.op("add", "i64", f.op("mul", "i64", first_k, stride), f.op("mul", "i64", first_n, fmt.bytes))
        places = [block_place(f, fmt, where, steps, step, column)[0] for column in range(4)]
        invoke(f, "void", f"pypto_lines_{fmt.name}", LINES, f.gep("i8", f.arguments[0], offset), stride, *places)
        return []

    def parts() -> list[Operand]:
        _four_blocks(f, fmt, reading, stride, steps, step, panel, where)
        return []

    f.either(f.op("and", "i1", wide, deep), whole, parts)


LINES = "pipppp"


def _lines(module: Module, target: Target, fmt: Format) -> None:
    """``lines(from, stride, to0 … to3)``: 16 steps × 64 columns of row-major B, whole lines at a time.

    Four separate blocks would come back to the same cache lines, which lie in few sets when rows are a power of two long.
    """
    listed = parameters(LINES, "from stride to0 to1 to2 to3")
    f = module.function("void", f"pypto_lines_{fmt.name}", listed, linkage="internal", attributes="noinline")
    source, stride, *places = f.arguments
    pitch = PANEL * 4 if fmt.layout == "wide" else BLOCK * 4
    with f.loop(0, BLOCK, 1) as steps:
        line = f.gep("i8", source, f.op("mul", "i64", f.op("mul", "i64", steps.index, fmt.group), stride))
        offset = f.op("mul", "i64", steps.index, pitch)
        lines = [line_of(f, line, stride, index) for index in range(fmt.group)]
        for column, place in enumerate(places):
            parts = [
                f.load(f"<{BLOCK} x {fmt.source}>", f.gep(fmt.source, one, BLOCK * column), align=fmt.bytes) for one in lines
            ]
            f.store(WORDS, across_words(f, target, fmt, parts), f.gep("i8", place, offset), align=64)
    f.ret()


def _four_blocks(f: Function, fmt: Format, reading: str, stride: str, steps: str, step: str, panel: str, where: str) -> None:
    if fmt.layout == "tile":  # the second half of a panel is multiplied only where it has columns
        first, n = f.op("mul", "i64", panel, PANEL), f.arguments[4]
        _blocks(f, fmt, reading, stride, steps, step, panel, where, (0, 1))
        with f.when(f.icmp("sgt", "i64", n, f.op("add", "i64", first, PANEL // 2))):
            _blocks(f, fmt, reading, stride, steps, step, panel, where, (2, 3))
        return
    _blocks(f, fmt, reading, stride, steps, step, panel, where, (0, 1, 2, 3))


def _blocks(
    f: Function, fmt: Format, reading: str, stride: str, steps: str, step: str, panel: str, where: str, columns: tuple[int, ...]
) -> None:
    n = f.arguments[4]
    largest: Operand = 0
    for column in columns:
        first_n = f.op("add", "i64", f.op("mul", "i64", panel, PANEL), column * BLOCK)
        left_n = f.intrinsic("i64", "llvm.smax.i64", ("i64", f.op("sub", "i64", n, first_n)), ("i64", 0))
        to, pitch = block_place(f, fmt, where, steps, step, column)
        seen = _move_b(f, fmt, reading, stride, first_n, left_n, step, to, pitch)
        if fmt.layout == "split":
            largest = f.intrinsic("i32", "llvm.umax.i32", ("i32", largest), ("i32", seen))
    if fmt.layout == "split":
        _raise_flag(f, fmt, where, steps, largest)


def _move_b(
    f: Function, fmt: Format, reading: str, stride: str, first_n: str, left_n: str, step: str, to: str, pitch: int
) -> str:
    b, k = f.arguments[0], f.arguments[3]
    first_k = f.op("mul", "i64", step, fmt.group)
    left_k = f.op("sub", "i64", k, first_k)
    line, element, lines, count = (first_n, first_k, left_n, left_k) if reading == "along" else (first_k, first_n, left_k, left_n)
    offset = f.op("add", "i64", f.op("mul", "i64", line, stride), f.op("mul", "i64", element, fmt.bytes))
    # For columns beyond n nothing is read, but the address may lie outside: no ``inbounds`` here.
    source = f.define(f"getelementptr i8, ptr {b}, i64 {offset}")
    return invoke(f, "i32", mover_name(fmt, reading, reading == "along"), MOVER, source, stride, lines, count, to, pitch)


def flag_place(f: Function, fmt: Format, panel: str, steps: str) -> str:
    """The word after a split panel that is not zero when the panel holds an infinity or NaN."""
    return f.gep("i8", panel, f.op("mul", "i64", steps, fmt.panel_words * 4))


def _raise_flag(f: Function, fmt: Format, panel: str, steps: str, largest: Operand) -> None:
    infinite = f.cast("zext", "i1", f.icmp("uge", "i32", largest, INFINITE), "i32")
    f.define(f"atomicrmw or ptr {flag_place(f, fmt, panel, steps)}, i32 {infinite} monotonic")


def _pack_b(module: Module, fmt: Format) -> None:
    listed = parameters("piiiiiip", "b ldb transposed k n first_panel last_panel packed")
    f = module.function("void", f"pypto_pack_b_{fmt.kind}", listed)
    *source, first, last, packed = f.arguments
    steps = steps_of(f, fmt, f.arguments[3])
    if fmt.layout == "split":
        clear_flags(f, fmt, packed, steps, first, last)
    invoke(f, "void", f"pypto_pack_range_{fmt.kind}", RANGE, *source, first, last, 0, steps, packed)
    f.ret()


def clear_flags(f: Function, fmt: Format, packed: str, steps: str, first: str, last: str) -> None:
    size = panel_bytes(f, fmt, steps)
    with f.loop(first, last, 1) as panels:
        f.store("i32", 0, flag_place(f, fmt, f.gep("i8", packed, f.op("mul", "i64", panels.index, size)), steps))
