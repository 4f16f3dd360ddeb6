"""What the user says: which functions are stages, and how far the loops are pipelined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeVar, Union

from pypto.errors.pipeline import PreloadInvalid

Function = TypeVar("Function", bound=Callable[..., Any])

MARK = "pipeline_stage"
AUTO = "auto"


def stage(function: Function) -> Function:
    """Marks a function as one stage of a cube/vector pipeline; the function itself stays as it is.

    >>> @stage
    ... def load_and_multiply(k, a, a_tiles): ...
    >>> load_and_multiply.pipeline_stage
    True
    """
    setattr(function, MARK, True)
    return function


def is_stage(value: Any) -> bool:
    """Whether ``value`` is a function marked with ``stage``."""
    return isinstance(value, FunctionType) and getattr(value, MARK, False) is True


@dataclass(frozen=True)
class PipelineConfig:
    """How many iterations a stage may run ahead of the next stage on the same core.

    ``preload`` is one number for all loops of the kernel, or a list with one number per loop. 0 leaves a loop serial and inserts the
    synchronisation between cube and vector only; ``"auto"`` lets the simulator choose. ``sync_only=True`` means ``preload=0``.

    Raises ``ValueError`` for negative numbers, booleans, other types and empty lists.

    >>> PipelineConfig(preload=[1, 2]).preload
    (1, 2)
    """

    preload: Union[int, str, Sequence[int]] = 2
    sync_only: bool = False

    def __post_init__(self) -> None:
        preload: Any = 0 if self.sync_only is True else self.preload
        if isinstance(preload, (list, tuple)):
            preload = tuple(preload)
            if not preload:
                raise PreloadInvalid(got="an empty list")
        for number in preload if isinstance(preload, tuple) else (preload,):
            if number != AUTO and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
                raise PreloadInvalid(got=repr(number))
        if isinstance(preload, tuple) and AUTO in preload:
            raise PreloadInvalid(got=repr(list(preload)))
        object.__setattr__(self, "preload", preload)

    @property
    def automatic(self) -> bool:
        """Whether the simulator chooses the preload."""
        return self.preload == AUTO
