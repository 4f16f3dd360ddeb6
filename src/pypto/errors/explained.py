"""Reads ``explained.md``: the classic mistakes at length, each with a wrong and a right program."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROGRAM_HEAD = "import numpy as np\nimport pypto\n\nFP32 = pypto.DT_FP32\n\n\n"


@dataclass(frozen=True)
class Explanation:
    """``classes``: names of catalogue classes; ``related``: codes that the reference uses for the same mistake."""

    classes: tuple[str, ...]
    related: tuple[str, ...]
    text: str
    wrong: str
    right: str

    def program(self, which: str) -> str:
        """The whole program, ready to run: ``which`` is "wrong" or "right"."""
        return PROGRAM_HEAD + getattr(self, which)


_SECTION = re.compile(
    r"^## (?P<classes>[^\n]*)\n(?:Elsewhere: (?P<related>[^\n]*)\n)?\n(?P<text>.*?)\n\n"
    r"```python wrong\n(?P<wrong>.*?)```\n\n```python right\n(?P<right>.*?)```$",
    re.MULTILINE | re.DOTALL,
)
_ELSEWHERE = re.compile(r"^- (?P<code>F[0-9A-F]+): (?P<text>.*)$", re.MULTILINE)


@cache
def _page() -> str:
    return Path(__file__).with_suffix(".md").read_text(encoding="utf-8")


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


@cache
def explanations() -> tuple[Explanation, ...]:
    """All sections of the page, in its order."""
    return tuple(
        Explanation(_names(m["classes"]), _names(m["related"]), m["text"], m["wrong"], m["right"])
        for m in _SECTION.finditer(_page())
    )


@cache
def elsewhere() -> dict[str, str]:
    """Codes of the reference for which there is no error here, and why: people search for what they saw elsewhere."""
    return {m["code"]: m["text"] for m in _ELSEWHERE.finditer(_page())}
