"""Is the reference's distribution ``pypto`` installed too? Both provide the package ``pypto``; only one can be imported whole."""

from __future__ import annotations

import glob
import os
import sys
from dataclasses import dataclass

REFERENCE = "pypto"  # name of the reference's distribution; ours is openpypto


@dataclass(frozen=True)
class Reference:
    """The other distribution: its version and the folder it is installed in."""

    version: str
    folder: str

    @property
    def same_folder(self) -> bool:
        """Whether it shares our folder: then files of the one have overwritten files of the other."""
        return os.path.realpath(self.folder) == os.path.realpath(os.path.dirname(os.path.dirname(__file__)))

    def __str__(self) -> str:
        return f"pypto {self.version} in {self.folder}"


def reference_distribution() -> Reference | None:
    """The reference's distribution, or None.

    Folders are looked at by name first; ``importlib.metadata`` takes longer to import than all the rest of this package.
    """
    for folder in dict.fromkeys(sys.path):
        # Folder names keep the case and the dashes of their time: pypto-1.0.dist-info, pypto.egg-info
        if glob.glob(os.path.join(glob.escape(folder or "."), f"{REFERENCE}-*.dist-info")):
            return _described(folder or ".")
    return None


def _described(folder: str) -> Reference | None:
    from importlib.metadata import distributions

    for distribution in distributions(name=REFERENCE, path=[folder]):
        return Reference(distribution.version, folder)
    return None


def warn_about_reference() -> None:
    """Warn once, at import, naming the other distribution and what to do."""
    found = reference_distribution()
    if found is None:
        return
    from pypto.diagnostics import warn

    effect = "their files are mixed in one folder" if found.same_folder else "this process uses openpypto"
    warn(
        f"the reference distribution {found} is installed beside openpypto; both provide the package 'pypto' and {effect}",
        help="keep one of them per environment: pip uninstall pypto && pip install --force-reinstall --no-deps openpypto",
    )
