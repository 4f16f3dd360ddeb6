"""Matrix multiplication in the runtime library: which method each kind uses on a target, and what they share.

f32     fma                                    fp32 FMA on any target
bf16    tile (AMX) · dot (AVX512-BF16) · fma   the last after widening to fp32, exact
f16     split (AMX, two bf16 each) · fma       both as accurate as fp32 accumulation
i8      tile (AMX) · madd                      int32 sums, exact (wrapping)

pypto_packed_bytes_<kind>  pypto_pack_b_<kind>  pypto_gemm_<kind>  pypto_gemm_scratch_<kind>     B packed by the caller
pypto_matmul_<kind>  pypto_matmul_scratch_<kind>                                                 packs B itself, serial
"""

from __future__ import annotations

from pypto.cpu.gemm_dots import DOTS, MOST_ROWS, add_dots
from pypto.cpu.gemm_driver import DRIVE
from pypto.cpu.gemm_parallel import add_product
from pypto.cpu.gemm_tile import add_tile_gemm
from pypto.cpu.gemm_vector import add_vector_gemm, tile_width
from pypto.cpu.packing import PANEL, Format, add_movers, invoke, parameters
from pypto.cpu.packing_b import add_packing
from pypto.cpu.target import Target
from pypto.cpu.text import Function, Module, Operand


def format_of(kind: str, target: Target) -> Format:
    """The format a kind of matrix is packed in on a target."""
    layout = "wide" if target.isa == "avx512" else "narrow"
    if kind == "bf16" and target.has("amx-tile", "amx-bf16"):
        return Format(kind, "tile", 2, "tile")
    if kind == "i8" and target.has("amx-tile", "amx-int8"):
        return Format(kind, "tile", 4, "tile")
    if kind == "f16" and target.has("amx-tile", "amx-bf16"):
        return Format(kind, "split", 2, "split")
    if kind == "bf16" and target.has("avx512bf16", "avx512bw"):
        return Format(kind, "dot", 2, layout)
    if kind == "i8":
        return Format(kind, "madd", 2, layout)
    return Format(kind, "fma", 1, layout)


def add_gemm(module: Module, target: Target, kind: str) -> None:
    """Add everything about one kind of matrix to a module."""
    fmt = format_of(kind, target)
    add_movers(module, target, fmt)
    add_packing(module, target, fmt)
    if fmt.method in ("tile", "split"):
        add_tile_gemm(module, target, fmt)
    else:
        add_vector_gemm(module, target, fmt)
    if kind == "f32":
        add_dots(module)
    _matmul(module, fmt)
    add_product(module, target, fmt)


MATMUL = "piipiiiiipiip"
UNPACKED = MATMUL + "ppi"
MATMUL_NAMES = "a lda transposed_a b ldb transposed_b m n k c ldc accumulate scratch"
# fp32: up to so many rows, packing B costs more than it brings
ROWS_IN_PLACE = 24


def _matmul(module: Module, fmt: Format) -> None:
    _unpacked(module, fmt)
    f = module.function("void", f"pypto_matmul_{fmt.kind}", parameters(MATMUL, MATMUL_NAMES))
    invoke(f, "void", f"pypto_unpacked_{fmt.kind}", UNPACKED, *f.arguments, "null", "null", 0)
    f.ret()
    f = module.function("i64", f"pypto_matmul_scratch_{fmt.kind}", parameters("iii", "m n k"))
    m, n, k = f.arguments
    size = invoke(f, "i64", f"pypto_packed_bytes_{fmt.kind}", "ii", k, n)
    f.ret("i64", f.op("add", "i64", size, invoke(f, "i64", f"pypto_gemm_scratch_{fmt.kind}", "iii", m, n, k)))


def _unpacked(module: Module, fmt: Format) -> None:
    """``unpacked(…as matmul, epilogue, argument, first_column)``: multiply with a B that is not packed yet."""
    names = f"{MATMUL_NAMES} epilogue argument first_column"
    f = module.function(
        "void", f"pypto_unpacked_{fmt.kind}", parameters(UNPACKED, names), linkage="internal", attributes="noinline"
    )
    n = f.arguments[7]
    if fmt.kind != "f32":
        _packing(f, fmt, "0")
        f.ret()
        return
    _dots_if_few(f)  # leaves the function
    turned, few = f.icmp("ne", "i64", f.arguments[5], 0), f.icmp("sle", "i64", f.arguments[6], ROWS_IN_PLACE)
    whole = f.select(f.op("and", "i1", few, f.op("xor", "i1", turned, "true")), "i64", f.op("and", "i64", n, -tile_width(fmt)), 0)
    with f.when(f.icmp("sgt", "i64", whole, 0)):
        _drive(f, fmt, "0", whole, f.arguments[3], f.arguments[12], f.op("shl", "i64", f.arguments[4], 2))
    with f.when(f.icmp("slt", "i64", whole, n)):
        _packing(f, fmt, whole)
    f.ret()


def _dots_if_few(f: Function) -> None:
    """Leave by way of sums along memory where B is transposed and A has few rows, and nothing waits for blocks of C."""
    a, lda, turned_a, b, ldb, turned_b, m, n, k, c, ldc, accumulate, _, epilogue, *_ = f.arguments
    along = f.op("and", "i1", f.icmp("ne", "i64", turned_b, 0), f.icmp("eq", "i64", turned_a, 0))
    plain = f.op("and", "i1", along, f.icmp("eq", "ptr", epilogue, "null"))
    dots, others = f.new_label("dots"), f.new_label("others")
    f.branch(f.op("and", "i1", plain, f.icmp("sle", "i64", m, MOST_ROWS)), dots, others)
    f.block(dots)
    invoke(f, "void", "pypto_dots_f32", DOTS, a, lda, b, ldb, m, n, k, c, ldc, accumulate)
    f.ret()
    f.block(others)


def _packing(f: Function, fmt: Format, first: str) -> None:
    """Pack the columns from ``first`` on (a multiple of the tile's width; row-major B if it is not 0) and multiply."""
    b, ldb, turned, _, n, k, *_ = f.arguments[3:]
    left = f.op("sub", "i64", n, first)
    scratch = f.arguments[12]
    size = invoke(f, "i64", f"pypto_packed_bytes_{fmt.kind}", "ii", k, left)
    panels = f.op("sdiv", "i64", f.op("add", "i64", left, PANEL - 1), PANEL)
    start = f.gep("i8", b, f.op("mul", "i64", first, fmt.bytes))
    invoke(f, "void", f"pypto_pack_b_{fmt.kind}", "piiiiiip", start, ldb, turned, k, left, 0, panels, scratch)
    _drive(f, fmt, first, left, scratch, f.gep("i8", scratch, size), 0)


def _drive(f: Function, fmt: Format, first: str, columns: str, b: str, scratch: str, b_pitch: Operand) -> None:
    a, lda, turned, *_ = f.arguments
    m, k, c, ldc, accumulate = (f.arguments[i] for i in (6, 8, 9, 10, 11))
    epilogue, argument, first_column = f.arguments[13:]
    place = f.define(f"getelementptr i32, ptr {c}, i64 {first}")
    column = f.op("add", "i64", first_column, first)
    values = (a, lda, turned, m, columns, k, b, place, ldc, accumulate, scratch, epilogue, argument, 0, column, b_pitch, 0)
    invoke(f, "void", f"pypto_drive_{fmt.kind}", DRIVE, *values)
