"""How matrices are laid out for the multiply kernels, and the functions that lay them out.

Everything is packed in *words* of 32 bits. A word holds ``group`` neighbours along k: one float (``fma``), a pair of bf16 or of
16-bit integers (``dot``, ``madd``, bf16 ``tile``), four int8 (int8 ``tile``). Packing moves blocks of 16 × 16 words:

    source                              lines are       wanted with k going
    A row-major        a[m][k]   along   rows of A       across the block (a word row is one row of A)   plain
    A transposed       a[k][m]   across  steps of k      across                                          transpose
    B row-major        b[k][n]   across  steps of k      down (a word row is one step of 16 columns)     plain
    B transposed       b[n][k]   along   columns of B    down                                            transpose

A block at an edge is first copied into a zeroed local block, so no byte outside the operand is read and the tails are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pypto.cpu.target import Target
from pypto.cpu.text import Function, Module, Operand
from pypto.cpu.vectors import Vectors
from pypto.dtypes import DataType

BLOCK = 16  # words each way
PANEL = 64  # columns
WORDS = "<16 x i32>"
_FLOATS = "<16 x float>"


@dataclass(frozen=True)
class Format:
    """How one kind of matrix is packed on one target.

    ``kind`` f32, bf16, f16, i8; ``method`` fma, dot, madd, tile, split; ``group`` source elements in a word;
    ``layout`` of packed B: wide, narrow, tile, split.
    """

    kind: str
    method: str
    group: int
    layout: str

    @property
    def source(self) -> str:
        """LLVM type of a source element, as bits."""
        return {"f32": "i32", "bf16": "i16", "f16": "i16", "i8": "i8"}[self.kind]

    @property
    def bytes(self) -> int:
        return {"f32": 4, "bf16": 2, "f16": 2, "i8": 1}[self.kind]

    @property
    def dtype(self) -> DataType:
        names = {"f32": DataType.DT_FP32, "bf16": DataType.DT_BF16, "f16": DataType.DT_FP16, "i8": DataType.DT_INT8}
        return names[self.kind]

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.method}"

    @property
    def panel_words(self) -> int:
        """Words of one panel per step of k."""
        return 2 * PANEL if self.layout == "split" else PANEL

    @property
    def panel_extra(self) -> int:
        """Bytes after a panel (a cache line that holds the flag of ``split``)."""
        return 64 if self.layout == "split" else 0

    @property
    def reads_in_place(self) -> bool:
        """Whether words of a row-major A are what lies in memory."""
        return self.method in ("dot", "tile") or self.kind == "f32"


_LETTERS = {"p": "ptr", "i": "i64"}


def parameters(kinds: str, names: str) -> list[tuple[str, str]]:
    """Parameter list from one letter each: p pointer, i 64-bit integer.

    >>> parameters("pi", "b ldb")
    [('ptr', 'b'), ('i64', 'ldb')]
    """
    return [(_LETTERS[kind], name) for kind, name in zip(kinds, names.split(), strict=True)]


def invoke(f: Function, result: str, name: str, kinds: str, *values: Operand) -> str:
    """Call ``@name`` (or a pointer value, ``%name``); argument types are given by letters, as in ``parameters``."""
    callee = name if name.startswith("%") else f"@{name}"
    return f.call(result, callee, *((_LETTERS[kind], value) for kind, value in zip(kinds, values, strict=True)))


def smaller(f: Function, a: Operand, b: Operand) -> str:
    return f.intrinsic("i64", "llvm.smin.i64", ("i64", a), ("i64", b))


def steps_of(f: Function, fmt: Format, k: str) -> str:
    """k in words, rounded up to whole blocks."""
    unit = fmt.group * BLOCK
    return f.op("mul", "i64", f.op("sdiv", "i64", f.op("add", "i64", k, unit - 1), unit), BLOCK)


def panel_bytes(f: Function, fmt: Format, steps: str) -> str:
    total = f.op("mul", "i64", steps, fmt.panel_words * 4)
    return f.op("add", "i64", total, fmt.panel_extra) if fmt.panel_extra else total


def add_movers(module: Module, target: Target, fmt: Format) -> None:
    """Add the functions that move a block, for each way of reading and with or without a transpose."""
    _zeroed_copy(module)
    _turn(module)
    for reading in ("along", "across"):
        for transposed in (False, True):
            _mover(module, target, fmt, reading, transposed)


# -- edges -----------------------------------------------------------------------------------------------------------------------

EDGE_BYTES = 64 * 64  # the largest source block: 64 lines of 16 int8, or 16 lines of 64 bytes


def _zeroed_copy(module: Module) -> None:
    """``pypto_edge_block(to, pitch, from, stride, lines, bytes)``: copy lines into a block that is zeroed first."""
    listed = parameters("pipiii", "to pitch from stride lines bytes")
    f = module.function("void", "pypto_edge_block", listed, linkage="internal", attributes="noinline")
    to, pitch, source, stride, lines, count = f.arguments
    with f.loop(0, EDGE_BYTES, 64, type="i64") as loop:
        f.store(WORDS, "zeroinitializer", f.gep("i8", to, loop.index), align=64)
    module.declare("ptr", "memcpy", "ptr, ptr, i64")
    with f.when(f.icmp("sgt", "i64", count, 0)), f.loop(0, lines, 1) as loop:
        line = f.gep("i8", to, f.op("mul", "i64", loop.index, pitch))
        start = f.gep("i8", source, f.op("mul", "i64", loop.index, stride))
        f.call("ptr", "@memcpy", ("ptr", line), ("ptr", start), ("i64", count))
    f.ret()


# -- block movers ----------------------------------------------------------------------------------------------------------------

MOVER = "piiipi"


def mover_name(fmt: Format, reading: str, transposed: bool) -> str:
    return f"pypto_{reading}{'_turned' if transposed else ''}_{fmt.name}"


def _mover(module: Module, target: Target, fmt: Format, reading: str, transposed: bool) -> None:
    """``mover(from, stride, lines, count, to, pitch)``: one block of 16 × 16 words.

    ``lines`` and ``count`` (elements in a line) may exceed the block; what is missing becomes zero. Strides are in bytes.
    Of ``split``, high parts go to ``to``, low parts 2048 bytes (two tiles) further; the largest magnitude's bits are returned.
    """
    full_lines, full_count = _source_shape(fmt, reading)
    listed = parameters(MOVER, "from stride lines count to pitch")
    f = module.function("i32", mover_name(fmt, reading, transposed), listed, linkage="internal", attributes="noinline")
    source, stride, lines, count, to, pitch = f.arguments
    edge = f.scratch("i8", EDGE_BYTES)
    line_bytes = full_count * fmt.bytes
    whole = f.op("and", "i1", f.icmp("sge", "i64", lines, full_lines), f.icmp("sge", "i64", count, full_count))

    def copy() -> list[Operand]:
        used = smaller(f, lines, full_lines)
        length = f.op("mul", "i64", smaller(f, count, full_count), fmt.bytes)
        invoke(f, "void", "pypto_edge_block", "pipiii", edge, line_bytes, source, stride, used, length)
        return [edge, line_bytes]

    start, step = f.either(whole, lambda: [source, stride], copy, ["ptr", "i64"])
    f.ret("i32", _move(f, target, fmt, reading, transposed, start, step))


def _move(f: Function, target: Target, fmt: Format, reading: str, transposed: bool, start: str, step: str) -> Operand:
    """Read a whole block and store it; the largest magnitude (only ``split`` looks at it)."""
    to, pitch = f.arguments[4:]
    split = fmt.method == "split"
    if not transposed:
        return _move_lines(f, target, fmt, reading, (start, step), (to, pitch), split)
    rows, distance = start, step
    if reading == "across" or not (fmt.reads_in_place or split):
        rows, distance = f.scratch("i32", BLOCK * BLOCK), "64"
        _move_lines(f, target, fmt, reading, (start, step), (rows, distance), False)
    if not split:
        invoke(f, "void", "pypto_turn", "pipi", rows, distance, to, pitch)
        return 0
    columns = f.scratch("i32", BLOCK * BLOCK)
    invoke(f, "void", "pypto_turn", "pipi", rows, distance, columns, 64)
    return _split_lines(f, lambda index: f.load(WORDS, f.gep("i32", columns, f.op("shl", "i64", index, 4)), align=64), to, pitch)


_AT_ONCE = 4  # word vectors per turn of a loop: unrolled 16 times, movers are most of a module's code


def _move_lines(
    f: Function, target: Target, fmt: Format, reading: str, source: tuple[str, str], to: tuple[str, str], split: bool
) -> Operand:
    """16 word vectors from lines to rows, without a transpose."""
    if split:
        return _split_lines(f, lambda index: _read(f, target, fmt, reading, source, index), *to)
    with f.loop(0, BLOCK, _AT_ONCE) as loop:
        for u in range(_AT_ONCE):
            index = f.op("add", "i64", loop.index, u)
            words = _read(f, target, fmt, reading, source, index)
            f.store(WORDS, words, f.gep("i8", to[0], f.op("mul", "i64", index, to[1])), align=4)
    return 0


def _read(f: Function, target: Target, fmt: Format, reading: str, source: tuple[str, str], index: str) -> str:
    """Word vector ``index``: line ``index``, or steps index·group … of 16 columns, interleaved."""
    start, stride = source
    if reading == "along":
        count = BLOCK * fmt.group
        raw = f.load(f"<{count} x {fmt.source}>", f.gep("i8", start, f.op("mul", "i64", stride, index)), align=fmt.bytes)
        return _as_words(f, target, fmt, raw, count)
    first = f.gep("i8", start, f.op("mul", "i64", stride, f.op("mul", "i64", index, fmt.group)))
    lines = [f.load(f"<{BLOCK} x {fmt.source}>", line_of(f, first, stride, i), align=fmt.bytes) for i in range(fmt.group)]
    return across_words(f, target, fmt, lines)


def _source_shape(fmt: Format, reading: str) -> tuple[int, int]:
    """Lines and elements per line of a whole block."""
    return (BLOCK, BLOCK * fmt.group) if reading == "along" else (BLOCK * fmt.group, BLOCK)


def line_of(f: Function, start: str, stride: str, index: int) -> str:
    return f.gep("i8", start, f.op("mul", "i64", stride, index)) if index else start


def _as_words(f: Function, target: Target, fmt: Format, raw: str, count: int) -> str:
    """Source elements of one line as words."""
    stored = f"<{count} x {fmt.source}>"
    if fmt.method == "madd":
        return f.cast("bitcast", f"<{count} x i16>", f.cast("sext", stored, raw, f"<{count} x i16>"), WORDS)
    if fmt.method == "fma" and fmt.kind != "f32":
        return f.cast("bitcast", _FLOATS, Vectors(f, target, fmt.dtype).widen(raw, fmt.dtype).name, WORDS)
    return raw if stored == WORDS else f.cast("bitcast", stored, raw, WORDS)


def across_words(f: Function, target: Target, fmt: Format, lines: list[str]) -> str:
    """One step of 16 columns from ``group`` lines."""
    if fmt.group == 1:
        return _as_words(f, target, fmt, lines[0], BLOCK)
    if fmt.method == "madd":
        return _interleaved(f, [f.cast("sext", "<16 x i8>", line, "<16 x i16>") for line in lines], "i16")
    return _interleaved(f, lines, fmt.source)


def _interleaved(f: Function, lines: Sequence[str], element: str) -> str:
    """Words whose parts come from two or four lines of 16 elements."""
    if len(lines) == 4:
        low, high = _zip(f, lines[0], lines[1], element, BLOCK), _zip(f, lines[2], lines[3], element, BLOCK)
        pairs = [f.cast("bitcast", "<32 x i8>", pair, "<16 x i16>") for pair in (low, high)]
        return _interleaved(f, pairs, "i16")
    return f.cast("bitcast", f"<32 x {element}>", _zip(f, lines[0], lines[1], element, BLOCK), WORDS)


def _zip(f: Function, a: str, b: str, element: str, lanes: int) -> str:
    order = [lane + offset for lane in range(lanes) for offset in (0, lanes)]
    return shuffle(f, a, b, f"<{lanes} x {element}>", order)


def shuffle(f: Function, a: str, b: str, type: str, order: Sequence[int]) -> str:
    mask = ", ".join(f"i32 {lane}" for lane in order)
    return f.define(f"shufflevector {type} {a}, {type} {b}, <{len(order)} x i32> <{mask}>")


def _turn(module: Module) -> None:
    """``turn(from, stride, to, pitch)``: transpose of 16 × 16 words in registers, four rounds of two-input shuffles."""
    f = module.function(
        "void", "pypto_turn", parameters("pipi", "from stride to pitch"), linkage="internal", attributes="noinline"
    )
    source, stride, to, pitch = f.arguments
    vectors = [f.load(WORDS, line_of(f, source, stride, index), align=1) for index in range(BLOCK)]
    for distance, (low, high) in _ROUNDS.items():
        following = list(vectors)
        for index in range(BLOCK):
            if not index & distance:
                a, b = vectors[index], vectors[index + distance]
                following[index] = shuffle(f, a, b, WORDS, low)
                following[index + distance] = shuffle(f, a, b, WORDS, high)
        vectors = following
    for column in range(BLOCK):
        f.store(WORDS, vectors[_PLACE[column]], line_of(f, to, pitch, column), align=4)
    f.ret()


def _both(low: list[int], offset: int) -> tuple[list[int], list[int]]:
    return low, [lane + offset for lane in low]


# Distance between the two vectors of a shuffle → lanes of its two results.
_ROUNDS = {
    1: _both([lane + word for lane in (0, 4, 8, 12) for word in (0, 16, 1, 17)], 2),
    2: _both([lane + word for lane in (0, 4, 8, 12) for word in (0, 1, 16, 17)], 2),
    4: _both([lane + word for lane in (0, 8, 16, 24) for word in range(4)], 4),
    8: _both([lane + word for lane in (0, 8, 16, 24) for word in range(4)], 4),
}


def _places() -> list[int]:
    """Which vector holds which column after the four rounds (followed symbolically, so that the table cannot be wrong)."""
    vectors = [[(row, column) for column in range(BLOCK)] for row in range(BLOCK)]
    for distance, (low, high) in _ROUNDS.items():
        following = list(vectors)
        for index in range(BLOCK):
            if not index & distance:
                both = vectors[index] + vectors[index + distance]
                following[index], following[index + distance] = [both[i] for i in low], [both[i] for i in high]
        vectors = following
    found = {vector[0][1]: index for index, vector in enumerate(vectors)}
    if any(vectors[found[column]] != [(row, column) for row in range(BLOCK)] for column in found):
        raise ValueError("the rounds do not transpose")
    return [found[column] for column in range(BLOCK)]


_PLACE = _places()


# -- fp16 as two bf16 ------------------------------------------------------------------------------------------------------------

SPLIT_LOW = 2048  # bytes from a tile of high parts to the tile of low parts
INFINITE = 0x7F800000


def split_words(f: Function, words: str) -> tuple[str, str, str]:
    """High parts, low parts (pairs of bf16) and magnitude bits of 16 words of fp16 pairs: x = high + low, exactly.

    bf16 keeps 8 significant bits and the difference to a number of 11 needs 3 more: both parts are exact, denormals too.
    """
    wide, floats = "<32 x i32>", "<32 x float>"
    half = f.cast("bitcast", WORDS, words, "<32 x half>")
    x = f.cast("fpext", "<32 x half>", half, floats)
    bits = f.cast("bitcast", floats, x, wide)
    odd = f.op("and", wide, f.op("lshr", wide, bits, "splat (i32 16)"), "splat (i32 1)")
    rounded = f.op("add", wide, f.op("add", wide, bits, "splat (i32 32767)"), odd)
    high = f.op("and", wide, rounded, "splat (i32 -65536)")
    low = f.op("fsub", floats, x, f.cast("bitcast", wide, high, floats))
    parts = []
    for part in (high, f.cast("bitcast", floats, low, wide)):
        narrow = f.cast("trunc", wide, f.op("lshr", wide, part, "splat (i32 16)"), "<32 x i16>")
        parts.append(f.cast("bitcast", "<32 x i16>", narrow, WORDS))
    return parts[0], parts[1], f.op("and", wide, bits, "splat (i32 2147483647)")


def _split_lines(f: Function, read: Callable[[str], str], to: str, pitch: str) -> str:
    """Split 16 word vectors, store high and low parts; the largest magnitude seen, as an i32."""
    wide = "<32 x i32>"
    with f.loop(0, BLOCK, 1, carried=[(wide, "zeroinitializer")]) as loop:
        high, low, magnitude = split_words(f, read(loop.index))
        place = f.gep("i8", to, f.op("mul", "i64", pitch, loop.index))
        f.store(WORDS, high, place, align=4)
        f.store(WORDS, low, f.gep("i8", place, SPLIT_LOW), align=4)
        loop.next = [f.intrinsic(wide, "llvm.umax.v32i32", (wide, loop.carried[0]), (wide, magnitude))]
    return f.intrinsic("i32", "llvm.vector.reduce.umax.v32i32", (wide, loop.results[0]))
