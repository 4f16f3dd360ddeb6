"""Public setters and getters of options and tile shapes (tensor API section 7); the scopes are in ``pypto.scoping``."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

from pypto.enums import CompStage
from pypto.errors.options import (
    ArgumentsByName,
    InvalidChoice,
    LabelConflict,
    LabelNotText,
    NotATile,
    UnknownOptionArgument,
)
from pypto.options import scopes as _scopes
from pypto.options.check import FUNCTION_KEY, row
from pypto.options.table import rows_of
from pypto.tiles import ConvTile, CubeTile, TileL0Info, TileL1Info, positive_sizes

__all__ = [
    "CompStage",
    "ConvTile",
    "CubeTile",
    "get_codegen_options",
    "get_conv_tile_shapes",
    "get_cpu_options",
    "get_cube_tile_shapes",
    "get_debug_options",
    "get_host_options",
    "get_pass_options",
    "get_run_options",
    "get_vec_tile_shapes",
    "get_verify_options",
    "set_codegen_options",
    "set_conv_tile_shapes",
    "set_cpu_options",
    "set_cube_tile_shapes",
    "set_debug_options",
    "set_host_options",
    "set_matrix_size",
    "set_pass_options",
    "set_print_options",
    "set_run_options",
    "set_semantic_label",
    "set_vec_tile_shapes",
    "set_verify_options",
]


# -- one setter and one getter per family --------------------------------------------------------------------------------------


def known_arguments(function: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse a keyword that ``function`` does not have, suggesting the nearest."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            advice = f"did you mean {near[0]}?" if near else None
            raise UnknownOptionArgument(function=function, name=name, known=", ".join(known), advice=advice)


def family_setter(family: str, adjust: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> Callable[[Any], Any]:
    """Turn a keyword-only signature into the family's setter: ``None`` leaves an option alone."""

    def make(signature: Callable[..., None]) -> Callable[..., None]:
        name = signature.__name__
        known = tuple(inspect.signature(signature).parameters)

        @functools.wraps(signature)
        def set_family(*positional: Any, **given: Any) -> None:
            if positional:
                raise ArgumentsByName(function=name, count=len(positional), example=known[0])
            known_arguments(name, given, known)
            values = {key: value for key, value in given.items() if value is not None}
            values = adjust(values) if adjust else values
            _scopes.update({f"{family}.{key}": value for key, value in values.items()})

        return set_family

    return make


def read_family(family: str) -> dict[str, Any]:
    """Copies of the options that the family's setter can set."""
    scope = _scopes.current()
    return {name: copy(scope.get(option.key)) for name, option in rows_of(family).items() if option.setter}


def _refuse_misfits(values: dict[str, Any]) -> dict[str, Any]:
    """Three pass options have messages of their own (tensor API section 7.2)."""
    for name, fits, expected in (
        ("ooo_sched_mode", lambda v: v in ("", "GAPMIN", "HLF"), "'', 'GAPMIN' or 'HLF'"),
        ("sg_set_tunevf_mode", lambda v: type(v) is int and 0 <= v <= 2, "an integer in [0, 2]"),
        ("enable_slice", lambda v: isinstance(v, bool), "bool"),
    ):
        if name in values and not fits(values[name]):
            raise InvalidChoice(name=name, value=str(values[name]), expected=expected)
    return values


@family_setter("pass", _refuse_misfits)
def set_pass_options(
    *,
    vec_nbuffer_setting: dict[int | str, int] | None = None,
    cube_l1_reuse_setting: dict[int | str, int | tuple[int, str]] | None = None,
    cube_nbuffer_setting: dict[int | str, int] | None = None,
    sg_set_scope: int | tuple[int, bool, bool] | None = None,
    sg_set_ooo_scope: int | None = None,
    ooo_sched_mode: str | None = None,
    auto_mix_partition: int | None = None,
    sg_set_tunevf_mode: int | None = None,
    enable_slice: bool | None = None,
) -> None:
    """Set how the NPU model partitions and schedules; kept and checked, without effect on the CPU.

    >>> import pypto
    >>> with pypto.options():
    ...     pypto.set_pass_options(cube_nbuffer_setting={0: 4})
    ...     pypto.get_pass_options()["cube_nbuffer_setting"]
    {0: 4}
    """


def get_pass_options() -> dict[str, Any]:
    """The options that ``set_pass_options`` sets, as they are now."""
    return read_family("pass")


@family_setter("host")
def set_host_options(
    *,
    compile_stage: CompStage | int | None = None,
    compile_monitor_enable: int | None = None,
    compile_timeout: int | None = None,
    compile_timeout_stage: int | None = None,
    compile_monitor_print_interval: int | None = None,
) -> None:
    """Set where compilation stops and when it reports; times in seconds."""


def get_host_options() -> dict[str, Any]:
    """The options that ``set_host_options`` sets; ``compile_stage`` as a number."""
    return read_family("host")


@family_setter("codegen")
def set_codegen_options(
    *,
    support_dynamic_aligned: bool | None = None,
    soc_version: str | None = None,
    enable_pmu_trace: bool | None = None,
    vf_options: str | None = None,
) -> None:
    """Set what NPU code generation assumes; without effect on the CPU."""


def get_codegen_options() -> dict[str, Any]:
    """The options that ``set_codegen_options`` sets."""
    return read_family("codegen")


def _complete_verify(values: dict[str, Any]) -> dict[str, Any]:
    tolerance = values.get("pass_verify_error_tol")
    if tolerance is None or (isinstance(tolerance, (list, tuple)) and len(tolerance) != 2):
        values["pass_verify_error_tol"] = list(row("verify.pass_verify_error_tol").default)
    if values.get("pass_verify_pass_filter") == []:
        values["pass_verify_pass_filter"] = ["no_verify"]
    return values


@family_setter("verify", _complete_verify)
def set_verify_options(
    *,
    enable_pass_verify: bool | None = None,
    pass_verify_save_tensor: bool | None = None,
    pass_verify_save_tensor_dir: str | None = None,
    pass_verify_pass_filter: list[str] | None = None,
    pass_verify_error_tol: list[float] | None = None,
) -> None:
    """Set what is compared with golden data. Every call rewrites the tolerance.

    Absent means ``[1e-3, 1e-3]`` (relative, absolute).
    """


def get_verify_options() -> dict[str, Any]:
    """The options that ``set_verify_options`` sets."""
    return read_family("verify")


@family_setter("debug")
def set_debug_options(
    *, compile_debug_mode: int | None = None, runtime_debug_mode: int | None = None, dump_pass_graph: list[str] | None = None
) -> None:
    """Set debugging aids of the NPU tool chain. For the CPU see ``set_run_options(checked=, dump=)``."""


def get_debug_options() -> dict[str, Any]:
    """The options that ``set_debug_options`` sets."""
    return read_family("debug")


@family_setter("run")
def set_run_options(
    *,
    engine: str | None = None,
    strict: bool | None = None,
    checked: bool | None = None,
    verify_passes: bool | None = None,
    cache: bool | None = None,
    cache_dir: str | None = None,
    cache_limit_mb: int | None = None,
    dump: str | None = None,
    log_level: str | None = None,
) -> None:
    """Set who computes and how careful it is; ours, the reference has no counterpart.

    >>> import pypto
    >>> with pypto.options():
    ...     pypto.set_run_options(engine="reference")
    ...     pypto.get_run_options()["engine"]
    'reference'
    """


def get_run_options() -> dict[str, Any]:
    """The options that ``set_run_options`` sets."""
    return read_family("run")


@family_setter("cpu")
def set_cpu_options(*, threads: int | None = None, team: str | None = None, isa: str | None = None) -> None:
    """Set the number of worker threads (0: all cores), whose threads they are and the instruction set of the CPU engine."""


def get_cpu_options() -> dict[str, Any]:
    """The options that ``set_cpu_options`` sets."""
    return read_family("cpu")


def set_print_options(*, edgeitems: int = 3, precision: int = 4, threshold: int = 10, linewidth: int = 10) -> None:
    """Set how ``pypto.print`` shows tensors. All four are always written (the defaults here are the reference's)."""
    given = {"edgeitems": edgeitems, "precision": precision, "threshold": threshold, "linewidth": linewidth}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InvalidChoice(name=name, value=str(value), expected="an integer of at least 0")
    _scopes.update({f"global.tensor_print.{name}": value for name, value in given.items()})


def set_semantic_label(label: str) -> None:
    """Label the operations that follow, so that settings and reports can name them."""
    if not isinstance(label, str):
        raise LabelNotText(got=type(label).__name__)
    if FUNCTION_KEY.match(label) and label != "DEFAULT":
        raise LabelConflict(label=label)
    _scopes.update({"semantic_label": label})


# -- tile shapes ---------------------------------------------------------------------------------------------------------------


def set_vec_tile_shapes(*shapes: int) -> None:
    """Set the vector tile shape, one size per axis of the results that follow. Advice: it never changes results.

    >>> import pypto
    >>> with pypto.options():
    ...     pypto.set_vec_tile_shapes(64, 128)
    ...     pypto.get_vec_tile_shapes()
    [64, 128]
    """
    _scopes.update({"vec_tile_shapes": positive_sizes("set_vec_tile_shapes", shapes)})


def get_vec_tile_shapes() -> list[int]:
    """The vector tile shape, ``[]`` when none is set."""
    return list(_scopes.current().get("vec_tile_shapes"))


def set_cube_tile_shapes(m: Sequence[int], k: Sequence[int], n: Sequence[int], enable_split_k: bool = False) -> None:
    """Set the matrix tile shape: ``m`` and ``n`` as ``[L0, L1]``, ``k`` as ``[L0, L1]`` or ``[L0, L1 of A, L1 of B]``.

    >>> import pypto
    >>> with pypto.options():
    ...     pypto.set_cube_tile_shapes([32, 32], [64, 64], [64, 64])
    ...     pypto.get_cube_tile_shapes()
    ([32, 32], [64, 64, 64], [64, 64], False)
    """
    _scopes.update({"cube_tile_shapes": CubeTile(m, k, n, enable_split_k)})


def get_cube_tile_shapes() -> tuple[list[int], list[int], list[int], bool]:
    """``(m, k, n, enable_split_k)``, ``k`` always with three entries; zeros when none is set."""
    tile = _scopes.current().get("cube_tile_shapes")
    return tile.as_tuple() if tile is not None else ([0, 0], [0, 0, 0], [0, 0], False)


def set_conv_tile_shapes(tile_l1_info: TileL1Info, tile_l0_info: TileL0Info | None = None) -> None:
    """Set the convolution tile shape; without an L0 part it is chosen automatically."""
    _scopes.update({"conv_tile_shapes": ConvTile(tile_l1_info, tile_l0_info)})


def get_conv_tile_shapes() -> tuple[TileL1Info | None, TileL0Info | None, bool]:
    """``(L1 part, L0 part, whether the L0 part was given)``."""
    tile = _scopes.current().get("conv_tile_shapes")
    return tile.as_tuple() if tile is not None else (None, None, False)


def set_matrix_size(size: Sequence[int]) -> None:
    """Set the original ``[m, k, n]`` of an NZ input that was reshaped before ``matmul``."""
    if not isinstance(size, (list, tuple)):
        raise NotATile(function="set_matrix_size", expected="a list [m, k, n]", got=type(size).__name__)
    _scopes.update({"matrix_size": positive_sizes("set_matrix_size", size) if any(size) else ()})
