"""What the black-box tests share: the engine fixture, kernels from source text, a readable error."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest

from pypto.errors.base import UserError
from pypto.fuzz.engines import ENGINES, on_engine

ROOT = Path(__file__).resolve().parents[1]
_numbers = itertools.count()


@pytest.fixture(params=ENGINES)
def engine(request):
    """Runs the test once per engine, with every kernel called in it on that engine."""
    with on_engine(request.param):
        yield request.param


def define(tmp_path, source, name="kernel"):
    """The object ``name`` of a module written to a file and imported. ``pypto``, ``np`` and the types are imported for it."""
    import importlib.util

    file = Path(tmp_path) / f"defined_{next(_numbers)}.py"
    file.write_text("import numpy as np\nimport pypto\nfrom pypto import *\n\n\n" + textwrap.dedent(source).strip("\n") + "\n")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


@contextlib.contextmanager
def mistake(*fragments, kind=UserError, at=None):
    """The block must raise a catalogue error whose text holds every fragment; ``at`` is text of the line its caret shows."""
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    text = str(error)
    assert isinstance(error, UserError), f"not from the catalogue: {type(error).__mro__}"
    for fragment in fragments:
        assert fragment.lower() in text.lower(), f"{fragment!r} is not in:\n{text}"
    if at is not None:
        assert error.span is not None, f"no place in:\n{text}"
        assert at in error.span.text, f"the caret is on {error.span.text!r}, not on {at!r}:\n{text}"


@contextlib.contextmanager
def quiet():
    """Ignore warnings of the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def integers(*shape, low=-8, high=9, seed=0):
    """Small integers in fp32: sums and products of them are exact."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(np.float32)


def nans(*shape):
    """An fp32 output nobody wrote yet."""
    return np.full(shape, np.nan, np.float32)


def python(*arguments, timeout=120, stdin=None, cwd=None, text=True, **environment):
    """Run a child interpreter on this checkout; returns the finished process with its output."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **{k: str(v) for k, v in environment.items()}}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=text,
        timeout=timeout,
        input=stdin,
        cwd=cwd,
        env=variables,
    )
