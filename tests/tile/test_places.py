"""Messages point at the argument they name, wherever the call is broken into lines, and tell what the user wrote there."""

from __future__ import annotations

import ast

import pytest

from pypto.diagnostics import Span
from pypto.errors.tile_vectors import QuantOffsetMissing, VectorDtypesDiffer, VectorNotCovered
from pypto.errors.tiles import OrderRepeats
from pypto.ops.tile.places import pointed

TEXT = """\
def kernel():
    pl.add(total, übung, half)
    pl.add(
        total,
        rows[0:16, 0:64],
        rhs=half,
    )
    quant(small, a, scale, mode=pl.QuantMode.ASYM)
    pl.add(pl.add, b)
    pl.load(x, a, [0, 0], order=[1, 1])
"""
EXTENTS = {"rows": 1, "columns": 2, "needed_rows": 3, "needed_columns": 4}


def dtypes(name):
    return VectorDtypesDiffer(operation="add", first=name, first_dtype="fp16", second="out", second_dtype="fp32")


@pytest.fixture
def place(tmp_path):
    """The place of the call on a line of the text."""
    file = tmp_path / "kernel.py"
    file.write_text(TEXT, encoding="utf-8")
    calls = {node.lineno: node for node in ast.walk(ast.parse(TEXT)) if isinstance(node, ast.Call)}

    def of(line):
        node = calls[line]
        return Span(str(file), line, node.col_offset, node.end_lineno, node.end_col_offset, "kernel")

    return of


@pytest.mark.parametrize(
    ("line", "error", "at", "text"),
    [
        (2, dtypes("rhs"), 2, "half"),
        (2, dtypes("lhs"), 2, "übung"),
        (3, dtypes("rhs"), 6, "half"),
        (3, VectorNotCovered(operation="add", argument="lhs", **EXTENTS), 5, "rows[0:16, 0:64]"),
        (8, QuantOffsetMissing(operation="quant", argument="mode"), 8, "pl.QuantMode.ASYM"),
        (10, OrderRepeats(operation="load", order=[1, 1]), 10, "[1, 1]"),
    ],
)
def test_the_argument_that_a_message_names(place, line, error, at, text):
    found = pointed(error, place(line))
    assert (found.line, found.end_line) == (at, at)
    assert found.text.encode()[found.column : found.end_column].decode() == text


def test_help_lines_say_what_the_user_wrote(place):
    error = VectorNotCovered(operation="add", argument="lhs", **EXTENTS)
    assert "pl.set_validshape(lhs, [3, 4])" in str(error)
    pointed(error, place(3))
    assert "pl.set_validshape(rows[0:16, 0:64], [3, 4])" in str(error)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (9, dtypes("rhs")),  # that argument is not there
        (2, QuantOffsetMissing(operation="quant", argument="mode")),  # another operation
        (2, dtypes("nothing")),
    ],
)
def test_what_cannot_be_found_stays(place, line, error):
    assert pointed(error, place(line)) == place(line)


def test_without_a_text():
    assert pointed(dtypes("rhs"), None) is None
    unknown = Span("nowhere.py", 3, 4, 3, 20)
    assert pointed(dtypes("rhs"), unknown) == unknown
