"""What a Python object is to the front end: symbolic or static, and how structures of values are taken apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pypto.frontend.symbolic import SymbolicScalar, scalar_of
from pypto.frontend.tensor import Tensor
from pypto.ir import symbols as ir
from pypto.ir.program import TensorType

Path = tuple[Any, ...]


def collapse(value: Any) -> Any:
    """A symbolic scalar whose number is known becomes that number."""
    if value.__class__ is SymbolicScalar and not isinstance(value.scalar, ir.Expression):
        return value.scalar
    return value


def is_symbolic(value: Any) -> bool:
    """Whether it is a scalar that is known only when the kernel runs."""
    return value.__class__ is SymbolicScalar and not value.is_concrete()


def truth_of(value: Any) -> ir.Scalar:
    """Truth of a number or symbolic scalar, as an ir scalar of kind bool."""
    scalar = scalar_of(value)
    if scalar is None:
        return bool(value)
    truth = ir.truth(scalar)
    return bool(truth) if not isinstance(truth, ir.Expression) else truth


def is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, SymbolicScalar))


def describe(value: Any) -> str:
    """A value in a message: type and shape of tensors, kind of numbers."""
    if isinstance(value, Tensor):
        type = value._type()
        return f"a tensor {type_text(type)}" if type is not None else "an empty tensor"
    if isinstance(value, SymbolicScalar):
        return f"a symbolic {value.kind}"
    if isinstance(value, (bool, int, float)):
        return f"the {type_name(value)} {value!r}"
    return f"a {type_name(value)}"


def type_name(value: Any) -> str:
    return type(value).__name__


def type_text(type: TensorType) -> str:
    """``fp32[4, 8]``, with the valid part when it differs."""
    sizes = ", ".join(str(SymbolicScalar(size)) for size in type.shape)
    valid = "" if type.is_full else f" (valid {', '.join(str(SymbolicScalar(size)) for size in type.valid)})"
    return f"{type.dtype.label}[{sizes}]{valid}"


# -- structures --------------------------------------------------------------------------------------------------------------------


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The parts of nested lists, tuples and dicts, with the way to them."""
    if type(value) in (list, tuple):
        for position, part in enumerate(value):
            yield from leaves(part, (*path, position))
    elif type(value) is dict:
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    else:
        yield path, value


def rebuilt(value: Any, replacement: Any, path: Path = ()) -> Any:
    """The same structure with every leaf replaced by ``replacement(path, leaf)``."""
    if type(value) in (list, tuple):
        return type(value)(rebuilt(part, replacement, (*path, k)) for k, part in enumerate(value))
    if type(value) is dict:
        return {key: rebuilt(part, replacement, (*path, key)) for key, part in value.items()}
    return replacement(path, value)


def write_into(container: Any, value: Any) -> None:
    """Put the parts of ``value`` into the list or dict ``container`` of the same structure, in place."""
    for key, part in enumerate(value) if isinstance(value, list) else value.items():
        inner = container[key]
        if type(inner) in (list, dict):
            write_into(inner, part)
        elif inner is not part:
            container[key] = part


def same_structure(a: Any, b: Any) -> bool:
    """Whether nested lists, tuples and dicts agree in kind, length and keys."""
    if type(a) is not type(b):
        return not isinstance(a, (list, tuple, dict)) and not isinstance(b, (list, tuple, dict))
    if type(a) in (list, tuple):
        return len(a) == len(b) and all(same_structure(x, y) for x, y in zip(a, b, strict=True))
    if type(a) is dict:
        return a.keys() == b.keys() and all(same_structure(a[k], b[k]) for k in a)
    return True


_STATIC = (str, bytes, int, float, bool, complex, type(None), range, slice, frozenset)


def same_static(a: Any, b: Any) -> bool:
    """Whether two values that are neither tensors nor symbols are interchangeable."""
    if a is b:
        return True
    if isinstance(a, (Tensor, SymbolicScalar)) or isinstance(b, (Tensor, SymbolicScalar)):
        return False
    return type(a) is type(b) and isinstance(a, _STATIC) and a == b


# -- fitting ----------------------------------------------------------------------------------------------------------------------


def converted(scalar: ir.Scalar, kind: str) -> ir.Scalar:
    """``scalar`` as a wider kind."""
    return scalar if ir.kind_of(scalar) == kind or kind == "bool" else ir.apply(kind, scalar)


def wider_kind(a: str, b: str) -> str:
    order = ("bool", "int", "float")
    return order[max(order.index(a), order.index(b))]


def fits(before: Any, after: Any) -> bool:
    """Whether a value may take the place of another after zero trips."""
    if isinstance(before, Tensor) and isinstance(after, Tensor):
        a, b = before._type(), after._type()
        return a is not None and b is not None and (a.dtype, a.shape) == (b.dtype, b.shape)
    if is_number(before) and is_number(after):
        a_kind, b_kind = ir.kind_of(scalar_of(before)), ir.kind_of(scalar_of(after))  # type: ignore[arg-type]
        return wider_kind(a_kind, b_kind) == b_kind
    return same_static(before, after)
