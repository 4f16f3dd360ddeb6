"""What kind of thing an expression of the kernel is: a number (and of which type), or a handle that cannot be kept in a struct.

Arguments of delayed stages are kept per iteration in the fields of a struct, whose types follow from their first values. ``int``,
``float`` and ``bool`` are numbers; ``handle`` is a tile, tensor, pointer or struct.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType
from typing import Any

from pypto.dtypes import DataType
from pypto.frontend.python import code_of
from pypto_pro.pipeline.config import is_stage
from pypto_pro.pipeline.constants import UNKNOWN
from pypto_pro.pipeline.places import operation_name
from pypto_pro.pipeline.structure import Kernel
from pypto_pro.pipeline.traces import frame_scope

HANDLE = "handle"
FIRST_VALUES = {"int": "0", "float": "0.0", "bool": "False"}
_HANDLE_CALLS = {"make_tensor", "make_ptr", "addptr", "make_tile", "make_tile_group", "struct", "struct_array", "make_tuple"}
DEEPEST = 20


class Kinds:
    """Kinds of the names and expressions of one function."""

    def __init__(
        self,
        kernel: Kernel,
        parameters: dict[str, str] | None = None,
        depth: int = 0,
        tiles: Callable[[str], DataType | None] = lambda name: None,
    ) -> None:
        self.kernel = kernel
        self.tiles = tiles  # element type of the tile that a name holds
        self.depth = depth
        self.names: dict[str, str | None] = dict(parameters or {})
        self.assigned: dict[str, list[ast.expr]] = {}
        self.fields: dict[tuple[str, str], ast.expr] = {}
        self._collect()

    def _collect(self) -> None:
        for argument in (*self.kernel.node.args.posonlyargs, *self.kernel.node.args.args, *self.kernel.node.args.kwonlyargs):
            if argument.arg not in self.names and argument.annotation is not None:
                self.names[argument.arg] = self._annotated(argument.annotation)
        for node in ast.walk(self.kernel.node):
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                self.names.setdefault(node.target.id, "int")
            elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        self.assigned.setdefault(target.id, []).append(node.value)
                        self._struct_fields(target.id, node.value)

    def _struct_fields(self, name: str, value: ast.expr) -> None:
        if operation_name(value, self.kernel.scope) == "struct" and isinstance(value, ast.Call):
            for keyword in value.keywords:
                if keyword.arg:
                    self.fields[name, keyword.arg] = keyword.value

    def _annotated(self, annotation: ast.expr) -> str | None:
        value = self.kernel.scope.value(annotation)
        if isinstance(annotation, ast.Subscript) or (isinstance(annotation, ast.Constant) and "[" in str(annotation.value)):
            return HANDLE
        return of_dtype(value) if isinstance(value, DataType) else HANDLE if value is not UNKNOWN else None

    def of(self, node: ast.expr) -> str | None:
        """``int``, ``float``, ``bool``, ``handle``, or None where it cannot be told."""
        value = self.kernel.scope.value(node)
        if isinstance(value, (bool, int, float)):
            return type(value).__name__
        method = getattr(self, f"_{type(node).__name__}", None)
        return None if method is None else method(node)

    def _Name(self, node: ast.Name) -> str | None:
        if node.id not in self.names:
            self.names[node.id] = None  # a name that depends on itself says nothing new
            kinds = [self.of(value) for value in self.assigned.get(node.id, [])]
            self.names[node.id] = _join(kinds)
        return self.names[node.id]

    def _BinOp(self, node: ast.BinOp) -> str | None:
        sides = [self.of(node.left), self.of(node.right)]
        if HANDLE in sides:
            return HANDLE
        if isinstance(node.op, ast.Div) or "float" in sides:
            return "float"
        return "int"

    def _UnaryOp(self, node: ast.UnaryOp) -> str | None:
        return "bool" if isinstance(node.op, ast.Not) else self.of(node.operand)

    def _Compare(self, node: ast.Compare) -> str:
        return "bool"

    def _BoolOp(self, node: ast.BoolOp) -> str:
        return "bool"

    def _IfExp(self, node: ast.IfExp) -> str | None:
        return _join([self.of(node.body), self.of(node.orelse)])

    def _Attribute(self, node: ast.Attribute) -> str | None:
        if isinstance(node.value, ast.Name):
            name = node.value.id
            if (name, node.attr) in self.fields:
                first = self.fields[name, node.attr]
                return HANDLE if isinstance(first, (ast.List, ast.Tuple)) else self.of(first)
            annotation = self._tiling_field(name, node.attr)
            if annotation is not None:
                return annotation
        return None

    def _tiling_field(self, parameter: str, field: str) -> str | None:
        """A field of the tiling class, from the annotations of the class."""
        for argument in self.kernel.node.args.args:
            if argument.arg == parameter and argument.annotation is not None:
                cls = self.kernel.scope.value(argument.annotation)
                annotation = str(getattr(getattr(cls, "__annotations__", {}).get(field), "__name__", None) or "")
                text = annotation or str(getattr(cls, "__annotations__", {}).get(field, ""))
                return text if text in FIRST_VALUES else HANDLE if text.endswith("]") else None
        return None

    def _Subscript(self, node: ast.Subscript) -> str | None:
        if any(isinstance(part, ast.Slice) for part in ast.walk(node.slice)):
            return HANDLE
        base = node.value
        if isinstance(base, ast.Attribute):
            if base.attr in ("shape", "valid_shape"):
                return "int"
            if isinstance(base.value, ast.Name) and (base.value.id, base.attr) in self.fields:
                first = self.fields[base.value.id, base.attr]
                return self.of(first.elts[0]) if isinstance(first, (ast.List, ast.Tuple)) and first.elts else None
            return None
        dtype = self._element_type(base)
        return HANDLE if dtype is None else of_dtype(dtype)

    def _element_type(self, node: ast.expr) -> DataType | None:
        """Of a tensor parameter or of a tile."""
        if isinstance(node, ast.Name) and self.tiles(node.id) is not None:
            return self.tiles(node.id)
        for argument in self.kernel.node.args.args:
            if isinstance(node, ast.Name) and argument.arg == node.id and isinstance(argument.annotation, ast.Subscript):
                parts = argument.annotation.slice
                dtype = self.kernel.scope.value(parts.elts[1]) if isinstance(parts, ast.Tuple) and len(parts.elts) > 1 else None
                return dtype if isinstance(dtype, DataType) else None
        return None

    def _Call(self, node: ast.Call) -> str | None:
        name = operation_name(node, self.kernel.scope)
        if name == "const" and len(node.args) == 2:
            dtype = self.kernel.scope.value(node.args[1])
            return of_dtype(dtype) if isinstance(dtype, DataType) else None
        if name in _HANDLE_CALLS:
            return HANDLE
        if name == "getval" and node.args:
            dtype = self._element_type(node.args[0])
            return of_dtype(dtype) if dtype is not None else None
        if name is not None and name.startswith("get_"):
            return "int"
        function = self.kernel.scope.value(node.func)
        if name in ("min", "max") or function in (min, max):
            return _join([self.of(argument) for argument in node.args])
        if isinstance(function, FunctionType) and not is_stage(function) and self.depth < DEEPEST and name is None:
            return self._returned(function, node)
        return None

    def _returned(self, function: FunctionType, node: ast.Call) -> str | None:
        """What a helper returns for arguments of these kinds."""
        code = code_of(function)
        if not isinstance(code.node, ast.FunctionDef):
            return self.of(code.node.body) if isinstance(code.node, ast.Lambda) else None
        names = [argument.arg for argument in code.node.args.args]
        given = {name: kind for name, argument in zip(names, node.args, strict=False) if (kind := self.of(argument))}
        inner = Kinds(Kernel(code.node, code.file, frame_scope(function, code.node, {})), given, self.depth + 1)
        returned = [one.value for one in ast.walk(code.node) if isinstance(one, ast.Return) and one.value is not None]
        return _join([inner.of(value) for value in returned])


def of_dtype(dtype: DataType) -> str:
    return "float" if dtype.is_float else "bool" if dtype is DataType.DT_BOOL else "int"


def _join(kinds: list[Any]) -> str | None:
    known = [kind for kind in kinds if kind is not None]
    for kind in (HANDLE, "float", "int", "bool"):
        if kind in known:
            return kind
    return None
