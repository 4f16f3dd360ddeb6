"""``pypto.experimental`` (tensor API section 9.16): the options of operations. Its operations come later."""

from __future__ import annotations

from typing import Any

from pypto.config import family_setter, read_family

PLANNED = (
    "gather_in_l1",
    "gather_in_ub",
    "transposed_batchmatmul",
    "online_softmax",
    "online_softmax_update",
    "nop",
    "shmem_load",
    "shmem_store",
)


@family_setter("operation")
def set_operation_options(*, combine_axis: bool | None = None) -> None:
    """Set how operations are expanded for the NPU model; without effect on the CPU."""


def get_operation_options() -> dict[str, Any]:
    """The options that ``set_operation_options`` sets."""
    return read_family("operation")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    from pypto.errors.options import no_such_name

    raise no_such_name(f"experimental.{name}", [f"experimental.{planned}" for planned in PLANNED])
