"""Names of what the runtime library offers for each kind of matrix; apart from the code, so that loading a kernel does not read that."""

from __future__ import annotations

KINDS = ("f32", "bf16", "f16", "i8")
_FAMILIES = ("packed_bytes", "pack_b", "gemm", "gemm_scratch", "matmul", "matmul_scratch", "product")
KIND_OF = {f"pypto_{family}_{kind}": kind for family in _FAMILIES for kind in KINDS}
_READY = ("packed_a_bytes", "pack_a", "gemm_ready")  # not for f16, which must look at A for infinities
KIND_OF |= {f"pypto_{family}_{kind}": kind for family in _READY for kind in KINDS if kind != "f16"}
KIND_OF |= {"pypto_store_bf16": "bf16", "pypto_store_f16": "f16"}
KIND_OF["pypto_gemm_pairs_bf16"] = "bf16"


def symbols_of(kind: str) -> list[str]:
    """What kernels may import for one kind."""
    return [name for name, owner in KIND_OF.items() if owner == kind]
