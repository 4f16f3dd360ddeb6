"""``pl.system``: synchronisation and cache operations, by name from the table of operations (tile API sections 3.15 and 4)."""

from __future__ import annotations

from typing import Any

from pypto_pro.errors.language import UnknownLanguageName
from pypto_pro.language.declarations import operation_declaration

NAMES = (  # noqa: SIM905
    "sync_src sync_dst bar_m bar_mte1 bar_mte2 bar_mte3 bar_fix bar_all mutex_lock mutex_unlock"
    " set_cross_core wait_cross_core sync_all dcci set_mm_layout_transform"
).split()


def __getattr__(name: str) -> Any:
    found = None if name.startswith("__") else operation_declaration(name, "system.")
    if found is None or name not in NAMES:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownLanguageName(name=f"system.{name}", nearest="")
    return found


def __dir__() -> list[str]:
    return list(NAMES)
