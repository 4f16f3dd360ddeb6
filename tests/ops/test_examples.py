"""Every row's docstring holds an example, and it runs."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from pypto import ops
from pypto.dtypes import DataType
from pypto.enums import CastMode
from pypto.ops.table import OPERATIONS
from pypto.reference import evaluate


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_example(name: str) -> None:
    function = OPERATIONS[name].function
    names = {**ops.PUBLIC, **function.__globals__, "evaluate": evaluate, "np": np, "DataType": DataType, "CastMode": CastMode}
    tests = [t for t in doctest.DocTestFinder(recurse=False).find(function, name, globs=names) if t.examples]
    assert tests, f"{name} has no example"
    for test in tests:
        assert doctest.DocTestRunner().run(test).failed == 0
