"""Reads a chip file (TOML)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pypto.errors.simulation import ChipFileSyntax

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read(path: Path) -> dict[str, Any]:
    """Tables of the file. Raises ``ChipFileSyntax``."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ChipFileSyntax(path=path, reason=str(error)) from None
