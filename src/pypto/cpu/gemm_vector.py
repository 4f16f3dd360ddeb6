"""Matrix multiplication on vector units: one register-tile kernel and the loops around it, for packed B.

    multiply   6 rows × 64 columns (narrow: 16) of C += A·B over a stretch of k, everything in registers.
               A is read in place, six rows side by side, one word broadcast per row and step; B comes packed.
    edge       the same into a local tile, of which the valid part is copied to C.
    rows       all register tiles of one block of C and one stretch of k. The loops around it: ``gemm_driver.py``.

A stretch of 128…1024 words and groups of 96…384 rows measured within noise of each other.
"""

from __future__ import annotations

from pypto.cpu.gemm_driver import B_PITCH, ROWS, ROWS_NAMES, Blocking, Driver, pack_a_function, prefetch
from pypto.cpu.packing import BLOCK, PANEL, Format, invoke, parameters, shuffle, smaller
from pypto.cpu.target import Target
from pypto.cpu.text import Function, Module, Operand

HEIGHT = 6  # rows of the register tile: 24 accumulators of 16 lanes, 4 of B, 1 broadcast of 32 registers
UNROLL = 4
LONG_ROW, FEW_PAGES = 4096, 64  # bytes; steps
# 384 rows × 512 words of A are 768 KiB. The rows share each stretch of B that comes from the third-level cache: with 192 of them
# 2048³ ran at 0.80 of MKL on a busy machine, with 384 at 0.95 (one thread, both alternating).
BLOCKING = Blocking(rows=384, columns=256, stretch=512, a_bytes=4 << 20, row_step=48)

_F, _I = "<16 x float>", "<16 x i32>"


def accumulator(fmt: Format) -> str:
    return _I if fmt.kind == "i8" else _F


def tile_width(fmt: Format) -> int:
    return PANEL if fmt.layout == "wide" else BLOCK


def add_vector_gemm(module: Module, target: Target, fmt: Format) -> None:
    """Add ``pypto_gemm_<kind>`` and ``pypto_gemm_scratch_<kind>`` for a format of a vector method."""
    _multiply(module, target, fmt)
    _edge(module, fmt)
    _rows(module, fmt)
    pack_a_function(module, fmt, _place_of_a)
    VectorDriver(module, fmt).write()


# -- the register tile -----------------------------------------------------------------------------------------------------------


MULTIPLY = "piipiipiip"


def _multiply(module: Module, target: Target, fmt: Format) -> None:
    """One register tile. Strides in bytes; rows beyond ``rows`` repeat the last one."""
    listed = parameters(MULTIPLY, "a stride rows b b_pitch steps c ldc accumulate following")
    f = module.function("void", f"pypto_multiply_{fmt.name}", listed, linkage="internal", attributes="noinline")
    _, _, _, b, b_pitch, steps, c, ldc, accumulate, _ = f.arguments
    width = tile_width(fmt) // BLOCK
    kind = accumulator(fmt)
    rows = _row_pointers(f)
    places = [f.gep("i32", row, BLOCK * j) for row in _tile_rows(f, c, ldc) for j in range(width)]
    start = f.either(
        f.icmp("ne", "i64", accumulate, 0),
        lambda: [f.load(kind, place, align=4) for place in places],
        lambda: ["zeroinitializer"] * len(places),
        [kind] * len(places),
    )
    bulk = f.op("and", "i64", steps, -UNROLL)
    state: list[str] = [*rows, b, *start]
    state = _steps(f, target, fmt, b_pitch, ("0", bulk), UNROLL, state)
    state = _steps(f, target, fmt, b_pitch, (bulk, steps), 1, state)
    for value, place in zip(state[HEIGHT + 1 :], places, strict=True):
        f.store(kind, value, place, align=4)
    f.ret()


def _row_pointers(f: Function) -> list[str]:
    a, stride, rows = f.arguments[:3]
    last = f.op("sub", "i64", rows, 1)
    found = [a]
    for index in range(1, HEIGHT):
        row = smaller(f, last, index)
        found.append(f.gep("i8", a, f.op("mul", "i64", row, stride)))
    return found


def _tile_rows(f: Function, c: str, ldc: str) -> list[str]:
    return [c, *(f.gep("i8", c, f.op("mul", "i64", ldc, index)) for index in range(1, HEIGHT))]


def _steps(
    f: Function, target: Target, fmt: Format, b_pitch: str, span: tuple[str, str], unroll: int, state: list[str]
) -> list[str]:
    """Loop over k; ``state`` is six row pointers, the pointer into B, the accumulators."""
    width = tile_width(fmt) // BLOCK
    kinds = [*["ptr"] * (HEIGHT + 1), *[accumulator(fmt)] * (HEIGHT * width)]
    with f.loop(*span, unroll, carried=list(zip(kinds, state, strict=True))) as loop:
        rows, b, sums = loop.carried[:HEIGHT], loop.carried[HEIGHT], loop.carried[HEIGHT + 1 :]
        if unroll > 1:
            prefetch(f, f.arguments[9], f.op("shl", "i64", loop.index, 4))  # one line in four steps
        for u in range(unroll):
            line = f.gep("i8", b, f.op("mul", "i64", b_pitch, u)) if u else b
            columns = [f.load(_I, f.gep("i32", line, j * BLOCK), align=4) for j in range(width)]
            for i in range(HEIGHT):
                word = f.splat("i32", f.load("i32", f.gep("i32", rows[i], u), align=1), BLOCK)
                for j in range(width):
                    sums[i * width + j] = _product(f, target, fmt, word, columns[j], sums[i * width + j])
        loop.next = [*(f.gep("i32", row, unroll) for row in rows), f.gep("i8", b, f.op("mul", "i64", b_pitch, unroll)), *sums]
    return loop.results


def _product(f: Function, target: Target, fmt: Format, a: str, b: str, total: str) -> str:
    """total + a·b, word by word."""
    if fmt.method == "fma":
        floats = [f.cast("bitcast", _I, word, _F) for word in (a, b)]
        return f.intrinsic(_F, "llvm.fma.v16f32", (_F, floats[0]), (_F, floats[1]), (_F, total))
    if fmt.method == "dot":
        pairs = [f.cast("bitcast", _I, word, "<32 x bfloat>") for word in (a, b)]
        name = "llvm.x86.avx512bf16.dpbf16ps.512"
        return f.intrinsic(_F, name, (_F, total), ("<32 x bfloat>", pairs[0]), ("<32 x bfloat>", pairs[1]))
    return f.op("add", _I, total, _integer_pairs(f, target, a, b))


def _integer_pairs(f: Function, target: Target, a: str, b: str) -> str:
    """Sums of the two products in each word of 16-bit pairs; exact in 32 bits."""
    halves = [f.cast("bitcast", _I, word, "<32 x i16>") for word in (a, b)]
    if target.has("avx512bw"):
        return f.intrinsic(_I, "llvm.x86.avx512.pmaddw.d.512", ("<32 x i16>", halves[0]), ("<32 x i16>", halves[1]))
    if target.has("avx2"):
        return _integer_pairs_in_two(f, halves)
    products = []
    for offset in (0, 1):
        parts = [shuffle(f, half, half, "<32 x i16>", range(offset, 32, 2)) for half in halves]
        wide = [f.cast("sext", "<16 x i16>", part, _I) for part in parts]
        products.append(f.op("mul", _I, wide[0], wide[1]))
    return f.op("add", _I, products[0], products[1])


def _integer_pairs_in_two(f: Function, halves: list[str]) -> str:
    found = []
    for order in (range(16), range(16, 32)):
        parts = [shuffle(f, half, half, "<32 x i16>", order) for half in halves]
        found.append(f.intrinsic("<8 x i32>", "llvm.x86.avx2.pmadd.wd", ("<16 x i16>", parts[0]), ("<16 x i16>", parts[1])))
    return shuffle(f, found[0], found[1], "<8 x i32>", range(16))


# -- edges of C ------------------------------------------------------------------------------------------------------------------


def _edge(module: Module, fmt: Format) -> None:
    """``edge(a, stride, rows, b, steps, c, ldc, accumulate, columns)``: a tile of which only rows × columns exist."""
    listed = parameters(MULTIPLY + "i", "a stride rows b b_pitch steps c ldc accumulate following columns")
    f = module.function("void", f"pypto_edge_{fmt.name}", listed, linkage="internal", attributes="noinline")
    a, stride, rows, b, b_pitch, steps, c, ldc, accumulate, following, columns = f.arguments
    width = tile_width(fmt)
    tile = f.scratch("i32", HEIGHT * width)
    size = f.op("mul", "i64", columns, 4)
    with f.when(f.icmp("ne", "i64", accumulate, 0)):
        with f.loop(0, HEIGHT * width, BLOCK) as loop:
            f.store(_I, "zeroinitializer", f.gep("i32", tile, loop.index), align=64)
        copy_rows(f, tile, width * 4, c, ldc, rows, size)
    invoke(
        f,
        "void",
        f"pypto_multiply_{fmt.name}",
        MULTIPLY,
        a,
        stride,
        rows,
        b,
        b_pitch,
        steps,
        tile,
        width * 4,
        accumulate,
        following,
    )
    copy_rows(f, c, ldc, tile, width * 4, rows, size)
    f.ret()


def copy_rows(f: Function, to: str, to_stride: Operand, source: str, stride: Operand, rows: str, size: str) -> None:
    """Copy ``rows`` rows of ``size`` bytes; strides in bytes."""
    f.module.declare("ptr", "memcpy", "ptr, ptr, i64")
    with f.loop(0, rows, 1) as loop:
        target = f.gep("i8", to, f.op("mul", "i64", loop.index, to_stride))
        start = f.gep("i8", source, f.op("mul", "i64", loop.index, stride))
        f.call("ptr", "@memcpy", ("ptr", target), ("ptr", start), ("i64", size))


# -- loops -----------------------------------------------------------------------------------------------------------------------


def _rows(module: Module, fmt: Format) -> None:
    f = module.function("void", f"pypto_rows_{fmt.name}", parameters(ROWS, ROWS_NAMES), linkage="internal", attributes="noinline")
    a, stride, _, _, _, rows, n, b, b_pitch, panel, part, steps, c, ldc, accumulate = f.arguments
    width = tile_width(fmt)
    share = f.op("shl", "i64", steps, 4)
    with f.loop(0, n, width) as across:
        columns = smaller(f, f.op("sub", "i64", n, across.index), width)
        here = _panel_start(f, fmt, b, panel, part, across.index)
        following = _panel_start(f, fmt, b, panel, part, f.op("add", "i64", across.index, width))
        with f.loop(0, rows, HEIGHT) as down:
            height = smaller(f, f.op("sub", "i64", rows, down.index), HEIGHT)
            row = f.gep("i8", a, f.op("mul", "i64", down.index, stride))
            place = f.gep("i32", f.gep("i8", c, f.op("mul", "i64", down.index, ldc)), across.index)
            done = smaller(f, f.op("udiv", "i64", down.index, HEIGHT), 15)  # 16 tiles fetch 64 columns of what comes next
            soon = f.define(f"getelementptr i8, ptr {following}, i64 {f.op('mul', 'i64', done, share)}")
            values = (row, stride, height, here, b_pitch, steps, place, ldc, accumulate, soon)
            _whole_or_edge(f, fmt, values, height, columns)
    f.ret()


def _whole_or_edge(f: Function, fmt: Format, values: tuple[Operand, ...], height: str, columns: str) -> None:
    def whole() -> list[Operand]:
        invoke(f, "void", f"pypto_multiply_{fmt.name}", MULTIPLY, *values)
        return []

    def edge() -> list[Operand]:
        invoke(f, "void", f"pypto_edge_{fmt.name}", MULTIPLY + "i", *values, columns)
        return []

    full = f.op("and", "i1", f.icmp("eq", "i64", height, HEIGHT), f.icmp("eq", "i64", columns, tile_width(fmt)))
    f.either(full, whole, edge)


def _panel_start(f: Function, fmt: Format, b: str, panel: str, part: str, column: str) -> str:
    """Where a column of B begins; it may be the column after the last one, hence no ``inbounds`` arithmetic."""
    offset = f.op("mul", "i64", f.op("lshr", "i64", column, 6), panel)
    if fmt.layout != "wide":
        quarter = f.op("and", "i64", f.op("lshr", "i64", column, 4), 3)
        offset = f.op("add", "i64", offset, f.op("mul", "i64", quarter, part))
    return f.define(f"getelementptr i8, ptr {b}, i64 {offset}")


def _row_pitch(f: Function, steps: str) -> str:
    """Bytes between packed rows of A: one line more than the words, so that rows spread over the cache."""
    return f.op("add", "i64", f.op("shl", "i64", steps, 2), 64)


def _place_of_a(f: Function, to: str, steps: str, row: str, step: str) -> tuple[str, str]:
    pitch = _row_pitch(f, steps)
    return f.gep("i32", f.gep("i8", to, f.op("mul", "i64", row, pitch)), step), pitch


class VectorDriver(Driver):
    blocking = BLOCKING

    def in_place(self, f: Function) -> str:
        is_transposed, k = f.arguments[2], f.arguments[5]
        if not self.fmt.reads_in_place:
            return "false"
        plain = f.icmp("eq", "i64", is_transposed, 0)
        if self.fmt.group == 1:
            return plain
        return f.op("and", "i1", plain, f.icmp("eq", "i64", f.op("urem", "i64", k, self.fmt.group), 0))

    def packed_row_bytes(self, f: Function, steps: str) -> str:
        return _row_pitch(f, steps)

    def describe(self, f: Function, direct: bool, steps: str) -> list[Operand]:
        stride = f.op("mul", "i64", f.arguments[1], self.fmt.bytes) if direct else _row_pitch(f, steps)
        return [stride, 0, 0, 0, 4]

    def stretch_of_b(self, f: Function, step: str) -> str:
        return f.op("mul", "i64", step, self.step_distance(f))

    def step_distance(self, f: Function) -> Operand:
        return self._unless_packed(f, f.arguments[B_PITCH], tile_width(self.fmt) * 4)

    def panel_distance(self, f: Function, steps: str) -> str:
        return self._unless_packed(f, PANEL * 4, super().panel_distance(f, steps))

    def stretch_words(self, f: Function) -> Operand:
        """Where long rows of B are read in place, each row is on a page of its own: as many as the first-level TLB holds."""
        long = f.icmp("sge", "i64", f.arguments[B_PITCH], LONG_ROW)
        return f.select(long, "i64", FEW_PAGES, self.blocking.stretch)

    def part_bytes(self, f: Function, steps: str) -> str:
        return self._unless_packed(f, BLOCK * 4, super().part_bytes(f, steps))

    def _unless_packed(self, f: Function, in_place: Operand, packed: Operand) -> str:
        return f.select(f.icmp("ne", "i64", f.arguments[B_PITCH], 0), "i64", in_place, packed)

    def words(self, f: Function, steps: str) -> str:
        return f.op("sdiv", "i64", f.op("add", "i64", f.arguments[5], self.fmt.group - 1), self.fmt.group)
