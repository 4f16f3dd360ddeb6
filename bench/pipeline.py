"""``python -m bench.pipeline``: simulated cycles of cube/vector kernels, serial and pipelined, against the bound.

The bound is the time of the slower core if it never waited for the other one. Cycles are those of the model, the same on every machine.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass, field

import numpy as np

import pypto_pro.language as pl
from bench.pipeline_kernels import CASES
from pypto.errors.pipeline import PipelineMistake
from pypto_pro.pipeline.bound import Bound, bound

PRELOADS = (0, 1, 2, 3)


@dataclass
class Row:
    """Cycles by preload (those that the slots allow), and the bound of the fastest."""

    kernel: str
    iterations: int
    cycles: dict[int, float] = field(default_factory=dict)
    bound: Bound = Bound(0.0, 0.0)

    @property
    def best(self) -> float:
        return min(self.cycles.values())

    @property
    def reached(self) -> float:
        """The bound's share of the best time: 1 is perfect."""
        return self.bound.cycles / self.best


def measure(name: str, iterations: int) -> Row:
    """One kernel with every preload; the numbers are checked against numpy."""
    make, case = CASES[name]
    row = Row(name, iterations)
    for preload in PRELOADS:
        kernel = make(pl.jit(auto_mutex=True, pipeline=pl.pipeline.PipelineConfig(preload=preload)))
        arguments, expected = case(iterations)
        try:
            kernel[None, 1](*arguments.values())
        except PipelineMistake:  # deeper than the slots
            continue
        np.testing.assert_allclose(arguments["out"], expected, rtol=2e-2, atol=2e-3)
        row.cycles[preload] = kernel.last_report.cycles
        if row.cycles[preload] == row.best:
            row.bound = bound(kernel.last_compiled.program, arguments)
    return row


def table(rows: list[Row]) -> str:
    head = f"{'kernel':<30}{'trips':>6}{'serial':>12}" + "".join(f"{f'preload {p}':>12}" for p in PRELOADS[1:])
    lines = [f"{head}{'bound':>12}{'side':>8}{'gain':>7}{'of bound':>10}"]
    for row in rows:
        cells = "".join(f"{row.cycles[p]:>12,.0f}" if p in row.cycles else f"{'-':>12}" for p in PRELOADS)
        gain = row.cycles[0] / row.best
        lines.append(
            f"{row.kernel:<30}{row.iterations:>6}{cells}{row.bound.cycles:>12,.0f}{row.bound.side:>8}{gain:>6.2f}x{row.reached:>9.0%}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, nargs="*", default=[16, 32])
    arguments = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(table([measure(name, count) for name in CASES for count in arguments.iterations]))


if __name__ == "__main__":
    main()
