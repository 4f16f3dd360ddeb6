"""Matrix multiplication on vector units: one register-tile kernel and the loops around it, for packed B.

    multiply   6 rows × 64 columns (narrow: 16) of C += A·B over a stretch of k, everything in registers.
               A is read in place, six rows side by side, one word broadcast per row and step; B comes packed.
    edge       the same into a local tile, of which the valid part is copied to C.
    rows       all panels × all groups of six rows of one stretch of k.
    gemm       stretches of k × groups of rows that fit the second-level cache; packs A where it cannot be read in place.

One accumulator per element of C, started from C itself from the second stretch on: results do not depend on the
blocking. ``STRETCH`` and ``ROWS``: 128…1024 and 96…384 measured within noise of each other.
"""

from __future__ import annotations

from pypto.cpu.packing import BLOCK, MOVER, PANEL, Format, invoke, mover_name, panel_bytes, parameters, shuffle, smaller, steps_of
from pypto.cpu.target import Target
from pypto.cpu.text import Function, Module, Operand

HEIGHT = 6  # rows of the register tile: 24 accumulators of 16 lanes, 4 of B, 1 broadcast of 32 registers
STRETCH = 512  # words of k at a time: 128 KiB of packed B
ROWS = 192  # rows at a time; a multiple of 6 and of 16
UNROLL = 4
PITCH = STRETCH * 4 + 64  # bytes between packed rows of A: one line more than a power of two, so that rows spread over the cache

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
    _pack_a(module, fmt)
    _gemm(module, fmt)
    _gemm_scratch(module, fmt)


# -- the register tile -----------------------------------------------------------------------------------------------------------


MULTIPLY = "piipipii"


def _multiply(module: Module, target: Target, fmt: Format) -> None:
    """``multiply(a, stride, rows, b, steps, c, ldc, accumulate)``; strides in bytes; rows beyond ``rows`` repeat the last one."""
    listed = parameters(MULTIPLY, "a stride rows b steps c ldc accumulate")
    f = module.function("void", f"pypto_multiply_{fmt.name}", listed, linkage="internal", attributes="noinline")
    _, _, _, b, steps, c, ldc, accumulate = f.arguments
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
    state = _steps(f, target, fmt, "0", bulk, UNROLL, state)
    state = _steps(f, target, fmt, bulk, steps, 1, state)
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


def _steps(f: Function, target: Target, fmt: Format, low: str, high: str, unroll: int, state: list[str]) -> list[str]:
    """Loop over k; ``state`` is six row pointers, the pointer into B, the accumulators."""
    width = tile_width(fmt) // BLOCK
    kinds = [*["ptr"] * (HEIGHT + 1), *[accumulator(fmt)] * (HEIGHT * width)]
    with f.loop(low, high, unroll, carried=list(zip(kinds, state, strict=True))) as loop:
        rows, b, sums = loop.carried[:HEIGHT], loop.carried[HEIGHT], loop.carried[HEIGHT + 1 :]
        for u in range(unroll):
            columns = [f.load(_I, f.gep("i32", b, (u * width + j) * BLOCK), align=4) for j in range(width)]
            for i in range(HEIGHT):
                word = f.splat("i32", f.load("i32", f.gep("i32", rows[i], u), align=1), BLOCK)
                for j in range(width):
                    sums[i * width + j] = _product(f, target, fmt, word, columns[j], sums[i * width + j])
        loop.next = [*(f.gep("i32", row, unroll) for row in rows), f.gep("i32", b, unroll * width * BLOCK), *sums]
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
    listed = parameters(MULTIPLY + "i", "a stride rows b steps c ldc accumulate columns")
    f = module.function("void", f"pypto_edge_{fmt.name}", listed, linkage="internal", attributes="noinline")
    a, stride, rows, b, steps, c, ldc, accumulate, columns = f.arguments
    width = tile_width(fmt)
    tile = f.scratch("i32", HEIGHT * width)
    size = f.op("mul", "i64", columns, 4)
    with f.when(f.icmp("ne", "i64", accumulate, 0)):
        with f.loop(0, HEIGHT * width, BLOCK) as loop:
            f.store(_I, "zeroinitializer", f.gep("i32", tile, loop.index), align=64)
        copy_rows(f, tile, width * 4, c, ldc, rows, size)
    invoke(f, "void", f"pypto_multiply_{fmt.name}", MULTIPLY, a, stride, rows, b, steps, tile, width * 4, accumulate)
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


ROWS_KINDS = "piiipiiipii"


def _rows(module: Module, fmt: Format) -> None:
    """``rows(a, stride, rows, n, b, panel_bytes, part_bytes, steps, c, ldc, accumulate)``: one stretch of k, all of n."""
    listed = parameters(ROWS_KINDS, "a stride rows n b panel part steps c ldc accumulate")
    f = module.function("void", f"pypto_rows_{fmt.name}", listed, linkage="internal", attributes="noinline")
    a, stride, rows, n, b, panel, part, steps, c, ldc, accumulate = f.arguments
    width = tile_width(fmt)
    with f.loop(0, n, width) as across:
        columns = smaller(f, f.op("sub", "i64", n, across.index), width)
        here = _panel_start(f, fmt, b, panel, part, across.index)
        with f.loop(0, rows, HEIGHT) as down:
            height = smaller(f, f.op("sub", "i64", rows, down.index), HEIGHT)
            row = f.gep("i8", a, f.op("mul", "i64", down.index, stride))
            place = f.gep("i32", f.gep("i8", c, f.op("mul", "i64", down.index, ldc)), across.index)
            _whole_or_edge(f, fmt, (row, stride, height, here, steps, place, ldc, accumulate), height, columns)
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
    start = f.gep("i8", b, f.op("mul", "i64", f.op("lshr", "i64", column, 6), panel))
    if fmt.layout == "wide":
        return start
    quarter = f.op("and", "i64", f.op("lshr", "i64", column, 4), 3)
    return f.gep("i8", start, f.op("mul", "i64", quarter, part))


PACK_A = "piiiiiiiip"


def _pack_a(module: Module, fmt: Format) -> None:
    """``pack_a(a, lda, transposed, row, rows, step, steps, m, k, to)``: rows of words at ``PITCH``; lda in elements."""
    listed = parameters(PACK_A, "a lda transposed row rows step steps m k to")
    f = module.function("void", f"pypto_pack_a_{fmt.name}", listed, linkage="internal", attributes="noinline")
    _, lda, is_transposed, row, rows, step, steps, *_, to = f.arguments
    stride = f.op("mul", "i64", lda, fmt.bytes)

    def blocks(reading: str) -> list[Operand]:
        with f.loop(0, rows, BLOCK) as down, f.loop(0, steps, BLOCK) as along:
            place = f.gep("i32", f.gep("i8", to, f.op("mul", "i64", down.index, PITCH)), along.index)
            first_m = f.op("add", "i64", row, down.index)
            first_k = f.op("mul", "i64", f.op("add", "i64", step, along.index), fmt.group)
            move_a(f, fmt, reading, stride, first_m, first_k, place, PITCH)
        return []

    f.either(f.icmp("ne", "i64", is_transposed, 0), lambda: blocks("across"), lambda: blocks("along"))
    f.ret()


def move_a(f: Function, fmt: Format, reading: str, stride: str, first_m: str, first_k: str, to: str, pitch: int) -> str:
    """Move one block of A: 16 rows of 16 words; ``f`` is a function with ``pack_a``'s parameters."""
    a, m, k = f.arguments[0], f.arguments[7], f.arguments[8]
    left_m, left_k = f.op("sub", "i64", m, first_m), f.op("sub", "i64", k, first_k)
    line, element, lines, count = (
        (first_k, first_m, left_k, left_m) if reading == "across" else (first_m, first_k, left_m, left_k)
    )
    source = f.gep("i8", a, f.op("add", "i64", f.op("mul", "i64", line, stride), f.op("mul", "i64", element, fmt.bytes)))
    return invoke(f, "i32", mover_name(fmt, reading, reading == "across"), MOVER, source, stride, lines, count, to, pitch)


GEMM = "piiiiippiip"
GEMM_NAMES = "a lda transposed m n k packed_b c ldc accumulate scratch"


def _gemm(module: Module, fmt: Format) -> None:
    f = module.function("void", f"pypto_gemm_{fmt.kind}", parameters(GEMM, GEMM_NAMES))
    _, lda, is_transposed, m, n, k, packed, c, ldc, accumulate, _ = f.arguments
    steps = steps_of(f, fmt, k)
    panel = panel_bytes(f, fmt, steps)
    part = f.op("mul", "i64", steps, BLOCK * 4)
    words = f.op("sdiv", "i64", f.op("add", "i64", k, fmt.group - 1), fmt.group)
    pitch = f.op("mul", "i64", ldc, 4)
    in_place = _in_place(f, fmt, is_transposed, k)
    stride = f.op("mul", "i64", lda, fmt.bytes)
    clear_without_steps(f, m, n, k, c, pitch, accumulate)
    with f.loop(0, words, STRETCH) as stretch:
        here = smaller(f, f.op("sub", "i64", words, stretch.index), STRETCH)
        later = f.cast("zext", "i1", f.icmp("ne", "i64", stretch.index, 0), "i64")
        adds = f.op("or", "i64", accumulate, later)
        start = f.gep("i32", packed, f.op("mul", "i64", stretch.index, tile_width(fmt)))
        with f.loop(0, m, ROWS) as group:
            rows = smaller(f, f.op("sub", "i64", m, group.index), ROWS)
            source, source_stride = _source_rows(f, fmt, in_place, stride, stretch.index, here, group.index, rows)
            place = f.gep("i8", c, f.op("mul", "i64", group.index, pitch))
            values = (source, source_stride, rows, n, start, panel, part, here, place, pitch, adds)
            invoke(f, "void", f"pypto_rows_{fmt.name}", ROWS_KINDS, *values)
    f.ret()


def _in_place(f: Function, fmt: Format, is_transposed: str, k: str) -> str:
    """Whether A's words can be broadcast from where they lie."""
    if not fmt.reads_in_place:
        return "false"
    plain = f.icmp("eq", "i64", is_transposed, 0)
    if fmt.group == 1:
        return plain
    return f.op("and", "i1", plain, f.icmp("eq", "i64", f.op("urem", "i64", k, fmt.group), 0))


def _source_rows(
    f: Function, fmt: Format, in_place: str, stride: str, step: str, steps: str, row: str, rows: str
) -> tuple[str, str]:
    """Pointer and stride of the rows of A to multiply: in place, or after packing them into the scratch."""
    a, lda, is_transposed, m, _, k, *_, scratch = f.arguments

    def direct() -> list[Operand]:
        offset = f.op("add", "i64", f.op("mul", "i64", row, stride), f.op("mul", "i64", step, 4))
        return [f.gep("i8", a, offset), stride]

    def packed() -> list[Operand]:
        values = (a, lda, is_transposed, row, rows, step, steps, m, k, scratch)
        invoke(f, "void", f"pypto_pack_a_{fmt.name}", PACK_A, *values)
        return [scratch, PITCH]

    source, source_stride = f.either(in_place, direct, packed, ["ptr", "i64"])
    return source, source_stride


def clear_without_steps(f: Function, m: str, n: str, k: str, c: str, pitch: str, accumulate: str) -> None:
    """A product over an empty k is zero."""
    f.module.declare("ptr", "memset", "ptr, i32, i64")
    empty = f.op("and", "i1", f.icmp("sle", "i64", k, 0), f.icmp("eq", "i64", accumulate, 0))
    with f.when(f.op("and", "i1", empty, f.icmp("sgt", "i64", n, 0))), f.loop(0, m, 1) as loop:
        row = f.gep("i8", c, f.op("mul", "i64", loop.index, pitch))
        f.call("ptr", "@memset", ("ptr", row), ("i32", 0), ("i64", f.op("mul", "i64", n, 4)))


def _gemm_scratch(module: Module, fmt: Format) -> None:
    f = module.function("i64", f"pypto_gemm_scratch_{fmt.kind}", parameters("iii", "m n k"))
    f.ret("i64", ROWS * PITCH)
