"""The loops around a multiply kernel: which part of A, B and C is in which cache.

    for each group of rows            A: in place, or packed once for all of k (second-level cache)
      for each group of columns       C: one block, in place or in scratch when an epilogue takes it from there
        for each stretch of k         B: packed panels, a stretch of one panel at a time in the first-level cache
          rows()                      all register tiles of that block
        epilogue(argument, row, rows, column, columns, block, ld)

Every element of C is one accumulator carried from stretch to stretch, so the group sizes never change a result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pypto.cpu.packing import (
    BLOCK,
    MOVER,
    PANEL,
    Format,
    invoke,
    mover_name,
    panel_bytes,
    parameters,
    smaller,
    steps_of,
)
from pypto.cpu.packing_b import flag_place
from pypto.cpu.text import Function, Module, Operand


@dataclass(frozen=True)
class Blocking:
    """Group sizes: ``rows`` and ``columns`` of C, ``stretch`` of k in words, ``a_bytes`` of packed A that may stay in cache."""

    rows: int
    columns: int
    stretch: int
    a_bytes: int
    row_step: int  # rows of one register tile; groups are multiples of it


# Strides are in bytes, steps in words; b_pitch is the distance between steps of B for the vector methods.
ROWS = "piiiiiipiiiipii"
ROWS_NAMES = "a stride second step pair rows n b b_pitch panel part steps c ldc accumulate"
# pack_a(a, lda, transposed, row, rows, steps, m, k, to) → largest magnitude's bits
PACK_A = "piiiiiiip"
PACK_A_NAMES = "a lda transposed row rows steps m k to"
EPILOGUE = "piiiipi"
GEMM = "piiiiippiip"
GEMM_NAMES = "a lda transposed m n k packed_b c ldc accumulate scratch"
# The epilogue is told rows and columns counted from first_row and first_column. b_pitch: bytes between the rows of a row-major
# B that is multiplied where it lies (f32 only, whole tiles of columns); 0: B is packed. ready: A is packed already.
DRIVE = GEMM + "ppiiii"
DRIVE_NAMES = GEMM_NAMES + " epilogue argument first_row first_column b_pitch ready"
B_PITCH, READY = 15, 16
SPARE_ROWS = 64  # rows of memory behind packed A: blocks are moved whole
# gemm_ready(packed_a, m, n, k, b, b_pitch, c, ldc)
GEMM_READY = "piiipipi"


class Driver:
    """Writes ``pypto_drive_<kind>``. Subclasses say how A is found and what a stretch of B is."""

    blocking: Blocking

    def __init__(self, module: Module, fmt: Format) -> None:
        self.module = module
        self.fmt = fmt

    # -- what a method says about itself -----------------------------------------------------------------------------------------

    def in_place(self, f: Function) -> str:
        """i1: whether A is multiplied from where it lies."""
        raise NotImplementedError

    def packed_row_bytes(self, f: Function, steps: str) -> str:
        """Bytes of packed A per row."""
        raise NotImplementedError

    def describe(self, f: Function, direct: bool, steps: str) -> list[Operand]:
        """stride, second, step, pair and bytes per word of k, for A in place or packed."""
        raise NotImplementedError

    def stretch_of_b(self, f: Function, step: str) -> str:
        """Bytes from the start of a panel to a stretch of k."""
        raise NotImplementedError

    def begin(self, f: Function) -> None:
        """Before the first multiply kernel."""

    def end(self, f: Function) -> None:
        """After the last one."""

    # -- the loops ---------------------------------------------------------------------------------------------------------------

    def write(self) -> None:
        fmt = self.fmt
        listed = parameters(DRIVE, DRIVE_NAMES)
        f = self.module.function("void", f"pypto_drive_{fmt.kind}", listed, linkage="internal", attributes="noinline")
        _, _, _, m, _, k, *_ = f.arguments
        steps = steps_of(f, fmt, k)
        group = self.group_rows(f, steps)
        in_place = self.in_place(f)
        self.begin(f)
        with f.loop(0, m, group) as rows:
            count = smaller(f, f.op("sub", "i64", m, rows.index), group)
            source = self._source(f, in_place, steps, rows.index, count)
            self._columns(f, steps, rows.index, count, source)
        self.end(f)
        f.ret()
        self._scratch()
        self._gemm()
        if fmt.method != "split":
            self._prepared()

    def group_rows(self, f: Function, steps: str) -> str:
        """Rows at a time: as many as keep A's part in cache."""
        step = self.blocking.row_step
        fitting = f.op("sdiv", "i64", self.blocking.a_bytes, f.op("add", "i64", f.op("shl", "i64", steps, 2), 1))
        whole = f.op("mul", "i64", f.op("sdiv", "i64", fitting, step), step)
        low = f.intrinsic("i64", "llvm.smax.i64", ("i64", whole), ("i64", 2 * step))
        return smaller(f, low, self.blocking.rows)

    def _source(self, f: Function, in_place: str, steps: str, row: str, rows: str) -> list[str]:
        """Where A's rows are: pointer, stride, second, step, pair, bytes per word, largest magnitude."""
        a, lda, is_transposed, m, _, k, _, _, _, _, scratch, *_ = f.arguments
        kinds = ["ptr", *["i64"] * 5, "i32"]

        def direct() -> list[Operand]:
            offset = f.op("mul", "i64", f.op("mul", "i64", row, lda), self.fmt.bytes)
            return [f.gep("i8", a, offset), *self.describe(f, True, steps), 0]

        def packed() -> list[Operand]:
            values = (a, lda, is_transposed, row, rows, steps, m, k, scratch)
            largest = invoke(f, "i32", f"pypto_pack_a_{self.fmt.name}", PACK_A, *values)
            return [scratch, *self.describe(f, False, steps), largest]

        def ready() -> list[Operand]:
            offset = f.op("mul", "i64", self.packed_row_bytes(f, steps), row)
            return [f.gep("i8", a, offset), *self.describe(f, False, steps), 0]

        if self.fmt.method == "split":
            return f.either(in_place, direct, packed, kinds)
        is_ready = f.icmp("ne", "i64", f.arguments[READY], 0)
        return f.either(is_ready, ready, lambda: f.either(in_place, direct, packed, kinds), kinds)

    def _columns(self, f: Function, steps: str, row: str, rows: str, source: list[str]) -> None:
        n, packed, c, ldc, epilogue = (f.arguments[i] for i in (4, 6, 7, 8, 11))
        size = self.panel_distance(f, steps)
        pitch = f.op("shl", "i64", ldc, 2)
        taken = f.icmp("ne", "ptr", epilogue, "null")
        block = self._block_of_c(f, steps)
        with f.loop(0, n, self.blocking.columns) as columns:
            column = columns.index
            count = smaller(f, f.op("sub", "i64", n, column), self.blocking.columns)
            offset = f.op("add", "i64", f.op("mul", "i64", row, pitch), f.op("shl", "i64", column, 2))
            place = f.select(taken, "ptr", block, f.define(f"getelementptr i8, ptr {c}, i64 {offset}"))
            width = f.select(taken, "i64", self.block_pitch(), pitch)
            panel = f.gep("i8", packed, f.op("mul", "i64", f.op("lshr", "i64", column, 6), size))
            self._block(f, steps, source, rows, count, panel, size, place, width)
            with f.when(taken):
                argument, first_row, first_column = f.arguments[12:15]
                where = (f.op("add", "i64", row, first_row), rows, f.op("add", "i64", column, first_column), count)
                invoke(f, "void", epilogue, EPILOGUE, argument, *where, place, self.block_pitch() // 4)

    def _block(
        self, f: Function, steps: str, source: list[str], rows: str, columns: str, panel: str, size: str, place: str, width: str
    ) -> None:
        """One block of C over all of k."""
        self._stretches(f, steps, source, rows, columns, panel, size, place, width)

    def _stretches(
        self, f: Function, steps: str, source: list[str], rows: str, columns: str, panel: str, size: str, place: str, width: str
    ) -> None:
        accumulate = f.arguments[9]
        a, stride, second, step, pair, word_bytes, _ = source
        part = self.part_bytes(f, steps)
        words = self.words(f, steps)
        least = f.intrinsic("i64", "llvm.smax.i64", ("i64", words), ("i64", 1))  # once even for an empty k: it stores zeros
        length = self.stretch_words(f)
        with f.loop(0, least, length, runs=True) as stretch:
            here = smaller(f, f.op("sub", "i64", words, stretch.index), length)
            later = f.cast("zext", "i1", f.icmp("ne", "i64", stretch.index, 0), "i64")
            adds = f.op("or", "i64", accumulate, later)
            start = f.gep("i8", a, f.op("mul", "i64", stretch.index, word_bytes))
            b = f.gep("i8", panel, self.stretch_of_b(f, stretch.index))
            values = (
                start,
                stride,
                second,
                step,
                pair,
                rows,
                columns,
                b,
                self.step_distance(f),
                size,
                part,
                here,
                place,
                width,
                adds,
            )
            invoke(f, "void", f"pypto_rows_{self.fmt.name}", ROWS, *values)

    def words(self, f: Function, steps: str) -> str:
        """Words of k to multiply: the padded count, unless the method stops exactly."""
        return steps

    def panel_distance(self, f: Function, steps: str) -> str:
        """Bytes between panels of B."""
        return panel_bytes(f, self.fmt, steps)

    def step_distance(self, f: Function) -> Operand:
        """Bytes between steps of k in a panel."""
        return 0

    def stretch_words(self, f: Function) -> Operand:
        """Words of k at a time."""
        return self.blocking.stretch

    def part_bytes(self, f: Function, steps: str) -> str:
        """Bytes of one part of a panel (16 columns of narrow, 32 of tile and split, all of wide)."""
        width = {"wide": 64, "narrow": 16, "tile": 32, "split": 64}[self.fmt.layout]
        return f.op("mul", "i64", steps, width * 4)

    def block_pitch(self) -> int:
        """Bytes between rows of a block of C in scratch; one line more than a power of two."""
        return self.blocking.columns * 4 + 64

    def _block_of_c(self, f: Function, steps: str) -> str:
        """The block of C in scratch, behind packed A."""
        return f.gep("i8", f.arguments[10], self._a_bytes(f, steps))

    def _a_bytes(self, f: Function, steps: str) -> str:
        rows = f.op("add", "i64", self.group_rows(f, steps), 32)
        return f.op("mul", "i64", self.packed_row_bytes(f, steps), rows)

    def _scratch(self) -> None:
        """Bytes of scratch: packed A and one block of C."""
        f = self.module.function("i64", f"pypto_gemm_scratch_{self.fmt.kind}", parameters("iii", "m n k"))
        steps = steps_of(f, self.fmt, f.arguments[2])
        f.ret("i64", f.op("add", "i64", self._a_bytes(f, steps), (self.blocking.rows + 32) * self.block_pitch()))

    def _gemm(self) -> None:
        f = self.module.function("void", f"pypto_gemm_{self.fmt.kind}", parameters(GEMM, GEMM_NAMES))
        invoke(f, "void", f"pypto_drive_{self.fmt.kind}", DRIVE, *f.arguments, "null", "null", 0, 0, 0, 0)
        f.ret()

    def _prepared(self) -> None:
        """``packed_a_bytes``, ``pack_a`` and ``gemm_ready``: for an A that several products share."""
        fmt, module = self.fmt, self.module
        f = module.function("i64", f"pypto_packed_a_bytes_{fmt.kind}", parameters("ii", "m k"))
        rows = f.op("add", "i64", f.arguments[0], SPARE_ROWS)
        f.ret("i64", f.op("mul", "i64", self.packed_row_bytes(f, steps_of(f, fmt, f.arguments[1])), rows))
        f = module.function("void", f"pypto_pack_a_{fmt.kind}", parameters("piiiip", "a lda transposed m k to"))
        a, lda, is_transposed, m, k, to = f.arguments
        values: tuple[Operand, ...] = (a, lda, is_transposed, 0, m, steps_of(f, fmt, k), m, k, to)
        invoke(f, "i32", f"pypto_pack_a_{fmt.name}", PACK_A, *values)
        f.ret()
        f = module.function("void", f"pypto_gemm_ready_{fmt.kind}", parameters(GEMM_READY, "a m n k b b_pitch c ldc"))
        a, m, n, k, b, pitch, c, ldc = f.arguments
        everything = (a, 0, 0, m, n, k, b, c, ldc, 0, "null", "null", "null", 0, 0, pitch, 1)
        invoke(f, "void", f"pypto_drive_{fmt.kind}", DRIVE, *everything)
        f.ret()
        if fmt.kind == "bf16":
            self._pairs()

    def _pairs(self) -> None:
        """``gemm_pairs``: like ``gemm_ready``, for a B that a nest has written in the layout of tiles.

        Without tiles no kernel calls it; should one come from a cache that is shared with another system, C is NaN, not wrong.
        """
        f = self.module.function("void", "pypto_gemm_pairs_bf16", parameters(GEMM_READY, "a m n k b b_pitch c ldc"))
        _, m, n, *_, c, ldc = f.arguments
        if self.fmt.method == "tile":
            invoke(f, "void", "pypto_gemm_ready_bf16", GEMM_READY, *f.arguments)
        else:
            with f.loop(0, m, 1) as down, f.loop(0, n, 1) as across:
                place = f.op("add", "i64", f.op("mul", "i64", down.index, ldc), across.index)
                f.store("i32", 0x7FC00000, f.gep("i32", c, place))
        f.ret()


SECOND_LEVEL, FIRST_LEVEL = 2, 3  # where a prefetched line goes, in LLVM's numbers


def prefetch(f: Function, place: str, offset: Operand, *, level: int = SECOND_LEVEL, write: bool = False) -> None:
    """Ask for the cache line ``offset`` bytes from ``place``; any address is allowed, also one that does not exist."""
    line = f.define(f"getelementptr i8, ptr {place}, i64 {offset}")
    immediates = [("immarg i32", int(write)), ("immarg i32", level), ("immarg i32", 1)]
    f.intrinsic("void", "llvm.prefetch.p0", ("ptr", line), *immediates)


def any_flag(f: Function, fmt: Format, panel: str, size: str, steps: str, columns: str) -> str:
    """i32 that is not zero when one of the panels of a block holds an infinity or NaN."""
    with f.loop(0, columns, PANEL, carried=[("i32", 0)]) as loop:
        here = f.gep("i8", panel, f.op("mul", "i64", f.op("lshr", "i64", loop.index, 6), size))
        loop.next = [f.op("or", "i32", loop.carried[0], f.load("i32", flag_place(f, fmt, here, steps)))]
    return loop.results[0]


def move_a(f: Function, fmt: Format, reading: str, stride: str, row: str, step: str, to: str, pitch: Operand) -> str:
    """Move one block of A: 16 rows of 16 words; ``f`` has the parameters of ``pack_a``."""
    a, m, k = f.arguments[0], f.arguments[6], f.arguments[7]
    first_k = f.op("mul", "i64", step, fmt.group)
    left_m, left_k = f.op("sub", "i64", m, row), f.op("sub", "i64", k, first_k)
    line, element, lines, count = (first_k, row, left_k, left_m) if reading == "across" else (row, first_k, left_m, left_k)
    source = f.gep("i8", a, f.op("add", "i64", f.op("mul", "i64", line, stride), f.op("mul", "i64", element, fmt.bytes)))
    return invoke(f, "i32", mover_name(fmt, reading, reading == "across"), MOVER, source, stride, lines, count, to, pitch)


Place = Callable[[Function, str, str, str, str], tuple[str, Operand]]


def pack_a_function(module: Module, fmt: Format, place: Place) -> None:
    """``pack_a``: all blocks of a group of rows; ``place(f, to, steps, row, step)`` is where a block goes, with its pitch."""
    listed = parameters(PACK_A, PACK_A_NAMES)
    f = module.function("i32", f"pypto_pack_a_{fmt.name}", listed, linkage="internal", attributes="noinline")
    _, lda, is_transposed, row, rows, steps, _, _, to = f.arguments
    stride = f.op("mul", "i64", lda, fmt.bytes)

    def blocks(reading: str) -> list[Operand]:
        with f.loop(0, rows, BLOCK, carried=[("i32", 0)]) as down:
            with f.loop(0, steps, BLOCK, carried=[("i32", down.carried[0])]) as along:
                where, pitch = place(f, to, steps, down.index, along.index)
                line = f.op("add", "i64", row, down.index)
                seen = move_a(f, fmt, reading, stride, line, along.index, where, pitch)
                along.next = [f.intrinsic("i32", "llvm.umax.i32", ("i32", along.carried[0]), ("i32", seen))]
            down.next = along.results
        return [down.results[0]]

    f.ret("i32", f.either(f.icmp("ne", "i64", is_transposed, 0), lambda: blocks("across"), lambda: blocks("along"), ["i32"])[0])
