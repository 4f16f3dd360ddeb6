"""Try an operation on arrays, outside any kernel. For examples and tests.

>>> import pypto
>>> evaluate(pypto.add, [1.0, 2.0], 1.0).tolist()
[2.0, 3.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pypto.dtypes import BY_NUMPY
from pypto.ir.program import TensorType, Value
from pypto.ops.direct import DirectRecorder, recording
from pypto.reference.engine import run


def evaluate(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """The result of an op function on arrays (a list for several results).

    numpy arrays, and lists that start with a float (they become FP32), are tensors; everything else is passed on as it is.
    """
    recorder = DirectRecorder("evaluate")
    arrays: dict[Any, np.ndarray] = {}
    with recording(recorder):
        handles = [_handle(recorder, a, arrays) for a in arguments]
        named = {key: _handle(recorder, a, arrays) for key, a in keywords.items()}
        results = function(*handles, **named)
        several = isinstance(results, (list, tuple))
        for value in results if several else [results]:
            _output(recorder, value, arrays)
    count = len(results) if several else 1
    run(recorder.builder.finish(), arrays)
    found = list(arrays.values())[-count:]
    return found if several else found[0]


def _starts_with_float(thing: Any) -> bool:
    while isinstance(thing, list) and thing:
        thing = thing[0]
    return isinstance(thing, float)


def _handle(recorder: DirectRecorder, thing: Any, arrays: dict[Any, np.ndarray]) -> Any:
    if isinstance(thing, list) and _starts_with_float(thing):
        thing = np.array(thing, np.float32)
    if not isinstance(thing, np.ndarray):
        return thing
    type = TensorType(BY_NUMPY[thing.dtype], tuple(int(s) for s in thing.shape))
    storage = recorder.builder.parameter(f"input{len(arrays)}", type)
    arrays[storage] = thing
    return recorder.builder.load(storage)


def _output(recorder: DirectRecorder, value: Value, arrays: dict[Any, np.ndarray]) -> None:
    shape = tuple(int(e) for e in value.type.valid)  # type: ignore[arg-type]
    storage = recorder.builder.parameter(f"output{len(arrays)}", TensorType(value.type.dtype, shape))
    arrays[storage] = np.zeros(shape, value.type.dtype.numpy)
    recorder.builder.store(storage, value)
