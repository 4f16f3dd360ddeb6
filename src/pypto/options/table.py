"""The option table: one row per option. Documentation, checks, setters, getters and environment variables follow from it.

Defaults and ranges of the ``pass``, ``host``, ``codegen``, ``runtime``, ``verify``, ``debug``, ``operation`` and ``global``
families: tensor API section 7.2. The families ``run`` and ``cpu`` are ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

INT32_MAX = 2147483647  # largest value of the 32-bit options, tensor API section 7.2

# What an option does today. The option page prints these words.
ACTIVE = "active"
NPU = "kept for the NPU model; no effect on the CPU"


@dataclass(frozen=True)
class Option:
    """One option. ``kind`` names its type; ``low``/``high`` bound numbers, ``choices`` lists the words a string may be."""

    key: str
    kind: str
    default: Any
    meaning: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    environment: str = ""
    effect: str = NPU
    setter: bool = True  # settable by the family's set_<family>_options function, not only by pypto.options

    @property
    def family(self) -> str:
        return self.key.partition(".")[0]

    @property
    def name(self) -> str:
        """The key without its family."""
        return self.key.partition(".")[2]

    @property
    def range(self) -> str:
        """The allowed values in words, empty when the type says it all."""
        if self.choices:
            return "{" + ", ".join(repr(c) for c in self.choices) + "}"
        if self.low is not None or self.high is not None:
            return f"[{'-inf' if self.low is None else self.low}, {'inf' if self.high is None else self.high}]"
        return ""


def _family(family: str, rows: Iterable[Option]) -> dict[str, Option]:
    return {f"{family}.{row.key}": replace(row, key=f"{family}.{row.key}") for row in rows}


RUN = _family(
    "run",
    [
        Option(
            "engine",
            "str",
            "cpu",
            "who computes: compiled code, the numpy definition, or both with a comparison",
            choices=("cpu", "reference", "compare"),
            environment="PYPTO_ENGINE",
            effect=ACTIVE,
        ),
        Option(
            "strict", "bool", False, "doubtful code is an error instead of a warning", environment="PYPTO_STRICT", effect=ACTIVE
        ),
        Option(
            "checked",
            "bool",
            False,
            "check every element that is read before it is written, and that int32 sums do not wrap; runs on the numpy engine",
            environment="PYPTO_CHECKED",
            effect=ACTIVE,
        ),
        Option(
            "verify_passes",
            "bool",
            False,
            "check the program after every pass, and generated code before it is used",
            environment="PYPTO_DEBUG",
            effect=ACTIVE,
        ),
        Option("cache", "bool", True, "keep compiled kernels on disk", environment="PYPTO_CACHE", effect=ACTIVE),
        Option(
            "cache_dir",
            "str",
            "",
            "where the disk cache lives; empty: the user's cache directory",
            environment="PYPTO_CACHE_DIR",
            effect=ACTIVE,
        ),
        Option(
            "cache_limit_mb",
            "int",
            512,
            "size at which the disk cache drops its oldest entries",
            1,
            1 << 20,
            environment="PYPTO_CACHE_LIMIT_MB",
            effect=ACTIVE,
        ),
        Option(
            "dump",
            "str",
            "",
            "directory that receives the program after every step; empty: none",
            environment="PYPTO_DUMP",
            effect=ACTIVE,
        ),
        Option(
            "log_level",
            "str",
            "warn",
            "least level that pypto.log_… prints",
            choices=("debug", "info", "warn", "error", "fatal", "event"),
            environment="PYPTO_LOG_LEVEL",
            effect=ACTIVE,
        ),
    ],
)

CPU = _family(
    "cpu",
    [
        Option(
            "threads",
            "int",
            0,
            "worker threads; 0: one per core this process may use",
            0,
            1024,
            environment="PYPTO_THREADS",
            effect=ACTIVE,
        ),
        Option(
            "team",
            "str",
            "auto",
            "whose threads work: torch's own team when torch is loaded (no fight for the cores), or always ours",
            choices=("auto", "own"),
            environment="PYPTO_TEAM",
            effect=ACTIVE,
        ),
        Option(
            "isa",
            "str",
            "",
            "instruction set to compile for; empty: the best of this machine",
            choices=("", "generic", "avx2", "avx512", "neon"),
            environment="PYPTO_CPU_ISA",
            effect=ACTIVE,
        ),
    ],
)

_MERGE = "dict"
PASS = _family(
    "pass",
    [
        Option("vec_nbuffer_setting", _MERGE, {}, "how many isomorphic vector subgraphs to merge", 0, None),
        Option(
            "cube_l1_reuse_setting", _MERGE, {}, "merge count for cube subgraphs that share data: count or (count, side)", 0, None
        ),
        Option("cube_nbuffer_setting", _MERGE, {-1: 1}, "merge count for isomorphic cube subgraphs", 1, None),
        Option("sg_set_scope", "scope", (-1, False, False), "force ops of one scope id into one subgraph"),
        Option("sg_set_ooo_scope", "group", -1, "out-of-order scheduling group inside mixed subgraphs", -1, 100000),
        Option("ooo_sched_mode", "str", "", "scheduler choice", choices=("", "GAPMIN", "HLF")),
        Option("auto_mix_partition", "int", 0, "automatic cube and vector mixed subgraphs", 0, 1),
        Option("sg_set_tunevf_mode", "int", 0, "vector-fusion tuning mode", 0, 2),
        Option("enable_slice", "bool", False, "alternative slice handling"),
        Option("pg_parallel_lower_bound", "int", 20, "partition: least parallelism", 0, INT32_MAX, setter=False),
        Option("pg_lower_bound", "int", 512, "partition: least size of a subgraph", 0, INT32_MAX, setter=False),
        Option(
            "pg_partition_algorithm", "str", "Iso", "partition: algorithm", choices=("Iso", "OspSarkar", "OspBsp"), setter=False
        ),
        Option("mg_copyin_upper_bound", "int", 104857600, "merge: most bytes copied in", 0, INT32_MAX, setter=False),
        Option("mg_vec_parallel_lb", "int", 48, "merge: least vector parallelism", 1, 48, setter=False),
        Option("copyout_resolve_coalescing", "int", 0, "coalescing of copies out", 0, 1000000, setter=False),
        Option("ooo_sort_mode_aic", "str", "", "order of cube tasks", setter=False),
        Option("ooo_sort_mode_aiv", "str", "", "order of vector tasks", setter=False),
    ],
)

HOST = _family(
    "host",
    [
        Option(
            "compile_stage", "int", 0, "a CompStage; anything but ALL_COMPLETE compiles and does not run", 0, 5, effect=ACTIVE
        ),
        Option("compile_monitor_enable", "int", 1, "watchdog: off, on, on with pass detail", 0, 2, effect=ACTIVE),
        Option(
            "compile_timeout",
            "int",
            600,
            "seconds until a warning about total compile time; 0: never",
            0,
            INT32_MAX,
            effect=ACTIVE,
        ),
        Option(
            "compile_timeout_stage", "int", 0, "seconds until a warning about one stage; 0: never", 0, INT32_MAX, effect=ACTIVE
        ),
        Option("compile_monitor_print_interval", "int", 60, "seconds between progress lines", 0, INT32_MAX, effect=ACTIVE),
    ],
)

CODEGEN = _family(
    "codegen",
    [
        Option("support_dynamic_aligned", "bool", False, "all dynamic sizes are multiples of the tile"),
        Option("soc_version", "str", "", "chip name"),
        Option("enable_pmu_trace", "bool", False, "hardware counters"),
        Option("vf_options", "str", "", "extra words for the vector-function compiler"),
        Option("vf_compiler", "bool", True, "use the vector-function compiler", setter=False),
    ],
)

RUNTIME = _family(
    "runtime",
    [
        Option("run_mode", "int", 0, "RunMode.NPU or RunMode.SIM; numbers always come from run.engine", 0, 1, effect=ACTIVE),
        Option("device_sched_mode", "int", 0, "FIFO, L2 affinity, fair, both", 0, 3),
        Option("stitch_function_max_num", "int", 128, "root functions per device task", 1, 1024),
        Option("max_workspace_kb", "int", 0, "memory-driven stitching; 0: off", 0, INT32_MAX),
        Option("valid_shape_optimize", "int", 0, "compile the main block static and the tail dynamic", 0, 1),
        Option("ready_on_host_tensors", "list[str]", [], "inputs whose values are ready on the host"),
        Option("device_sched_parallelism", "int", 1, "parallelism of parallel=True loops", 1, 8),
        Option("launch_sched_aicpu_num", "int", 7, "scheduling processors", 1, 7),
        Option("launch_early_mode", "int", 0, "early launch", 0, 2),
    ],
)

DEFAULT_VERIFIED_PASSES = [
    "ExpandFunction",
    "ProcessAtomic",
    "L1CopyInReuseMerge",
    "InferDynShape",
    "PreGraphProcess",
    "InferParamIndex",
    "CodegenPreproc",
]

VERIFY = _family(
    "verify",
    [
        Option(
            "enable_pass_verify", "bool", False, "compare with golden data; also switches pass_verify_print on", effect=ACTIVE
        ),
        Option("pass_verify_save_tensor", "bool", False, "save tensors while verifying"),
        Option("pass_verify_save_tensor_dir", "str", "", "where to save them"),
        Option("pass_verify_pass_filter", "list[str]", DEFAULT_VERIFIED_PASSES, "passes to check"),
        Option("pass_verify_error_tol", "list[float]", [1e-3, 1e-3], "relative and absolute tolerance"),
    ],
)

DEBUG = _family(
    "debug",
    [
        Option("compile_debug_mode", "int", 0, "1: graphs, 2: fixed kernel-source path", 0, 2),
        Option("runtime_debug_mode", "int", 0, "1: swim lanes, 2: core model, 3: dependency check, 4: bounds check", 0, 4),
        Option("dump_pass_graph", "list[str]", [], "passes whose graphs are dumped"),
    ],
)

OPERATION = _family("operation", [Option("combine_axis", "bool", True, "merge adjacent axes")])

_GLOBAL_DEFAULTS: dict[str, Any] = {
    "platform.enable_cost_model": False,
    "platform.enable_dyn_cost_model": False,
    "platform.enable_aihac_backend": True,
    "platform.test_is_tig": False,
    "platform.dump_source_location": True,
    "platform.enable_checker": False,
    "platform.device_platform": "ASCEND_910B2",
    "platform.enable_prof_func": False,
    "platform.enable_prof_aicore_time": False,
    "platform.enable_prof_aicore_pmu": False,
    "host.strategy": "PVC2_OOO",
    "simulation.accuracy_level": 1,
    "simulation.sim_mode": 0,
    "simulation.pv_run_level": 0,
    "simulation.log_level": 3,
    "simulation.timeout_threshold": -1,
    "simulation.json_path": "",
    "codegen.parallel_compile": 128,
    "codegen.fixed_output_path": False,
    "codegen.force_overwrite": True,
    "tensor_print.edgeitems": 3,
    "tensor_print.precision": 4,
    "tensor_print.threshold": 1000,
    "tensor_print.linewidth": 80,
    "pass.enable_binary_cache": False,
    "pass.pass_thread_num": 1,
    "pass.default_pass_configs.print_graph": False,
    "pass.default_pass_configs.dump_graph": False,
    "pass.default_pass_configs.dump_pass_time_cost": True,
    "pass.default_pass_configs.pre_check": False,
    "pass.default_pass_configs.post_check": False,
    "pass.default_pass_configs.disable_pass": False,
    "pass.default_pass_configs.health_check": False,
}


def _global_row(key: str, default: Any) -> Option:
    effect = ACTIVE if key.startswith("tensor_print.") else NPU
    return Option(f"global.{key}", "any", default, "global configuration, not type-checked", effect=effect, setter=False)


GLOBAL = {f"global.{key}": _global_row(key, default) for key, default in _GLOBAL_DEFAULTS.items()}

SHAPES = {
    row.key: row
    for row in [
        Option("vec_tile_shapes", "any", (), "vector tile shape: advice to the NPU model, rules checked", effect=ACTIVE),
        Option("cube_tile_shapes", "any", None, "cube tile shape (CubeTile)"),
        Option("conv_tile_shapes", "any", None, "convolution tile shape (ConvTile)"),
        Option("matrix_size", "any", (), "original m, k, n of a reshaped NZ input"),
        Option("pass_configs", "any", {}, "what set_pass_config and set_pass_default_config stored"),
        Option("npu_architecture", "any", "DAV_2201", "chip whose limits are meant (pypto.platform.npuarch)"),
        Option("semantic_label", "any", "", "label of the operations that follow"),
    ]
}

FAMILIES = ("run", "cpu", "pass", "host", "codegen", "runtime", "verify", "debug", "operation")

TABLE: dict[str, Option] = {
    **RUN,
    **CPU,
    **PASS,
    **HOST,
    **CODEGEN,
    **RUNTIME,
    **VERIFY,
    **DEBUG,
    **OPERATION,
    **GLOBAL,
    **SHAPES,
}


def rows_of(family: str) -> dict[str, Option]:
    """The rows of one family by short name."""
    return {row.name: row for row in TABLE.values() if row.family == family and row.name}
