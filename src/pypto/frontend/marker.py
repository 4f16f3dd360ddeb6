"""``pypto.frontend.function`` marks helpers whose annotations are checked; ``pypto.frontend.dynamic`` names a DYNAMIC axis."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from pypto.enums import StatusType
from pypto.errors.arguments import NotAFunction
from pypto.errors.frontend import NestedFunctionArguments
from pypto.frontend.symbolic import SymbolicScalar
from pypto.frontend.tensor import Tensor


class FunctionMarker:
    """A helper of kernels. Calling it in a kernel inlines it, after its annotated tensor parameters were checked."""

    def __init__(self, wrapped: FunctionType) -> None:
        self.__wrapped__ = self.inlined_function = wrapped
        self.__name__ = wrapped.__name__
        self.__doc__ = wrapped.__doc__
        self.expected = {
            name: parameter.annotation.to_tensor(name)
            for name, parameter in inspect.signature(wrapped).parameters.items()
            if hasattr(parameter.annotation, "to_tensor") and parameter.annotation is not Tensor
        }

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.inlined_function(*arguments, **keywords)

    def check_inlined(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        """Compare tensors with the annotations: rank, sizes, dtype."""
        names = list(inspect.signature(self.__wrapped__).parameters)
        for name, value in {**dict(zip(names, arguments, strict=False)), **keywords}.items():
            if name in self.expected and isinstance(value, Tensor):
                problem = mismatch(self.expected[name], value)
                if problem:
                    raise NestedFunctionArguments(function=self.__name__, problem=f"the tensor '{name}' {problem}")


def mismatch(expected: Tensor, actual: Tensor) -> str:
    """What of ``actual`` does not fit the annotation; empty when all does."""
    marks, shape = list(expected.marks or []), actual.shape
    open_end = bool(marks) and marks[-1] is ...
    fixed = marks[:-1] if open_end else marks
    if marks and (len(shape) < len(fixed) if open_end else len(shape) != len(fixed)):
        return f"has {len(shape)} dimensions, which does not match the number of dimensions {len(fixed)} of its definition"
    for mark, size in zip(fixed, shape, strict=False):
        if isinstance(mark, int) and not isinstance(mark, StatusType) and mark >= 0 and isinstance(size, int) and mark != size:
            return f"of shape {shape} does not match the shape {marks} of its definition"
    if expected.explicit_dtype and expected.wanted_dtype is not actual.dtype:
        return f"of dtype {actual.dtype.name} does not match the dtype {expected.wanted_dtype.name} of its definition"
    return ""


def function(wrapped: Any = None) -> Any:
    """Mark a helper function of kernels; with or without parentheses."""
    if wrapped is None:
        return function
    if not isinstance(wrapped, FunctionType):
        raise NotAFunction(got=type(wrapped).__name__)
    return FunctionMarker(wrapped)


def dynamic(name: str) -> SymbolicScalar:
    """A named size for annotations: all axes declared with it must have one size at run time.

    >>> import pypto
    >>> pypto.frontend.dynamic("B")
    B
    """
    return SymbolicScalar(name)
