"""Matrix multiplication in the runtime library: which method each kind uses on a target, and what they share.

f32     fma                                    fp32 FMA on any target
bf16    tile (AMX) · dot (AVX512-BF16) · fma   the last after widening to fp32, exact
f16     split (AMX, two bf16 each) · fma       both as accurate as fp32 accumulation
i8      tile (AMX) · madd                      int32 sums, exact (wrapping)

pypto_packed_bytes_<kind>  pypto_pack_b_<kind>  pypto_gemm_<kind>  pypto_gemm_scratch_<kind>     B packed by the caller
pypto_matmul_<kind>  pypto_matmul_scratch_<kind>                                                 packs B itself, serial
"""

from __future__ import annotations

from pypto.cpu.gemm_driver import GEMM
from pypto.cpu.gemm_parallel import add_product
from pypto.cpu.gemm_tile import add_tile_gemm
from pypto.cpu.gemm_vector import add_vector_gemm
from pypto.cpu.packing import PANEL, Format, add_packing, invoke, parameters
from pypto.cpu.target import Target
from pypto.cpu.text import Module

KINDS = ("f32", "bf16", "f16", "i8")


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
    add_packing(module, target, fmt)
    if fmt.method in ("tile", "split"):
        add_tile_gemm(module, target, fmt)
    else:
        add_vector_gemm(module, target, fmt)
    _matmul(module, fmt)
    add_product(module, target, fmt)


_FAMILIES = ("packed_bytes", "pack_b", "gemm", "gemm_scratch", "matmul", "matmul_scratch", "product")
KIND_OF = {f"pypto_{family}_{kind}": kind for family in _FAMILIES for kind in KINDS}
KIND_OF |= {"pypto_store_bf16": "bf16", "pypto_store_f16": "f16"}


def symbols_of(kind: str) -> list[str]:
    """What kernels may import for one kind."""
    return [name for name, owner in KIND_OF.items() if owner == kind]


MATMUL = "piipiiiiipiip"


def _matmul(module: Module, fmt: Format) -> None:
    kind = fmt.kind
    names = "a lda transposed_a b ldb transposed_b m n k c ldc accumulate scratch"
    f = module.function("void", f"pypto_matmul_{kind}", parameters(MATMUL, names))
    a, lda, turned_a, b, ldb, turned_b, m, n, k, c, ldc, accumulate, scratch = f.arguments
    size = invoke(f, "i64", f"pypto_packed_bytes_{kind}", "ii", k, n)
    panels = f.op("sdiv", "i64", f.op("add", "i64", n, PANEL - 1), PANEL)
    invoke(f, "void", f"pypto_pack_b_{kind}", "piiiiiip", b, ldb, turned_b, k, n, 0, panels, scratch)
    values = (a, lda, turned_a, m, n, k, scratch, c, ldc, accumulate, f.gep("i8", scratch, size))
    invoke(f, "void", f"pypto_gemm_{kind}", GEMM, *values)
    f.ret()
    f = module.function("i64", f"pypto_matmul_scratch_{kind}", parameters("iii", "m n k"))
    m, n, k = f.arguments
    size = invoke(f, "i64", f"pypto_packed_bytes_{kind}", "ii", k, n)
    f.ret("i64", f.op("add", "i64", size, invoke(f, "i64", f"pypto_gemm_scratch_{kind}", "iii", m, n, k)))
