"""Writes what follows from tables: the pages of options, errors and coverage, the stub. Run it after changing a table."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

if __name__ == "__main__":
    from pypto.pages import PAGES

    for name, write in PAGES.items():
        (ROOT / name).write_text(write(), encoding="utf-8")
        print(name)
