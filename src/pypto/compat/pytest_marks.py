"""A pytest plugin for test files written for hardware: the marker ``soc`` is known and selects the chip of its test.

``pypto run -m pytest`` loads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

ARCHITECTURES = {"950": "DAV_3510", "910": "DAV_2201"}  # marker argument (first digits) -> pypto.platform.npuarch


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "soc(*names): chips that the test is written for; the first one known here is simulated")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    """The test runs as if on the chip that its marker names."""
    from pypto.platforms import platform

    before = platform.npuarch
    found = _architecture(item)
    if found is not None:
        platform.npuarch = found
    yield
    platform.npuarch = before


def _architecture(item: Any) -> str | None:
    marker = item.get_closest_marker("soc")
    for name in marker.args if marker is not None else ():
        for digits, architecture in ARCHITECTURES.items():
            if digits in str(name):
                return architecture
    return None
