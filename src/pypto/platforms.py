"""``pypto.platform``: which chip the limits and warnings speak of (tensor API section 1.4)."""

from __future__ import annotations

from pypto.options import current, update

ARCHITECTURES = ("DAV_2201", "DAV_3510", "DAV_1001", "DAV_3003", "DAV_3113")


class Platform:
    """One property, ``npuarch``; an unknown name selects ``DAV_2201``. Scoped like every option.

    >>> platform.npuarch
    'DAV_2201'
    """

    @property
    def npuarch(self) -> str:
        return str(current().get("npu_architecture"))

    @npuarch.setter
    def npuarch(self, name: str) -> None:
        update({"npu_architecture": name if name in ARCHITECTURES else ARCHITECTURES[0]})

    def __repr__(self) -> str:
        return f"Platform(npuarch={self.npuarch!r})"


platform = Platform()
