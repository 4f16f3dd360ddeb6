"""Every public name of the package, by group, and where it lives. ``pypto.__getattr__`` and the coverage page read this.

``HOMES`` maps a module to the names that ``pypto`` takes from it. Operations are not listed there: they are rows of the op table.
``PLANNED`` are documented names that come later; asking for one raises an AttributeError that says so.
"""

from __future__ import annotations

HOMES: dict[str, str] = {
    "pypto.frontend.methods": "Tensor",
    "pypto.frontend.interop": "from_torch",
    "pypto.frontend.builder": "Function get_last_function get_current_function",
    "pypto.frontend.symbolic": "SymbolicScalar",
    "pypto.frontend.structure": "view assemble reshape atomic_add print",
    "pypto.frontend.control": "function loop loop_unroll is_loop_begin is_loop_end cond",
    "pypto.elements": "Element convert_to_element",
    "pypto.dtypes": "DataType bytes_of",
    "pypto.enums": """
        TileOpFormat CachePolicy ReduceMode CastMode SaturationMode OpType OutType TopKAlgo ReLuType TransMode
        ScatterMode AtomicRMWMode AtomicType DequantScaleRoundingMode PrecisionType SatStatus StatusType CompStage
        RunMode PassConfigKey LogLevel DYN DYNAMIC STATIC ROUND_UP ROUND_DOWN""",
    "pypto.config": """
        set_vec_tile_shapes get_vec_tile_shapes set_cube_tile_shapes get_cube_tile_shapes set_conv_tile_shapes
        get_conv_tile_shapes set_matrix_size set_pass_options get_pass_options set_host_options get_host_options
        set_codegen_options get_codegen_options set_verify_options get_verify_options set_debug_options
        get_debug_options set_run_options get_run_options set_cpu_options get_cpu_options set_print_options
        set_semantic_label CubeTile ConvTile""",
    "pypto.scoping": """
        reset_options set_options get_options_tree get_current_scope get_global_config set_global_config ConfigScope""",
    "pypto.pass_config": """
        PassConfigs get_pass_default_config set_pass_default_config get_pass_config set_pass_config get_pass_configs""",
    "pypto.logging": """
        log_debug log_info log_warn log_error log_fatal log_event check internal_check raise_error set_log_level
        get_log_level InternalError""",
    "pypto.helpers": "ceildiv",
    "pypto.platforms": "platform",
    "pypto.kernel": "jit",
    "pypto.verification": "pass_verify_print",
}

# Names that are called differently where they live.
RENAMED = {"min": ("pypto.frontend.symbolic", "symbolic_min"), "max": ("pypto.frontend.symbolic", "symbolic_max")}

ALIASES = {"tensor": "Tensor", "element": "Element", "symbolic_scalar": "SymbolicScalar"}

# Operations by group, tensor API section 1.2.
OPERATION_GROUPS: dict[str, str] = {
    "creation": "arange full zeros ones",
    "elementwise": """
        add sub mul div axpy_ hypot fmod remainder lrelu prelu pow gcd ceil_div floor_div copysign atan2 bitwise_and
        bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift logical_and logical_not exp exp2 expm1
        log log2 log10 log1p sqrt rsqrt reciprocal neg abs sign signbit relu round ceil floor trunc sin cos tan asin
        acos atan sinh cosh tanh asinh acosh atanh erf erfc cbrt clip isfinite isnan cumsum cumprod triu tril var""",
    "comparison and sorting": "greater gt ge eq ne lt le topk argsort sort32 mrgsort",
    "reduction": "amax amin sum prod argmax argmin maximum minimum",
    "indexing": """
        gather index_select index_add_ index_add index_add__ub index_add_ub index_put_ scatter_ scatter scatter_update
        gathermask get_scatter_mode""",
    "joining": "concat interleave deinterleave",
    "shape and type": "cast transpose permute pack unpack expand_clone",
    "structure": "assemble atomic_add reshape clone unsqueeze squeeze view min max",
    "matrix": "matmul scaled_mm conv ConvParams",
    "quantization": "quantize dequantize quant_mx",
    "random": "uniform normal uniform_impl",
    "other": "where pad fillpad one_hot expand_exp_dif",
    "composite": "sigmoid softmax rms_norm",
    "ours": "logical_or",
    "verification": "verify set_verify_golden_data pass_verify_print pass_verify_save print",
    "introspection": "Function get_last_function get_current_function",
    "modules": "distributed",
}


def split(names: str) -> list[str]:
    return names.split()


HOME_OF: dict[str, str] = {name: module for module, names in HOMES.items() for name in split(names)}
DOCUMENTED: tuple[str, ...] = tuple(
    dict.fromkeys([*HOME_OF, *RENAMED, *ALIASES, *(n for names in OPERATION_GROUPS.values() for n in split(names))])
)
