"""What this very copy of the package is, for cache keys: its version and its files, so that an edited checkout counts as another."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import lru_cache

from pypto.version import __version__


@lru_cache(maxsize=1)
def identity() -> str:
    """Version of the package, size and time of each of its files, versions of Python and of what generates code."""
    import llvmlite
    import numpy

    total = hashlib.sha256(f"{__version__} {llvmlite.__version__} {numpy.__version__} {sys.version}".encode())
    for line in sorted(_files(os.path.dirname(os.path.abspath(__file__)))):
        total.update(line.encode())
    return total.hexdigest()


def _files(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            elif entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns}\n"
