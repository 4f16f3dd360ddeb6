"""How symbolic scalars print: the text forms of tensor API section 5.3, in which a name may be shown as something else."""

from __future__ import annotations

import weakref

from pypto.ir import symbols as ir
from pypto.ir.symbols import Apply, Scalar, Symbol

_display: weakref.WeakKeyDictionary[Symbol, str] = weakref.WeakKeyDictionary()


def set_display_text(symbol: Symbol, text: str) -> None:
    """Print ``symbol`` as ``text`` in ``str(SymbolicScalar)``, for instance ``RUNTIME_GetInputShapeDim(ARG_x,0)``."""
    _display[symbol] = text


_INFIX = {"add": "+", "sub": "-", "mul": "*", "floordiv": "/", "truediv": "/", "mod": "%"}
_INFIX |= {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "and": "&&", "or": "||"}
_TURNED = {"lt": ">", "le": ">="}
_CALLS = {"min": "RUNTIME_Min", "max": "RUNTIME_Max"}


def text(a: Scalar) -> str:
    """``a`` as the API prints it: ``(x+3)``, ``(x&&y)``, ``RUNTIME_Min(x, 2)``; True and False are 1 and 0."""
    done: dict[Scalar, str] = {}

    def part(x: Scalar) -> str:
        if isinstance(x, Symbol):
            return _display.get(x, x.name)
        if isinstance(x, Apply):
            return done[x]
        return str(int(x)) if isinstance(x, bool) else str(x)

    for node in ir.children_first(a):
        done[node] = _text_of_application(node, [part(x) for x in node.arguments])
    return part(a)


def _text_of_application(a: Apply, parts: list[str]) -> str:
    function, first, last = a.function, a.arguments[0], a.arguments[-1]
    if function == "and" and last is True:  # "is not 0", see as_written
        return parts[0]
    if function == "add" and isinstance(last, int) and last < 0:
        return f"({parts[0]}-{-last})"
    if function in _TURNED and ir.is_constant(first):
        return f"({parts[1]}{_TURNED[function]}{parts[0]})"
    if function in _INFIX:
        return f"({parts[0]}{_INFIX[function]}{parts[1]})"
    if function in ("neg", "not"):
        return f"({'-' if function == 'neg' else '!'}{parts[0]})"
    if function in _CALLS:
        return f"{_CALLS[function]}({', '.join(parts)})"
    return f"RUNTIME_{function.capitalize()}({','.join(parts)})"


def as_written(before: Scalar, after: Scalar) -> Scalar:
    """The API prints the simplified ``x & x`` as ``x``. Its value is "x is not 0", which we keep: only the text is short."""
    logical = isinstance(before, Apply) and before.function in ("and", "or", "not")
    if logical and isinstance(after, Apply) and after.function == "ne" and after.arguments[1] == 0:
        if ir.kind_of(after.arguments[0]) != "bool":
            return ir.apply("and", after.arguments[0], True)
    return after
