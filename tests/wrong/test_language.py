"""One failing program per message of the tile front end, with its exact rendering.

``language/<family>.py`` holds the programs of one module of ``pypto_pro.errors``: each function has the name of the class it must raise (or
``Class__variant``). A function with annotated tensors is compiled as a kernel, any other is called. ``language/expected/<family>.txt``
is what they print; ``--renew-golden`` rewrites it.
"""

import importlib.util
import inspect
import pkgutil
import re
import sys
import warnings
from pathlib import Path

import pytest

import pypto_pro.errors
import pypto_pro.language as pl
from pypto.errors.base import UserError
from pypto_pro.errors import base
from pypto_pro.runtime.kernel import TileKernel

HERE = Path(__file__).parent / "language"
FAMILIES = sorted(HERE.glob("*.py"))

# Classes that no program reaches, and why.
UNREACHED = {
    "TileValueError": "base, never raised itself",
    "LaunchTypeError": "base, never raised itself",
    "LaunchValueError": "base, never raised itself",
    "TilingTypeError": "base, never raised itself",
    "TilingValueError": "base, never raised itself",
    "JumpOutsideLoop": "Python refuses the text itself; a guard for generated trees",
    "CheckFailed": "what the checks of operations refuse: tests/wrong/tile",
}


def classes():
    """Every class of the tile front end by name."""
    found = {}
    for one in pkgutil.iter_modules(pypto_pro.errors.__path__):
        module = importlib.import_module(f"pypto_pro.errors.{one.name}")
        for cls in vars(module).values():
            if isinstance(cls, type) and issubclass(cls, UserError) and cls.__module__ == module.__name__ and module is not base:
                found[cls.__name__] = cls
    return found


def load(file):
    spec = importlib.util.spec_from_file_location(f"wrong_language_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of some of the mistakes itself
        spec.loader.exec_module(module)
    return module


def programs(module):
    """The functions of a family, in the order of the file."""
    found = [
        (name, value)
        for name, value in vars(module).items()
        if name[0].isupper() and (inspect.isfunction(value) or isinstance(value, TileKernel))
    ]
    return [(name, value) for name, value in found if getattr(value, "__module__", module.__name__) == module.__name__]


def raised(name, value):
    """The error of a program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if not isinstance(value, TileKernel):
                value = pl.jit(value)
            value.compile() if isinstance(value, TileKernel) else value()
        except UserError as error:
            return error
    raise AssertionError(f"{name} raised nothing")


def rendering(error):
    text = str(error).replace(str(HERE), "language")
    return re.sub(r"0x[0-9a-f]{6,}", "0x…", text)


@pytest.mark.parametrize("file", FAMILIES, ids=lambda file: file.stem)
def test_messages_are_as_expected(file, request, monkeypatch):
    parts = []
    known = classes()
    for name, value in programs(load(file)):
        error = raised(name, value)
        wanted = known[name.partition("__")[0]]
        assert type(error) is wanted, f"{name} raised {type(error).__name__}:\n{error}"
        parts.append(f"== {name}\n{rendering(error)}\n")
    text = "\n".join(parts)
    expected = HERE / "expected" / f"{file.stem}.txt"
    if request.config.getoption("--renew-golden", False):
        expected.write_text(text)
    assert expected.exists(), f"no expected text, run with --renew-golden:\n{text}"
    assert text == expected.read_text()


@pytest.mark.parametrize("file", FAMILIES, ids=lambda file: file.stem)
def test_kernel_mistakes_have_a_place(file):
    for name, value in programs(load(file)):
        error = raised(name, value)
        if isinstance(error, base.ParserError) and isinstance(value, TileKernel):
            assert error.span is not None and error.span.line > 0, f"{name}: {error}"
            assert str(error).startswith("ErrCode: F0"), name


def test_every_class_has_a_program():
    present = {name.partition("__")[0] for file in FAMILIES for name, _ in programs(load(file))}
    missing = sorted(set(classes()) - present - set(UNREACHED))
    assert not missing, missing
    assert not sorted(set(UNREACHED) & present)
