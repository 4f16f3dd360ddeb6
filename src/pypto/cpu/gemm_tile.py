"""Matrix multiplication on tile registers (AMX): 32 × 32 blocks of C in four tiles.

    order of one step of k (64 bytes):   B0 A0 B1 · C00 C01 · A1 · C10 C11
    split (fp16 as two bf16, four products):  high·high, high·low, low·low, low·high, reloading only what changes

The multiplier is fed from the second-level cache at best at 60 % of its rate, so a stretch of one half panel of B (16 KiB)
stays in the first level while all rows pass. Packed A: pairs of 16-row tiles, ``[pair][step/16][2][16][16]`` words
(split: ``[4]``, two of high parts, then two of low parts). bf16 products flush denormals: that is what the instruction does.
"""

from __future__ import annotations

from pypto.cpu.gemm_driver import ROWS, ROWS_NAMES, Blocking, Driver, any_flag, pack_a_function, prefetch
from pypto.cpu.gemm_vector import copy_rows
from pypto.cpu.packing import BLOCK, INFINITE, SPLIT_LOW, Format, invoke, parameters, smaller
from pypto.cpu.target import Target
from pypto.cpu.text import Function, Module, Operand

SIDE = 32  # rows and columns of C in registers
TILE = 1024  # bytes
FEW_COLUMNS = 256
AHEAD = 4  # lines of the next stretch of B fetched at each step: 256 rows fetch all of it
_I = "<16 x i32>"
_F = "<16 x float>"
C_TILES, A_TILES, B_TILES = (0, 1, 2, 3), (4, 5), (6, 7)


def add_tile_gemm(module: Module, target: Target, fmt: Format) -> None:
    """Add ``pypto_gemm_<kind>`` and ``pypto_gemm_scratch_<kind>`` for the tile and split methods."""
    for height in (2, 1):
        _multiply(module, fmt, height)
        _edge(module, fmt, height)
    _rows(module, fmt)
    pack_a_function(module, fmt, _place_of_a if fmt.method == "tile" else _place_of_split_a)
    if fmt.method == "split":
        _exact_block(module, fmt)
    TileDriver(module, fmt).write()


# -- instructions ----------------------------------------------------------------------------------------------------------------


def _load(f: Function, tile: int, address: str, stride: Operand) -> None:
    f.intrinsic("void", "llvm.x86.tileloadd64", ("immarg i8", tile), ("ptr", address), ("i64", stride))


def _product(f: Function, fmt: Format, c: int, a: int, b: int) -> None:
    name = "llvm.x86.tdpbssd" if fmt.kind == "i8" else "llvm.x86.tdpbf16ps"
    f.intrinsic("void", name, ("immarg i8", c), ("immarg i8", a), ("immarg i8", b))


def configure(f: Function) -> None:
    """All eight tiles 16 rows of 64 bytes. Per call: the state belongs to the thread and other libraries release it."""
    header = [1, 0, *[0] * 14, *[value for _ in range(8) for value in (64, 0)], *[0] * 16, *[16] * 8, *[0] * 8]
    text = ", ".join(f"i8 {value}" for value in header)
    f.intrinsic("void", "llvm.x86.ldtilecfg", ("ptr", f.module.constant("[64 x i8]", f"[{text}]")))


def release(f: Function) -> None:
    f.intrinsic("void", "llvm.x86.tilerelease")


# -- the register tile -----------------------------------------------------------------------------------------------------------

MULTIPLY = "piiipipiip"
MULTIPLY_NAMES = "a stride second step b tiles c ldc accumulate following"


def _name(fmt: Format, what: str, height: int) -> str:
    return f"pypto_{what}{height}_{fmt.name}"


def _multiply(module: Module, fmt: Format, height: int) -> None:
    """``multiply(a, stride, second, step, b, tiles, c, ldc, accumulate, following)``: 16·height × 32 of C, ``tiles`` steps of 64 bytes.

    Meanwhile a part of the stretch of B that comes next is fetched, from ``following`` on (up to 22 % at 2048³).
    """
    listed = parameters(MULTIPLY, MULTIPLY_NAMES)
    f = module.function("void", _name(fmt, "multiply", height), listed, linkage="internal", attributes="noinline")
    a, stride, second, step, b, tiles, c, ldc, accumulate, following = f.arguments
    below = f.gep("i8", c, f.op("shl", "i64", ldc, 4))
    places = [f.gep("i8", row, 64 * j) for row in (c, below)[:height] for j in (0, 1)]

    def start() -> list[Operand]:
        for tile, place in zip(C_TILES, places, strict=False):
            _load(f, tile, place, ldc)
        return []

    def clear() -> list[Operand]:
        for tile in C_TILES[: len(places)]:
            f.intrinsic("void", "llvm.x86.tilezero", ("immarg i8", tile))
        return []

    f.either(f.icmp("ne", "i64", accumulate, 0), start, clear)
    with f.loop(0, tiles, 1, carried=[("ptr", a), ("ptr", b)]) as loop:
        here, packed = loop.carried
        for line in range(AHEAD):
            prefetch(f, following, f.op("add", "i64", f.op("mul", "i64", loop.index, AHEAD * 64), line * 64))
        rows = [here, f.gep("i8", here, second)][:height]
        if fmt.method == "split":
            _split_step(f, fmt, rows, stride, packed)
        else:
            _step(f, fmt, rows, stride, packed)
        loop.next = [f.gep("i8", here, step), f.gep("i8", packed, (4 if fmt.method == "split" else 2) * TILE)]
    for tile, place in zip(C_TILES, places, strict=False):
        f.intrinsic("void", "llvm.x86.tilestored64", ("immarg i8", tile), ("ptr", place), ("i64", ldc))
    f.ret()


def _step(f: Function, fmt: Format, rows: list[str], stride: str, b: str) -> None:
    _load(f, B_TILES[0], b, 64)
    _load(f, A_TILES[0], rows[0], stride)
    _load(f, B_TILES[1], f.gep("i8", b, TILE), 64)
    for index, row in enumerate(rows):
        if index:
            _load(f, A_TILES[index], row, stride)
        for column in (0, 1):
            _product(f, fmt, C_TILES[2 * index + column], A_TILES[index], B_TILES[column])


def _split_step(f: Function, fmt: Format, rows: list[str], stride: str, b: str) -> None:
    low = [f.gep("i8", row, SPLIT_LOW) for row in rows]
    high_b, low_b = b, f.gep("i8", b, 2 * TILE)
    for new_a, new_b in ((rows, high_b), (None, low_b), (low, None), (None, high_b)):
        for index, row in enumerate(new_a or ()):
            _load(f, A_TILES[index], row, stride)
        for column in (0, 1) if new_b else ():
            _load(f, B_TILES[column], f.gep("i8", str(new_b), column * TILE), 64)
        for index in range(len(rows)):
            for column in (0, 1):
                _product(f, fmt, C_TILES[2 * index + column], A_TILES[index], B_TILES[column])


def _edge(module: Module, fmt: Format, height: int) -> None:
    """The same where only rows × columns of C exist: into a local block, of which the valid part is copied."""
    listed = parameters(MULTIPLY + "ii", MULTIPLY_NAMES + " rows columns")
    f = module.function("void", _name(fmt, "edge", height), listed, linkage="internal", attributes="noinline")
    *operands, c, ldc, accumulate, following, rows, columns = f.arguments
    block = f.scratch("i32", SIDE * SIDE)
    size = f.op("shl", "i64", columns, 2)
    with f.when(f.icmp("ne", "i64", accumulate, 0)):
        with f.loop(0, SIDE * SIDE, BLOCK) as loop:
            f.store(_I, "zeroinitializer", f.gep("i32", block, loop.index), align=64)
        copy_rows(f, block, SIDE * 4, c, ldc, rows, size)
    invoke(f, "void", _name(fmt, "multiply", height), MULTIPLY, *operands, block, SIDE * 4, accumulate, following)
    copy_rows(f, c, ldc, block, SIDE * 4, rows, size)
    f.ret()


def _rows(module: Module, fmt: Format) -> None:
    f = module.function("void", f"pypto_rows_{fmt.name}", parameters(ROWS, ROWS_NAMES), linkage="internal", attributes="noinline")
    a, stride, second, step, pair, rows, n, b, _, panel, part, steps, c, ldc, accumulate = f.arguments
    tiles = f.op("lshr", "i64", steps, 4)
    share = f.op("mul", "i64", tiles, AHEAD * 64)

    def half_panel(column: str) -> str:
        half = f.op("mul", "i64", f.op("and", "i64", f.op("lshr", "i64", column, 5), 1), part)
        offset = f.op("add", "i64", f.op("mul", "i64", f.op("lshr", "i64", column, 6), panel), half)
        return f.define(f"getelementptr i8, ptr {b}, i64 {offset}")

    with f.loop(0, n, SIDE) as across:
        columns = smaller(f, f.op("sub", "i64", n, across.index), SIDE)
        here, following = half_panel(across.index), half_panel(f.op("add", "i64", across.index, SIDE))
        with f.loop(0, rows, SIDE) as down:
            height = smaller(f, f.op("sub", "i64", rows, down.index), SIDE)
            which = f.op("lshr", "i64", down.index, 5)
            row = f.gep("i8", a, f.op("mul", "i64", which, pair))
            place = f.gep("i32", f.gep("i8", c, f.op("mul", "i64", down.index, ldc)), across.index)
            soon = f.define(f"getelementptr i8, ptr {following}, i64 {f.op('mul', 'i64', which, share)}")
            values = (row, stride, second, step, here, tiles, place, ldc, accumulate, soon)
            _one_tile(f, fmt, values, height, columns)
    f.ret()


def _one_tile(f: Function, fmt: Format, values: tuple[Operand, ...], height: str, columns: str) -> None:
    """Tall or single, whole or edge."""

    def call(what: str, tiles: int) -> list[Operand]:
        if what == "edge":
            invoke(f, "void", _name(fmt, what, tiles), MULTIPLY + "ii", *values, height, columns)
        else:
            invoke(f, "void", _name(fmt, what, tiles), MULTIPLY, *values)
        return []

    def sized(tiles: int) -> list[Operand]:
        full = f.op("and", "i1", f.icmp("eq", "i64", height, BLOCK * tiles), f.icmp("eq", "i64", columns, SIDE))
        f.either(full, lambda: call("multiply", tiles), lambda: call("edge", tiles))
        return []

    f.either(f.icmp("sgt", "i64", height, BLOCK), lambda: sized(2), lambda: sized(1))


# -- A ---------------------------------------------------------------------------------------------------------------------------


def _pair_bytes(f: Function, fmt: Format, steps: str) -> str:
    return f.op("mul", "i64", steps, 256 if fmt.method == "split" else 128)


def _place_in_pair(f: Function, to: str, pair: str, row: str, step: str, word_bytes: int) -> tuple[str, Operand]:
    start = f.gep("i8", to, f.op("mul", "i64", f.op("lshr", "i64", row, 5), pair))
    second = f.op("shl", "i64", f.op("and", "i64", row, 16), 6)  # 1024 bytes for the second tile of the pair
    return f.gep("i8", f.gep("i8", start, second), f.op("mul", "i64", step, word_bytes)), 64


def _place_of_a(f: Function, to: str, steps: str, row: str, step: str) -> tuple[str, Operand]:
    return _place_in_pair(f, to, f.op("mul", "i64", steps, 128), row, step, 128)


def _place_of_split_a(f: Function, to: str, steps: str, row: str, step: str) -> tuple[str, Operand]:
    return _place_in_pair(f, to, f.op("mul", "i64", steps, 256), row, step, 256)


class TileDriver(Driver):
    def __init__(self, module: Module, fmt: Format) -> None:
        super().__init__(module, fmt)
        # 128 words of half a panel are 16 KiB; a block of C is 128 KiB; split packs twice the bytes.
        half = 2 if fmt.method == "split" else 1
        self.blocking = Blocking(rows=256, columns=128, stretch=128 // half, a_bytes=(5 << 18) // half, row_step=SIDE)

    def in_place(self, f: Function) -> str:
        """Whole tiles only: nothing outside A may be read. And few columns: packed tiles load faster, which pays above that."""
        if self.fmt.method == "split":
            return "false"
        _, _, is_transposed, m, n, k, *_ = f.arguments
        plain = f.op("and", "i1", f.icmp("eq", "i64", is_transposed, 0), f.icmp("sle", "i64", n, FEW_COLUMNS))
        whole_rows = f.icmp("eq", "i64", f.op("urem", "i64", m, SIDE), 0)
        whole_words = f.icmp("eq", "i64", f.op("urem", "i64", k, BLOCK * self.fmt.group), 0)
        return f.op("and", "i1", plain, f.op("and", "i1", whole_rows, whole_words))

    def packed_row_bytes(self, f: Function, steps: str) -> str:
        return f.op("mul", "i64", steps, 8 if self.fmt.method == "split" else 4)

    def describe(self, f: Function, direct: bool, steps: str) -> list[Operand]:
        if direct:
            stride = f.op("mul", "i64", f.arguments[1], self.fmt.bytes)
            return [stride, f.op("shl", "i64", stride, 4), 64, f.op("shl", "i64", stride, 5), 4]
        tiles = 4 if self.fmt.method == "split" else 2
        return [64, TILE, tiles * TILE, _pair_bytes(f, self.fmt, steps), tiles * 64]

    def stretch_of_b(self, f: Function, step: str) -> str:
        return f.op("mul", "i64", step, 256 if self.fmt.method == "split" else 128)

    def begin(self, f: Function) -> None:
        configure(f)

    def end(self, f: Function) -> None:
        release(f)

    def _block(
        self, f: Function, steps: str, source: list[str], rows: str, columns: str, panel: str, size: str, place: str, width: str
    ) -> None:
        """Split: infinities cannot be split (inf · 0 of the other side's low part is NaN), so such blocks go another way."""
        if self.fmt.method != "split":
            self._stretches(f, steps, source, rows, columns, panel, size, place, width)
            return
        in_a = f.icmp("uge", "i32", source[6], INFINITE)
        in_b = f.icmp("ne", "i32", any_flag(f, self.fmt, panel, size, steps, columns), 0)

        def exact() -> list[Operand]:
            values = (source[0], rows, columns, panel, size, steps, place, width, f.arguments[9])
            invoke(f, "void", f"pypto_exact_{self.fmt.name}", EXACT, *values)
            return []

        def fast() -> list[Operand]:
            self._stretches(f, steps, source, rows, columns, panel, size, place, width)
            return []

        f.either(f.op("or", "i1", in_a, in_b), exact, fast)


# -- blocks with infinities ------------------------------------------------------------------------------------------------------

EXACT = "piipiipii"


def _exact_block(module: Module, fmt: Format) -> None:
    """``exact(a, rows, columns, panels, panel_bytes, steps, c, ldc, accumulate)``: packed operands, fp32 multiply-add.

    Slow and rare. A part is put together again as high + low, or high alone where that is infinite or NaN.
    """
    listed = parameters(EXACT, "a rows columns panels size steps c ldc accumulate")
    f = module.function("void", f"pypto_exact_{fmt.name}", listed, linkage="internal", attributes="noinline")
    a, rows, columns, panels, size, steps, c, ldc, accumulate = f.arguments
    line = f.scratch("float", BLOCK)
    pair = f.op("mul", "i64", steps, 256)
    with f.loop(0, rows, 1) as down, f.loop(0, columns, BLOCK) as across:
        left, _ = _place_in_pair(f, a, pair, down.index, "0", 256)
        row = f.gep("i8", left, f.op("shl", "i64", f.op("and", "i64", down.index, 15), 6))
        panel = f.gep("i8", panels, f.op("mul", "i64", f.op("lshr", "i64", across.index, 6), size))
        half = f.op("mul", "i64", f.op("and", "i64", f.op("lshr", "i64", across.index, 5), 1), pair)
        tile = f.op("shl", "i64", f.op("and", "i64", across.index, 16), 6)
        b = f.gep("i8", f.gep("i8", panel, half), tile)
        place = f.gep("i32", f.gep("i8", c, f.op("mul", "i64", down.index, ldc)), across.index)
        valid = f.op("shl", "i64", smaller(f, f.op("sub", "i64", columns, across.index), BLOCK), 2)
        f.store(_F, "zeroinitializer", line, align=64)
        with f.when(f.icmp("ne", "i64", accumulate, 0)):
            f.call("ptr", "@memcpy", ("ptr", line), ("ptr", place), ("i64", valid))
        f.store(_F, _exact_line(f, row, b, steps, f.load(_F, line)), line, align=64)
        f.call("ptr", "@memcpy", ("ptr", place), ("ptr", line), ("i64", valid))
    f.ret()


def _exact_line(f: Function, row: str, b: str, steps: str, start: str) -> str:
    """One row × 16 columns."""
    with f.loop(0, steps, 1, carried=[(_F, start)]) as loop:
        block = f.op("mul", "i64", f.op("lshr", "i64", loop.index, 4), 4 * TILE)
        word = f.op("and", "i64", loop.index, 15)
        left = f.gep("i32", f.gep("i8", row, block), word)
        right = f.gep("i8", f.gep("i8", b, block), f.op("shl", "i64", word, 6))
        parts = [f.splat("i32", f.load("i32", place), BLOCK) for place in (left, f.gep("i8", left, SPLIT_LOW))]
        others = [f.load(_I, place, align=64) for place in (right, f.gep("i8", right, SPLIT_LOW))]
        total = loop.carried[0]
        for odd in (False, True):
            factors = [(_F, _joined(f, high, low, odd)) for high, low in (parts, others)]
            total = f.intrinsic(_F, "llvm.fma.v16f32", *factors, (_F, total))
        loop.next = [total]
    return loop.results[0]


def _joined(f: Function, high: str, low: str, odd: bool) -> str:
    """fp32 numbers from the first or second bf16 of each word."""
    code, by = ("and", "splat (i32 -65536)") if odd else ("shl", "splat (i32 16)")
    bits = [f.op(code, _I, part, by) for part in (high, low)]
    big, small = (f.cast("bitcast", _I, part, _F) for part in bits)
    magnitude = f.op("and", _I, bits[0], "splat (i32 2147483647)")
    special = f.icmp("uge", _I, magnitude, f"splat (i32 {INFINITE})")
    return f.select(special, _F, big, f.op("fadd", _F, big, small), f"<{BLOCK} x i1>")
