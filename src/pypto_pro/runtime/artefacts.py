"""What a compilation leaves on disk: the generated pipeline, the core programs as text (tile API section 2.8).

``PYPTOPRO_BUILD_DIR`` names the folder; without it artefacts go below the cache directory of pypto (``PYPTO_CACHE_DIR``), so that the
folder one works in stays clean. ``PYPTO_CACHE=0`` turns them off unless the folder is named. Trouble with the disk is never an error.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from pypto.runtime.cache import default_directory

VARIABLE = "PYPTOPRO_BUILD_DIR"


def build_directory() -> Path | None:
    """Where artefacts go now; None when nowhere."""
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given)
    cache = default_directory()
    return None if cache is None else cache / "kernels"


def clean(text: str) -> str:
    """Only characters that every file system takes.

    >>> clean("my kernel/1")
    'my_kernel_1'
    """
    return re.sub(r"[^0-9A-Za-z_.-]", "_", text)


def kernel_directory(source_file: str, name: str, chip: str, keys: Mapping[str, str]) -> str:
    """``[<test stem>__]<name>__<chip>[__shape_<hash>]/[dt_<hash>/]tk_<key>``."""
    stem = Path(source_file).stem.removeprefix("test_")
    prefix = f"{clean(stem)}__" if stem and stem != name and not source_file.startswith("<") else ""
    shape = f"__shape_{digest(keys['shape'], 12)}" if keys.get("shape") else ""
    dtypes = f"dt_{digest(keys['dtypes'], 16)}/" if keys.get("dtypes") else ""
    return f"{prefix}{clean(name)}__{clean(Path(chip).stem)}{shape}/{dtypes}tk_{keys.get('key') or 'none'}"


def digest(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def write(folder: str, files: Mapping[str, str]) -> Path | None:
    """Writes the files; gives the folder, or None when it could not."""
    root = build_directory()
    if root is None:
        return None
    path = root / folder
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            temporary = path / f".{name}.{os.getpid()}"
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(path / name)
    except OSError:  # read-only, full, no home: the kernel runs all the same
        return None
    return path
