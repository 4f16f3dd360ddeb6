"""The smallest source that still shows a finding: lines and blocks are dropped as long as the verdict stays."""

from __future__ import annotations

import time
from collections.abc import Callable


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _block_end(lines: list[str], start: int) -> int:
    """End of the statement at ``start`` with everything indented below it."""
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > _indent(lines[start])):
        end += 1
    return end


def _candidates(lines: list[str]) -> list[list[str]]:
    """Sources with one statement less, larger pieces first; and with a block's body in place of the block."""
    found: list[tuple[int, list[str]]] = []
    for start, line in enumerate(lines):
        if not line.strip() or line.startswith(("import", "def attempt", "@")):
            continue
        end = _block_end(lines, start)
        found.append((end - start, lines[:start] + lines[end:]))
        if end > start + 1 and line.rstrip().endswith(":"):
            body = [inner[4:] if inner.strip() else inner for inner in lines[start + 1 : end]]
            found.append((1, lines[:start] + body + lines[end:]))
    return [smaller for _, smaller in sorted(found, key=lambda pair: -pair[0])]


def shrink(source: str, still: Callable[[str], bool], seconds: float = 20.0) -> str:
    """The smallest source found within ``seconds`` for which ``still`` holds.

    >>> print(shrink("a = 1\\nb = 2\\nc = 3\\n", lambda s: "b" in s))
    b = 2
    """
    deadline, lines = time.monotonic() + seconds, source.splitlines()
    shrinking = True
    while shrinking and time.monotonic() < deadline:
        shrinking = False
        for smaller in _candidates(lines):
            if time.monotonic() > deadline:
                break
            if still("\n".join(smaller) + "\n"):
                lines, shrinking = smaller, True
                break
    return "\n".join(lines)
