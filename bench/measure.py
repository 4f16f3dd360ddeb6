"""Timing that survives a shared machine: peers alternate in one process, medians, a pause between them.

A spinning worker of one library disturbs the next one (about 4 ms after every parallel region of OpenMP), hence the pause.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

PAUSE_SECONDS = 0.012
MINIMUM_SECONDS = 0.002  # one sample runs the function often enough to last this long


def _repeats(function: Callable[[], object]) -> int:
    start = time.perf_counter()
    function()
    once = max(time.perf_counter() - start, 1e-7)
    return max(1, int(MINIMUM_SECONDS / once))


def _sample(function: Callable[[], object], repeats: int) -> float:
    function()  # bring code and data back after the pause
    start = time.perf_counter()
    for _ in range(repeats):
        function()
    return (time.perf_counter() - start) / repeats


def alternate(functions: Mapping[str, Callable[[], object]], budget: float = 1.5, least: int = 7) -> dict[str, float]:
    """Median seconds a call for each function; ``budget`` seconds of samples altogether, at least ``least`` rounds."""
    repeats = {}
    for name, function in functions.items():
        for _ in range(3):
            function()
        repeats[name] = _repeats(function)
    samples: dict[str, list[float]] = {name: [] for name in functions}
    end = time.perf_counter() + budget
    while time.perf_counter() < end or min(map(len, samples.values())) < least:
        for name, function in functions.items():
            time.sleep(PAUSE_SECONDS)
            samples[name].append(_sample(function, repeats[name]))
    return {name: statistics.median(times) for name, times in samples.items()}
