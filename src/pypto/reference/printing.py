"""The line that ``pypto.print`` gives: text parts with scalars and valid regions of tensors between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from pypto import options
from pypto.reference.memory import Held


def line(texts: Sequence[str], things: Sequence[Any]) -> str:
    """Text and operands alternate, text first.

    >>> line(["x = ", ""], [np.float32(1.5)])
    'x = 1.5'
    """
    return "".join(str(text) + shown(thing) for text, thing in zip_longest(texts, [*things, _NOTHING], fillvalue=""))


_NOTHING = ""


def shown(thing: Any) -> str:
    if isinstance(thing, Held):
        thing = thing.region
    if isinstance(thing, np.ndarray) and thing.dtype.kind == "V":  # bf16 and fp8 print as the numbers they are
        thing = thing.astype(np.float32)
    if not isinstance(thing, np.ndarray) or not thing.ndim:
        return str(thing)
    edge, digits, threshold, width = (
        options.current().get(f"global.tensor_print.{name}") for name in ("edgeitems", "precision", "threshold", "linewidth")
    )
    return np.array2string(thing, edgeitems=edge, precision=digits, threshold=threshold, max_line_width=width)
