"""Which chip a kernel is compiled for: the ``arch`` of the decorator, the environment, else the 950 (rulings, tile level)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pypto.chips import chip
from pypto.chips.model import Chip
from pypto.errors.base import UserError
from pypto_pro.errors.launching import UnsupportedArch
from pypto_pro.runtime.simulation import settings

DEFAULT = "950"
VARIABLE = "PYPTOPRO_JIT_ARCH"


def check_arch(arch: Any) -> Any:
    """``arch`` as it was given; raises ``ValueError`` for a name that is no chip."""
    if arch is not None and arch != "auto":
        chip_of(arch)
    return arch


def chip_of(arch: Any) -> Chip:
    """The chip of a name, alias or chip file."""
    try:
        return chip(arch)
    except UserError as error:
        if str(arch).endswith(".toml"):
            raise
        raise UnsupportedArch(got=arch) from error


def target(arch: Any) -> tuple[str, Chip]:
    """Name (or path of the chip file) and facts of the chip that a launch now is for."""
    wanted = settings().chip
    if wanted is None:
        wanted = arch if arch not in (None, "auto") else os.environ.get(VARIABLE) or DEFAULT
    found = wanted if isinstance(wanted, Chip) else chip_of(wanted)
    own_file = str(wanted).endswith(".toml")
    return (str(Path(str(wanted)).resolve()) if own_file else found.name), found
