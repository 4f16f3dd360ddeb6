"""A case: a kernel, the arguments of one launch, and what the outputs must be."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Case:
    """``data()`` gives the arguments and the expected contents of the outputs by position.

    ``make(preload)`` gives the kernel; one without a pipeline is given as it is. ``tolerance`` 0: equal to the last bit.
    ``preloads``: those the kernel accepts, of 0 to 4; none without a pipeline. ``mutate``: synchronisations are deleted from its program.
    """

    name: str
    kernel: Any
    data: Callable[[], tuple[list, Mapping[int, torch.Tensor]]]
    blocks: int = 1
    tolerance: float = 0.0
    preloads: tuple = ()
    mutate: bool = False

    def made(self, preload: Any = None) -> Any:
        """The kernel, for this preload if it has a pipeline."""
        return self.kernel(preload) if self.preloads else self.kernel

    def __str__(self) -> str:
        return self.name


@functools.cache
def template(case: Case) -> tuple[list, Mapping[int, torch.Tensor]]:
    """``data()`` of a case, made once: never hand these arguments to a kernel."""
    return case.data()


def launch(case: Case, preload: Any = None) -> list[torch.Tensor]:
    """One launch; the outputs, in the order of their positions."""
    given, expected = template(case)
    arguments = [one.clone() if isinstance(one, torch.Tensor) else one for one in given]
    case.made(preload)[None, case.blocks](*arguments)
    return [arguments[position] for position in expected]


def check(case: Case, found: list[torch.Tensor]) -> None:
    """The outputs are those of torch."""
    for one, expected in zip(found, template(case)[1].values(), strict=True):
        torch.testing.assert_close(one, expected, rtol=case.tolerance, atol=case.tolerance, equal_nan=True)


def random(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0, scale: float = 1.0) -> torch.Tensor:
    """Normal numbers, or integers of eight bits."""
    generator = torch.Generator().manual_seed(seed + sum(shape))
    if dtype is torch.int8:
        return torch.randint(-128, 128, shape, generator=generator, dtype=dtype)
    return (torch.randn(*shape, generator=generator) * scale).to(dtype)


def unwritten(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """An output that nobody has written: NaN, or a strange integer."""
    return torch.full(shape, float("nan") if dtype.is_floating_point else 77, dtype=dtype)
