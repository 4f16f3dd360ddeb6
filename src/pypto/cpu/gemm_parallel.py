"""A whole product on the worker team: ``pypto_product_<kind>``.

    i64 pypto_product(a, lda, transposed_a, b, ldb, transposed_b, m, n, k, c, ldc, accumulate, ptr epilogue, ptr argument)
    void epilogue(ptr argument, i64 row, i64 rows, i64 column, i64 columns, ptr block, i64 ld)

Without an epilogue the product goes to ``c``. With one, ``c`` is not touched: each finished block of C (fp32, int32) is handed
over while it is in cache, on whatever worker made it. Returns 0, or 1 when there is no memory (nothing was computed).

Two ways to share the work. Few rows (at most ``FEW_ROWS``): tasks are groups of columns, each packs its own panels of B just
before it uses them. Else: B is packed by all workers first (along memory), then tasks are a grid of row groups × column groups.
``pypto_store_bf16`` and ``pypto_store_f16`` are ready epilogues that round into a matrix: argument ``{ptr out, i64 ld}``.
"""

from __future__ import annotations

from pypto.cpu.gemm_driver import DRIVE, EPILOGUE, FIRST_LEVEL, prefetch
from pypto.cpu.packing import BLOCK, PANEL, Format, invoke, panel_bytes, parameters, shuffle, smaller, steps_of
from pypto.cpu.packing_b import RANGE, clear_flags
from pypto.cpu.target import Target
from pypto.cpu.text import Function, Module, Operand
from pypto.cpu.vector_base import Vector
from pypto.cpu.vectors import Vectors
from pypto.dtypes import DataType

PRODUCT = "piipiiiiipiipp"
PRODUCT_NAMES = "a lda transposed_a b ldb transposed_b m n k c ldc accumulate epilogue argument"
FEW_ROWS = 256
MOST_ROWS = {"vector": 384, "tile": 256}
ROW_UNIT = {"vector": 6, "tile": 32}
# Below about 20 µs of work a region costs more than it gains (fp32: 150 GF/s on one core; the tile unit is ten times faster).
SERIAL_WORK = {"vector": 3_000_000, "tile": 20_000_000}

# The job, as 64-bit words; the first fourteen are the product's own arguments.
PACKED, SCRATCH, SCRATCH_SIZE, ROWS, ROW_TASKS, PANELS, PACK_UNIT, PACK_LIMIT = range(14, 22)
JOB_WORDS = 24
TASK = "pii"


def add_product(module: Module, target: Target, fmt: Format) -> None:
    """Add ``pypto_product_<kind>`` and what it runs on the workers."""
    module.declare("void", "pypto_parallel_within", "ptr, ptr, i64, i64")
    module.declare("i64", "pypto_workers")
    module.declare("ptr", "pypto_acquire", "i64")
    module.declare("void", "pypto_release", "ptr, i64")
    _pack_task(module, fmt)
    _grid_task(module, fmt)
    _column_task(module, fmt)
    _by_grid(module, fmt)
    _by_columns(module, fmt)
    _product(module, fmt)
    if fmt.kind in ("bf16", "f16"):
        _store_rounded(module, target, fmt)


def _speed(fmt: Format) -> str:
    return "tile" if fmt.method in ("tile", "split") else "vector"


class Job:
    """Reads and writes the words of a job."""

    def __init__(self, f: Function, place: str) -> None:
        self.f = f
        self.place = place

    def __getitem__(self, index: int) -> str:
        kind = "ptr" if index in (PACKED, SCRATCH) or (index < 14 and PRODUCT[index] == "p") else "i64"
        return self.f.load(kind, self.f.gep("i64", self.place, index))

    def put(self, index: int, kind: str, value: Operand) -> None:
        self.f.store(kind, value, self.f.gep("i64", self.place, index))

    def drive(self, fmt: Format, m: str, n: str, row: str, column: str, packed: str, scratch: str) -> None:
        """Multiply the rows from ``row`` and the columns from ``column`` on."""
        f = self.f
        along_row = f.op("mul", "i64", row, self[1])
        first = f.op("mul", "i64", f.select(f.icmp("eq", "i64", self[2], 0), "i64", along_row, row), fmt.bytes)
        a = f.gep("i8", self[0], first)
        offset = f.op("add", "i64", f.op("mul", "i64", row, self[10]), column)
        c = f.define(f"getelementptr i32, ptr {self[9]}, i64 {offset}")  # not inbounds: c may be null beside an epilogue
        values = (a, self[1], self[2], m, n, self[8], packed, c, self[10], self[11], scratch, self[12], self[13])
        invoke(f, "void", f"pypto_drive_{fmt.kind}", DRIVE, *values, row, column, 0, 0)


def _task(module: Module, fmt: Format, what: str) -> tuple[Function, Job, str, str]:
    listed = parameters(TASK, "job chunk worker")
    f = module.function("void", f"pypto_{what}_task_{fmt.kind}", listed, linkage="internal", attributes="noinline")
    return f, Job(f, f.arguments[0]), f.arguments[1], f.arguments[2]


def _own_scratch(job: Job, worker: str) -> str:
    return job.f.gep("i8", job[SCRATCH], job.f.op("mul", "i64", worker, job[SCRATCH_SIZE]))


# -- B packed by all, then a grid ----------------------------------------------------------------------------------------------


def _pack_task(module: Module, fmt: Format) -> None:
    """One chunk of packing: panels when B is transposed, else steps of k across all panels."""
    f, job, chunk, _ = _task(module, fmt, "pack")
    steps = steps_of(f, fmt, job[8])
    panels = _panels(f, job[7])
    low = f.op("mul", "i64", chunk, job[PACK_UNIT])
    high = smaller(f, f.op("add", "i64", low, job[PACK_UNIT]), job[PACK_LIMIT])

    def run(*ranges: Operand) -> list[Operand]:
        values = (job[3], job[4], job[5], job[8], job[7], *ranges, job[PACKED])
        invoke(f, "void", f"pypto_pack_range_{fmt.kind}", RANGE, *values)
        return []

    f.either(f.icmp("ne", "i64", job[5], 0), lambda: run(low, high, 0, steps), lambda: run(0, panels, low, high))
    f.ret()


def _panels(f: Function, n: str) -> str:
    return f.op("sdiv", "i64", f.op("add", "i64", n, PANEL - 1), PANEL)


def _grid_task(module: Module, fmt: Format) -> None:
    f, job, chunk, worker = _task(module, fmt, "grid")
    row = f.op("mul", "i64", f.op("srem", "i64", chunk, job[ROW_TASKS]), job[ROWS])
    panel = f.op("mul", "i64", f.op("sdiv", "i64", chunk, job[ROW_TASKS]), job[PANELS])
    column = f.op("shl", "i64", panel, 6)
    rows = smaller(f, f.op("sub", "i64", job[6], row), job[ROWS])
    columns = smaller(f, f.op("sub", "i64", job[7], column), f.op("shl", "i64", job[PANELS], 6))
    size = panel_bytes(f, fmt, steps_of(f, fmt, job[8]))
    packed = f.gep("i8", job[PACKED], f.op("mul", "i64", panel, size))
    job.drive(fmt, rows, columns, row, column, packed, _own_scratch(job, worker))
    f.ret()


def _by_grid(module: Module, fmt: Format) -> None:
    """``by_grid(job, workers)``: 0, or 1 without memory."""
    f, job, workers = _strategy(module, fmt, "grid")
    m, n, k = job[6], job[7], job[8]
    size = invoke(f, "i64", f"pypto_packed_bytes_{fmt.kind}", "ii", k, n)
    scratch = invoke(f, "i64", f"pypto_gemm_scratch_{fmt.kind}", "iii", m, n, k)
    own = f.op("and", "i64", f.op("add", "i64", scratch, 127), -64)
    total = f.op("add", "i64", f.op("and", "i64", f.op("add", "i64", size, 127), -64), f.op("mul", "i64", own, workers))
    block = _acquired(f, total)
    job.put(PACKED, "ptr", block)
    job.put(SCRATCH, "ptr", f.gep("i8", block, f.op("and", "i64", f.op("add", "i64", size, 127), -64)))
    job.put(SCRATCH_SIZE, "i64", own)
    _pack_all(f, fmt, job, workers)
    tasks = _plan_grid(f, fmt, job, workers)
    invoke(f, "void", "pypto_parallel_within", "ppii", f"@pypto_grid_task_{fmt.kind}", job.place, tasks, workers)
    f.call("void", "@pypto_release", ("ptr", block), ("i64", total))
    f.ret("i64", 0)


def _strategy(module: Module, fmt: Format, what: str) -> tuple[Function, Job, str]:
    listed = parameters("pi", "job workers")
    f = module.function("i64", f"pypto_by_{what}_{fmt.kind}", listed, linkage="internal", attributes="noinline")
    return f, Job(f, f.arguments[0]), f.arguments[1]


def _acquired(f: Function, size: str) -> str:
    """Memory for a product; leaves the function with 1 when there is none."""
    block = f.call("ptr", "@pypto_acquire", ("i64", size))
    good, bad = f.new_label("good"), f.new_label("bad")
    f.branch(f.icmp("ne", "ptr", block, "null"), good, bad)
    f.block(bad)
    f.ret("i64", 1)
    f.block(good)
    return block


def _pack_all(f: Function, fmt: Format, job: Job, workers: str) -> None:
    """Pack B on all workers: four chunks for each, at least 64 KiB of words in a chunk."""
    steps = steps_of(f, fmt, job[8])
    panels = _panels(f, job[7])
    if fmt.layout == "split":
        clear_flags(f, fmt, job[PACKED], steps, "0", panels)
    by_panel = f.icmp("ne", "i64", job[5], 0)
    limit = f.select(by_panel, "i64", panels, steps)
    unit = f.select(by_panel, "i64", 1, BLOCK)
    wanted = f.op("shl", "i64", workers, 2)
    most = f.op("add", "i64", f.op("lshr", "i64", f.op("mul", "i64", steps, panels), 8), 1)  # 256 word-steps of 64 columns
    chunks = smaller(f, wanted, most)
    share = f.op("sdiv", "i64", f.op("sub", "i64", f.op("add", "i64", limit, chunks), 1), chunks)
    rounded = f.op("mul", "i64", f.op("sdiv", "i64", f.op("sub", "i64", f.op("add", "i64", share, unit), 1), unit), unit)
    each = f.intrinsic("i64", "llvm.smax.i64", ("i64", rounded), ("i64", unit))
    job.put(PACK_UNIT, "i64", each)
    job.put(PACK_LIMIT, "i64", limit)
    count = f.op("sdiv", "i64", f.op("sub", "i64", f.op("add", "i64", limit, each), 1), each)
    invoke(f, "void", "pypto_parallel_within", "ppii", f"@pypto_pack_task_{fmt.kind}", job.place, count, workers)


def _plan_grid(f: Function, fmt: Format, job: Job, workers: str) -> str:
    """Row groups: a multiple of the workers, not above the limit of rows; more column groups only when rows are too few."""
    m, n = job[6], job[7]
    most, unit = MOST_ROWS[_speed(fmt)], ROW_UNIT[_speed(fmt)]
    rounds = _up(f, m, f.op("mul", "i64", workers, most))
    tasks = f.op("mul", "i64", rounds, workers)
    share = f.op("mul", "i64", _up(f, _up(f, m, tasks), unit), unit)
    rows = f.intrinsic("i64", "llvm.smax.i64", ("i64", share), ("i64", 96))
    row_tasks = _up(f, m, rows)
    groups = _up(f, workers, row_tasks)
    panels = _up(f, _panels(f, n), groups)
    job.put(ROWS, "i64", rows)
    job.put(ROW_TASKS, "i64", row_tasks)
    job.put(PANELS, "i64", panels)
    return f.op("mul", "i64", row_tasks, _up(f, _panels(f, n), panels))


def _up(f: Function, value: Operand, by: Operand) -> str:
    """value / by, rounded up."""
    return f.op("sdiv", "i64", f.op("sub", "i64", f.op("add", "i64", value, by), 1), by)


# -- groups of columns ---------------------------------------------------------------------------------------------------------


def _column_task(module: Module, fmt: Format) -> None:
    f, job, chunk, worker = _task(module, fmt, "column")
    first = f.op("mul", "i64", chunk, job[PANELS])
    column = f.op("shl", "i64", first, 6)
    columns = smaller(f, f.op("sub", "i64", job[7], column), f.op("shl", "i64", job[PANELS], 6))
    step = f.select(f.icmp("ne", "i64", job[5], 0), "i64", job[4], 1)
    b = f.gep("i8", job[3], f.op("mul", "i64", f.op("mul", "i64", column, step), fmt.bytes))
    c = f.define(f"getelementptr i32, ptr {job[9]}, i64 {column}")
    values = (job[0], job[1], job[2], b, job[4], job[5], job[6], columns, job[8], c, job[10], job[11], _own_scratch(job, worker))
    invoke(f, "void", f"pypto_unpacked_{fmt.kind}", "piipiiiiipiipppi", *values, job[12], job[13], column)
    f.ret()


def _by_columns(module: Module, fmt: Format) -> None:
    f, job, workers = _strategy(module, fmt, "columns")
    m, n, k = job[6], job[7], job[8]
    panels = _up(f, _panels(f, n), f.op("shl", "i64", workers, 2))
    alone = f.icmp("eq", "i64", workers, 1)
    panels = f.select(alone, "i64", smaller(f, _panels(f, n), 8), panels)
    job.put(PANELS, "i64", panels)
    size = invoke(f, "i64", f"pypto_packed_bytes_{fmt.kind}", "ii", k, f.op("shl", "i64", panels, 6))
    own = f.op("add", "i64", size, invoke(f, "i64", f"pypto_gemm_scratch_{fmt.kind}", "iii", m, n, k))
    own = f.op("and", "i64", f.op("add", "i64", own, 127), -64)
    total = f.op("mul", "i64", own, workers)
    block = _acquired(f, total)
    job.put(SCRATCH, "ptr", block)
    job.put(SCRATCH_SIZE, "i64", own)
    tasks = _up(f, _panels(f, n), panels)
    invoke(f, "void", "pypto_parallel_within", "ppii", f"@pypto_column_task_{fmt.kind}", job.place, tasks, workers)
    f.call("void", "@pypto_release", ("ptr", block), ("i64", total))
    f.ret("i64", 0)


def _product(module: Module, fmt: Format) -> None:
    f = module.function("i64", f"pypto_product_{fmt.kind}", parameters(PRODUCT, PRODUCT_NAMES))
    job = Job(f, f.scratch("i64", JOB_WORDS))
    for index, value in enumerate(f.arguments):
        job.put(index, "ptr" if PRODUCT[index] == "p" else "i64", value)
    m, n, k = f.arguments[6:9]
    some, none = f.new_label("some"), f.new_label("none")
    f.branch(f.op("or", "i1", f.icmp("sle", "i64", m, 0), f.icmp("sle", "i64", n, 0)), none, some)
    f.block(none)
    f.ret("i64", 0)
    f.block(some)
    work = f.op("mul", "i64", f.op("mul", "i64", m, n), f.op("add", "i64", k, 1))
    light = f.icmp("slt", "i64", work, SERIAL_WORK[_speed(fmt)] // 2)
    workers = f.select(light, "i64", 1, f.call("i64", "@pypto_workers"))
    few = f.icmp("sle", "i64", m, FEW_ROWS)
    result = f.either(
        few,
        lambda: [invoke(f, "i64", f"pypto_by_columns_{fmt.kind}", "pi", job.place, workers)],
        lambda: [invoke(f, "i64", f"pypto_by_grid_{fmt.kind}", "pi", job.place, workers)],
        ["i64"],
    )
    f.ret("i64", result[0])


# -- ready epilogues -----------------------------------------------------------------------------------------------------------


def _store_rounded(module: Module, target: Target, fmt: Format) -> None:
    """Two vectors at a time; what remains of a row goes through a local line."""
    listed = parameters(EPILOGUE, "argument row rows column columns block ld")
    f = module.function("void", f"pypto_store_{fmt.kind}", listed)
    argument, row, rows, column, columns, block, ld = f.arguments
    out, pitch = f.load("ptr", argument), f.load("i64", f.gep("i64", argument, 1))
    line, rounded = f.scratch("float", 2 * BLOCK), f.scratch("i16", 2 * BLOCK)
    whole = f.op("and", "i64", columns, -2 * BLOCK)
    left = f.op("sub", "i64", columns, whole)
    module.declare("ptr", "memcpy", "ptr, ptr, i64")
    with f.loop(0, rows, 1) as down:
        source = f.gep("float", block, f.op("mul", "i64", down.index, ld))
        start = f.op("mul", "i64", f.op("add", "i64", row, down.index), pitch)
        place = f.gep("i16", out, f.op("add", "i64", start, column))
        with f.loop(0, whole, 2 * BLOCK) as along:
            here = f.gep("i16", place, along.index)
            prefetch(f, here, f.op("shl", "i64", pitch, 4), level=FIRST_LEVEL, write=True)  # eight rows ahead
            _round_two(f, target, fmt, f.gep("float", source, along.index), here)
        with f.when(f.icmp("sgt", "i64", left, 0)):
            f.call("ptr", "@memcpy", ("ptr", line), ("ptr", f.gep("float", source, whole)), ("i64", f.op("shl", "i64", left, 2)))
            _round_two(f, target, fmt, line, rounded)
            f.call("ptr", "@memcpy", ("ptr", f.gep("i16", place, whole)), ("ptr", rounded), ("i64", f.op("shl", "i64", left, 1)))
    f.ret()


def _round_two(f: Function, target: Target, fmt: Format, source: str, place: str) -> None:
    """32 floats to 32 bf16 or fp16."""
    if fmt.kind == "f16":
        for offset in (0, BLOCK):
            values = Vector(f.load("<16 x float>", f.gep("float", source, offset), align=4), DataType.DT_FP32)
            narrow = Vectors(f, target, DataType.DT_FP16).narrow(values, DataType.DT_FP16)
            f.store("<16 x i16>", narrow, f.gep("i16", place, offset), align=2)
        return
    halves = [_rounded_bits(f, f.load("<16 x i32>", f.gep("i32", source, offset), align=4)) for offset in (0, BLOCK)]
    words = [f.cast("bitcast", "<16 x i32>", half, "<32 x i16>") for half in halves]
    f.store("<32 x i16>", shuffle(f, words[0], words[1], "<32 x i16>", range(1, 64, 2)), place, align=2)


def _rounded_bits(f: Function, bits: str) -> str:
    """fp32 bits whose upper halves are the bf16 numbers: nearest, ties to even, denormals kept, NaN made the quiet one."""
    kind = "<16 x i32>"
    odd = f.op("and", kind, f.op("lshr", kind, bits, "splat (i32 16)"), "splat (i32 1)")
    rounded = f.op("add", kind, f.op("add", kind, bits, "splat (i32 32767)"), odd)
    quiet = f.op("or", kind, f.op("and", kind, bits, "splat (i32 -2147483648)"), "splat (i32 2143289344)")  # sign, 0x7fc00000
    value = f.cast("bitcast", kind, bits, "<16 x float>")
    return f.select(f.fcmp("uno", "<16 x float>", value, value), kind, quiet, rounded, "<16 x i1>")
