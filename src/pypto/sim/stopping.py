"""Where ``breakpoint()`` of a kernel stops when nobody observes: in the debugger, with the kernel's names at hand."""

from __future__ import annotations

from typing import Any

from pypto.sim.calls import Call


def stop_here(call: Call, names: dict[str, Any]) -> None:
    """``names`` are the variables of the scalar unit: numbers, tiles (``tile.read()`` is an array), groups, tensors, structs."""
    where = f"kernel stopped at {call.line}\n  {call.where}"
    print(where)
    breakpoint()
