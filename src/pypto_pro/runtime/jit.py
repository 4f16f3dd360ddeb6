"""``pl.jit``: the decorator, and the kernel that it makes (tile API sections 2.1 and 2.2)."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from pypto.dtypes import DataType
from pypto.frontend.python import cells_of
from pypto_pro.errors.launching import JitArgument, JitKeywords, NotAKernelFunction
from pypto_pro.errors.tiling import KeyParameterClash, KeyVariableClash
from pypto_pro.language.typing import Ptr, Tensor
from pypto_pro.runtime.compilation import Definition
from pypto_pro.runtime.datatypes import check_datatype
from pypto_pro.runtime.kernel import TileKernel
from pypto_pro.runtime.scopes import caller_locals
from pypto_pro.runtime.targets import check_arch
from pypto_pro.runtime.tilingkey import TilingKeySchema


def jit(
    target: Any = None,
    *,
    arch: str | None = None,
    auto_mutex: bool = True,
    name: str | None = None,
    pipeline: Any = None,
    tiling_key: type | None = None,
    datatype: Mapping[str, str] | None = None,
    compile_timeout: float | None = None,
    **unknown: Any,
) -> Any:
    """Makes a tile kernel of a function; used as ``@pl.jit`` or ``@pl.jit(auto_mutex=True, …)``.

    ``arch``: "a2", "a3" (910B), "a5" (950, the default), a chip or the path of a chip file. ``auto_mutex``: buffer tokens around every
    operation on tiles that have ``mutex_ids``. ``name``: of the artefact folder. ``pipeline``: a ``pl.pipeline.PipelineConfig``.
    ``tiling_key``: a class with ``TilingKeyField``s, constants chosen at launch. ``datatype``: ``{parameter: symbol}``, element types
    chosen at launch. ``compile_timeout`` is accepted and has no effect: compilation takes milliseconds.

    A function without an annotated tensor, pointer or scalar stays a plain Python function.

    >>> import numpy as np
    >>> @jit
    ... def nothing(x: Tensor[[16], DataType.DT_FP32]):
    ...     pass
    >>> nothing
    <pypto_pro kernel nothing>
    """
    if unknown:
        raise JitKeywords(names=", ".join(sorted(unknown)))
    snapshot = caller_locals()
    _check_arguments(auto_mutex, pipeline)
    schema = TilingKeySchema(tiling_key) if tiling_key is not None else None
    options = (check_arch(arch), auto_mutex, name, pipeline, schema, datatype)

    def decorate(function: Any) -> Any:
        return make_kernel(function, snapshot, options)

    return decorate if target is None else decorate(target)


def _check_arguments(auto_mutex: Any, pipeline: Any) -> None:
    if not isinstance(auto_mutex, bool):
        raise JitArgument(name="auto_mutex", expected="True or False", got=repr(auto_mutex))
    if pipeline is None:
        return
    from pypto_pro.pipeline import PipelineConfig

    if not isinstance(pipeline, PipelineConfig):
        raise JitArgument(name="pipeline", expected="a pl.pipeline.PipelineConfig or None", got=repr(pipeline))


def make_kernel(function: Any, snapshot: Mapping[str, Any], options: tuple) -> Any:
    """The kernel of a function, or the function itself where it has no annotation of a tile kernel."""
    arch, auto_mutex, name, pipeline, schema, datatype = options
    if not isinstance(function, FunctionType):
        raise NotAKernelFunction(what="pl.jit", got=type(function).__name__)
    symbols = check_datatype(function, datatype, schema) if datatype is not None else {}
    _check_key(function, snapshot, schema)
    if not is_tile_kernel(function, snapshot):
        return _plain(function)
    definition = Definition(function, snapshot, auto_mutex, pipeline, name or "")
    return functools.update_wrapper(TileKernel(definition, arch, schema, symbols), function)


def _plain(function: FunctionType) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **named)

    return call


def is_tile_kernel(function: FunctionType, snapshot: Mapping[str, Any]) -> bool:
    """Whether a parameter is annotated as a tensor, pointer or element type, also in quotes."""
    scope = {**function.__globals__, **snapshot, **cells_of(function)}
    annotations = {name: value for name, value in function.__annotations__.items() if name != "return"}
    return any(_is_kernel_annotation(value, scope) for value in annotations.values())


def _is_kernel_annotation(value: Any, scope: Mapping[str, Any]) -> bool:
    if isinstance(value, str):
        return _text_is_kernel(value) or _is_kernel_annotation(scope.get(value), {})
    return isinstance(value, (Tensor, Ptr, DataType)) or value in (Tensor, Ptr)


def _text_is_kernel(text: str) -> bool:
    try:
        node = ast.parse(text.strip("'\""), mode="eval").body
    except SyntaxError:
        return False
    head = ast.unparse(node.value if isinstance(node, ast.Subscript) else node).rpartition(".")[2]
    return head in ("Tensor", "Ptr", "Scalar") or head.startswith("DT_")


def _check_key(function: FunctionType, snapshot: Mapping[str, Any], schema: TilingKeySchema | None) -> None:
    for name in schema.names if schema is not None else ():
        if name in function.__code__.co_varnames[: function.__code__.co_argcount]:
            raise KeyParameterClash(name=name)
        for scope in (snapshot, function.__globals__):
            value = scope.get(name)
            if name in scope and not callable(value) and not isinstance(value, type):
                raise KeyVariableClash(name=name)
