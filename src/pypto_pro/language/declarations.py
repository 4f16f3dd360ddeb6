"""Names of the tile language that only have a meaning inside a kernel.

Outside, a call binds its arguments (a wrong call is a ``TypeError``), then says that it belongs into a kernel. Declarations of tile
operations are made from their rows; those that have no row are written here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from pypto.ops.tile.table import Parameter, TileOperation, find
from pypto_pro.errors.language import OutsideKernel, UnknownLanguageName

MARK = "__pypto_pro__"


def declared(function: Callable[..., Any]) -> Callable[..., Any]:
    """A declaration with the signature and the docstring of ``function``."""
    return declaration(function.__name__, inspect.signature(function), function.__doc__ or "")


def declaration(name: str, signature: inspect.Signature, doc: str, path: str = "") -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        signature.bind(*arguments, **named)
        raise OutsideKernel(name=path + name)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__module__ = "pypto_pro.language"
    setattr(call, MARK, path + name)
    return call


@cache
def operation_declaration(name: str, path: str = "") -> Callable[..., Any] | None:
    """The declaration of a tile operation, made from its row; None when there is no such row."""
    row = find(name)
    if row is None:
        return None
    return declaration(name, row_signature(row), _doc(row), path)


def member(namespace: str, names: Sequence[str], name: str) -> Callable[..., Any]:
    """Attribute ``name`` of ``pl.<namespace>``, which has the operations ``names``."""
    if name.startswith("__"):
        raise AttributeError(name)
    found = operation_declaration(name, f"{namespace}.") if name in names else None
    if found is None:
        raise UnknownLanguageName(name=f"{namespace}.{name}", nearest="")
    return found


def row_signature(row: TileOperation) -> inspect.Signature:
    """A Python signature from a row: positional parameters, then keywords."""
    return inspect.Signature([_parameter(one) for one in _ordered(row.parameters)])


def _ordered(parameters: tuple[Parameter, ...]) -> list[Parameter]:
    positional = [p for p in parameters if not p.keyword]
    plain = [p for p in positional if not p.variadic]
    return [*plain, *(p for p in positional if p.variadic), *(p for p in parameters if p.keyword)]


def _parameter(one: Parameter) -> inspect.Parameter:
    if one.variadic:
        return inspect.Parameter(one.name, inspect.Parameter.VAR_POSITIONAL)
    kind = inspect.Parameter.KEYWORD_ONLY if one.keyword else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = one.default if one.optional else inspect.Parameter.empty
    return inspect.Parameter(one.name, kind, default=default)


def _doc(row: TileOperation) -> str:
    lines = [row.summary]
    if row.example:
        lines += ["", "Inside a kernel::", "", *(f"    {line}" for line in row.example.splitlines())]
    return "\n".join(lines)


# -- declarations without a row -----------------------------------------------------------------------------------------------


@declared
def make_tile(tile_type: Any, *, addr: int, size: int | None = None) -> None:
    """A tile of ``tile_type`` at ``addr`` (bytes) of its memory."""


@declared
def make_tile_group(
    *, type: Any, addrs: Any, mutex_ids: Any = None, depth: Any = None, fwd_ids: Any = None, bwd_ids: Any = None
) -> None:
    """A ring of tiles of one type, used through ``next()``, ``current()``, ``previous()`` and ``[i]``.

    ``addrs``: address of the first tile, or of each. ``mutex_ids``: buffer tokens, one entry per tile. ``fwd_ids``, ``bwd_ids``: cross-core
    events of the pipeline transform.
    """


@declared
def make_tensor(source: Any, shape: Any, stride: Any = None, dtype: Any = None) -> None:
    """A view in global memory on the address of a tensor or pointer; strides in elements."""


@declared
def make_ptr(source: Any, dtype: Any = None) -> None:
    """The address of a tensor or pointer, optionally with another element type."""


@declared
def addptr(ptr: Any, offset: Any) -> None:
    """``ptr`` moved on by ``offset`` elements; also written ``ptr + offset``."""


@declared
def const(value: Any, dtype: Any) -> None:
    """A typed constant."""


@declared
def min(a: Any, b: Any) -> None:
    """The smaller of two scalars."""


@declared
def max(a: Any, b: Any) -> None:
    """The larger of two scalars."""


@declared
def constexpr(condition: Any) -> None:
    """In a test only: the condition has to be known before anything runs."""


@declared
def get_block_idx() -> None:
    """Number of this block; on a vector core of a mixed kernel ``2 * block + sub-block``."""


@declared
def get_block_num() -> None:
    """Number of blocks of this launch."""


@declared
def get_subblock_idx() -> None:
    """0 or 1: which vector core of its group this is; 0 on a cube core."""


@declared
def get_subblock_num() -> None:
    """Vector cores per block: 2 on a vector core of a mixed kernel, else 1."""


@declared
def get_spr() -> None:
    """Value of the AR register after a register-level squeeze; comes with register-level functions."""


SPECIAL: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        make_tile,
        make_tile_group,
        make_tensor,
        make_ptr,
        addptr,
        const,
        min,
        max,
        constexpr,
        get_block_idx,
        get_block_num,
        get_subblock_idx,
        get_subblock_num,
        get_spr,
    )
}
