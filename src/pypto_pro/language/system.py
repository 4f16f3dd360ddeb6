"""``pl.system``: synchronisation and cache operations, by name from the table of operations (tile API sections 3.15 and 4)."""

from __future__ import annotations

from typing import Any

from pypto_pro.language.declarations import member

NAMES = (  # noqa: SIM905
    "sync_src sync_dst bar_m bar_mte1 bar_mte2 bar_mte3 bar_fix bar_all mutex_lock mutex_unlock"
    " set_cross_core wait_cross_core sync_all dcci set_mm_layout_transform"
).split()


def __getattr__(name: str) -> Any:
    return member("system", NAMES, name)


def __dir__() -> list[str]:
    return list(NAMES)
