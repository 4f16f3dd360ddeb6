"""What a decorator remembers of the function it stands in."""

from __future__ import annotations

import sys
from typing import Any


def caller_locals(depth: int = 2) -> dict[str, Any]:
    """A copy of the local names of the frame ``depth`` calls up; empty at module level, where globals stay live."""
    frame = sys._getframe(depth)
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)
