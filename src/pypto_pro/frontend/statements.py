"""Statements of a kernel (tile API section 2.10), except loops and branches."""

from __future__ import annotations

import ast
from typing import Any

from pypto.cores.enums import CoreType
from pypto.cores.program import Return
from pypto_pro.errors.statements import (
    AnnotatedTarget,
    AnnotationWithoutValue,
    AssignTarget,
    ChainedTargets,
    LoneExpression,
    ManyContexts,
    NotAValue,
    OtherContext,
    ReturnValue,
    StandaloneAttribute,
    UnpackCount,
    UnpackValue,
    UnsupportedStatementType,
    VoidValue,
)
from pypto_pro.frontend import annotation, expressions, loops, records, subscripts
from pypto_pro.frontend.expressions import BINARY, binary_values
from pypto_pro.frontend.order import fixed
from pypto_pro.frontend.values import Intrinsic, Method, Shape, Static, Void, describe, elements
from pypto_pro.frontend.variables import apart, bind

SECTIONS = {"section_cube": CoreType.CUBE, "section_vector": CoreType.VECTOR}
TARGETS = (ast.Name, ast.Tuple, ast.List, ast.Attribute, ast.Subscript)


def assign(reader: Any, node: ast.Assign) -> bool:
    if len(node.targets) != 1:
        raise ChainedTargets()
    target = node.targets[0]
    if not isinstance(target, TARGETS):
        raise AssignTarget(kind=type(target).__name__)
    reader.hint = target.id if isinstance(target, ast.Name) and isinstance(node.value, ast.Call) else ""
    value = assignable(reader.expression(node.value))
    reader.hint = ""
    if isinstance(target, ast.Subscript) and any(isinstance(part, ast.Call) for part in ast.walk(target)):
        value = fixed(reader, value, reader.frame.span(node), only_changing=True)  # the value comes before the index
    assign_to(reader, target, value, node)
    return True


def assignable(value: Any) -> Any:
    if isinstance(value, Void):
        raise VoidValue(text=value.text)
    if isinstance(value, (Intrinsic, Method)):
        raise NotAValue(got=describe(value))
    return subscripts.shape_bundle(value) if isinstance(value, Shape) else value


def assign_to(reader: Any, target: ast.expr, value: Any, node: ast.AST) -> None:
    place = reader.frame.span(node)
    if isinstance(target, ast.Name):
        bind(reader, target.id, value, place)
    elif isinstance(target, (ast.Tuple, ast.List)):
        unpack(reader, target, value, node)
    elif isinstance(target, ast.Attribute):
        records.set_field(reader, target, value, node)
    elif isinstance(target, ast.Subscript):
        subscripts.store(reader, target, value, node)
    else:
        raise AssignTarget(kind=type(target).__name__)


def unpack(reader: Any, target: ast.Tuple | ast.List, value: Any, node: ast.AST) -> None:
    items = elements(value)
    if items is None:
        raise UnpackValue(got=describe(value))
    if len(items) != len(target.elts):
        raise UnpackCount(expected=len(target.elts), got=len(items))
    place = reader.frame.span(node)
    for one in target.elts:
        if not isinstance(one, ast.Name):
            raise AssignTarget(kind=type(one).__name__)
    names = [one.id for one in target.elts if isinstance(one, ast.Name)]
    for name, item in zip(names, apart(reader, names, items, place), strict=True):
        bind(reader, name, item, place)


def annotated(reader: Any, node: ast.AnnAssign) -> bool:
    if not isinstance(node.target, ast.Name):
        raise AnnotatedTarget(kind=type(node.target).__name__)
    if node.value is None:
        raise AnnotationWithoutValue(name=node.target.id)
    reader.hint = node.target.id if isinstance(node.value, ast.Call) else ""
    value = assignable(reader.expression(node.value))
    reader.hint = ""
    value = annotation.check_value(reader, node.annotation, node.target.id, value, "variable")
    bind(reader, node.target.id, value, reader.frame.span(node))
    return True


def augmented(reader: Any, node: ast.AugAssign) -> bool:
    symbol = BINARY[type(node.op)]
    if isinstance(node.target, ast.Name):
        current = reader.expression(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
        value = binary_values(reader, symbol, current, expressions.usable(reader.expression(node.value)), node)
        bind(reader, node.target.id, value, reader.frame.span(node))
    elif isinstance(node.target, (ast.Attribute, ast.Subscript)):
        current = fixed(reader, reader.expression(loading(node.target)), reader.frame.span(node))
        value = binary_values(reader, symbol, current, expressions.usable(reader.expression(node.value)), node)
        assign_to(reader, node.target, value, node)
    else:
        raise AssignTarget(kind=type(node.target).__name__)
    return True


def loading(target: ast.Attribute | ast.Subscript) -> ast.expr:
    """The target as an expression that reads it."""
    if isinstance(target, ast.Attribute):
        made: ast.expr = ast.Attribute(target.value, target.attr, ast.Load())
    else:
        made = ast.Subscript(target.value, target.slice, ast.Load())
    return ast.copy_location(made, target)


def expression_statement(reader: Any, node: ast.Expr) -> bool:
    if isinstance(node.value, ast.Constant):  # docstrings and the ellipsis
        return True
    if isinstance(node.value, ast.Attribute):
        raise StandaloneAttribute(text=ast.unparse(node.value))
    if not isinstance(node.value, ast.Call):
        raise LoneExpression(text=ast.unparse(node.value))
    value = reader.expression(node.value)
    expression = getattr(value, "expression", None)
    if expression is not None and expressions.turns(value):  # g.next() alone turns the ring
        reader.hold(value, "unused", reader.frame.span(node))
    return True


def with_statement(reader: Any, node: ast.With, rest: list[ast.stmt]) -> bool:
    """``with pl.section_cube():`` is read for the cube core and left out for the vector cores, and the other way round."""
    if len(node.items) != 1:
        raise ManyContexts()
    context = node.items[0].context_expr
    callee = reader.callee(context.func) if isinstance(context, ast.Call) else None
    kind = SECTIONS.get(callee.path) if isinstance(callee, Intrinsic) else None
    if kind is None:
        raise OtherContext(text=ast.unparse(context))
    reader.unit.sections.add(kind)
    if kind is reader.unit.target:
        return reader.statements([*node.body, *rest])
    for name in loops.bound_names(node.body):
        reader.unit.skipped.setdefault(name, (node.lineno, "cube" if kind is CoreType.CUBE else "vector"))
    return reader.statements(rest)


def return_statement(reader: Any, node: ast.Return) -> bool:
    value = node.value
    nothing = value is None or (isinstance(value, ast.Constant) and value.value is None)
    if not reader.frame.helper:
        if not nothing:
            raise ReturnValue()
        reader.emit(Return())
        return False
    result = Static(None) if value is None else assignable(reader.expression(value))
    reader.returns(result, node)
    return False


def pass_statement(reader: Any, node: ast.Pass) -> bool:
    return True


def unsupported(reader: Any, node: ast.stmt) -> bool:
    raise UnsupportedStatementType(kind=type(node).__name__)
