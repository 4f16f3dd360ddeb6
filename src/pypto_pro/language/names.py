"""Which names the tile language shows (tile API section 1.2), and where those live that are looked up on first use."""

from __future__ import annotations

from pypto_pro.language.declarations import SPECIAL
from pypto_pro.language.dtypes import DTYPES, UNUSED
from pypto_pro.language.enums import CORE_ENUMS, REGISTER_ENUMS

OPERATIONS = (  # noqa: SIM905
    # movement
    "load load_tile store store_tile move insert ssbuf_load ssbuf_store"
    # elementwise
    " add sub mul div maximum minimum and_ shl shr xor expands neg abs exp log sqrt rsqrt recip relu"
    # fused and partial
    " add_relu sub_relu add_relu_cast sub_relu_cast mul_cast addc mul_add_dst fused_mul_add fused_mul_add_relu axpy"
    " partadd partmax partmin partmul"
    # conversion, comparison
    " cast fillpad fill_index eq ne lt le gt ge select"
    # matrix
    " matmul matmul_acc matmul_mx matmul_mx_acc transpose"
    # reductions
    " sum argmax argmin expand_max expand_min expand_mul expand_sub expand_div"
    # gathering, sorting
    " gather gatherb gathermask scatter mrgsort mrgsort2 sort32 histogram"
    # quantisation, elements, descriptors, masks, debugging
    " quant dequant getval setval set_validshape set_stride set_mask_count set_mask_norm set_vec_mask reset_mask"
    " pto_assert printf dump_data trap"
).split()

DECORATORS = {
    "jit": "pypto_pro.runtime.jit",
    "kernel": "pypto_pro.runtime.definitions",
    "KernelDef": "pypto_pro.runtime.definitions",
    "function": "pypto_pro.runtime.definitions",
    "program": "pypto_pro.runtime.definitions",
    "parse": "pypto_pro.runtime.texts",
    "loads": "pypto_pro.runtime.texts",
    "parse_program": "pypto_pro.runtime.texts",
    "loads_program": "pypto_pro.runtime.texts",
    "simulate": "pypto_pro.runtime.simulation",
}

_PLAIN = (  # noqa: SIM905
    "DYNAMIC STATIC MemRef Ptr Scalar Tensor Tile TileType DN ND NN NZ ZN ZZ inline make_tuple range section_cube section_vector"
    " struct struct_array Vf simt vector_function system mutex parser pipeline"
).split()

HIDDEN = ("constexpr", "get_spr")  # understood in kernels, not shown

SHOWN = sorted({*OPERATIONS, *DECORATORS, *_PLAIN, *CORE_ENUMS, *REGISTER_ENUMS, *DTYPES, *UNUSED, *SPECIAL}.difference(HIDDEN))
