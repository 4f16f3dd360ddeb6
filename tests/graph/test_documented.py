"""Every pass file opens with a program before and after; here they are run."""

import importlib
import inspect
import textwrap

import pytest

from pypto.ir.parse import parse_program
from pypto.ir.rules import verify
from pypto.ir.text import program_text

PASSES = {
    "simplify": "simplify",
    "unused": "remove_unused",
    "valid": "valid",
    "definedness": "definedness",
    "storage": "storage",
    "dependence": "dependence",
}


def example(doc, title):
    """The indented block after ``title::``."""
    lines = doc.splitlines()
    start = lines.index(f"{title}::") + 2
    block = []
    for line in lines[start:]:
        if line and not line.startswith("    "):
            break
        block.append(line)
    return textwrap.dedent("\n".join(block)).strip() + "\n"


@pytest.mark.parametrize("module, function", PASSES.items())
def test_the_example_in_the_file(module, function):
    room = importlib.import_module(f"pypto.graph.{module}")
    doc = inspect.getdoc(room)
    before, after = example(doc, "Before"), example(doc, "After")
    program = verify(parse_program(before))
    assert program_text(program) == before
    assert program_text(verify(getattr(room, function)(program))) == after
    assert "Not handled" in doc and "In: " in doc and "Out: " in doc
