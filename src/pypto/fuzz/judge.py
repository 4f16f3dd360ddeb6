"""Runs one case on every engine and says what happened."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pypto.errors.base import InternalError, PyptoError, UserError
from pypto.fuzz import cases
from pypto.fuzz.engines import ENGINES, on_engine

FINE = ("right", "catalogue", "own")

# Bounds for agreement of engines by element size: generous, the op tests are strict and wrong results usually wrong altogether.
RELATIVE = {2: 2e-2, 4: 1e-4, 8: 1e-6}


@dataclass(frozen=True)
class Verdict:
    """``what`` is one of ``FINE`` or names a finding; ``detail`` is the text that goes with it."""

    what: str
    detail: str = ""

    @property
    def fine(self) -> bool:
        return self.what in FINE

    @property
    def label(self) -> str:
        """What must stay the same while a source shrinks, and what makes two findings one: the place in this package, or the text."""
        places = [
            line for line in self.detail.splitlines() if line.startswith("  File ") and "/pypto/" in line and "/fuzz/" not in line
        ]
        first = self.detail.splitlines()[0] if self.detail else ""
        return f"{self.what}: {places[-1].strip() if places else re.sub(r'[0-9]+', '#', first)[:60]}"


def attempt(case: cases.Case, engine: str, folder: str | Path) -> tuple[Any, BaseException | None]:
    """What ``attempt()`` returned or raised on ``engine``."""
    with warnings.catch_warnings(), on_engine(engine), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return cases.load(case.source, folder).attempt(), None
        except Exception as error:  # everything is judged
            return None, error


def plain(case: cases.Case) -> tuple[Any, BaseException | None]:
    """The same in plain Python, for comparison of results or of exception types."""
    try:
        with np.errstate(all="ignore"):
            return cases.run_plain(case.source), None
    except Exception as error:
        return None, error


def _numbers(value: Any) -> np.ndarray:
    array = np.asarray(value)
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def difference(expected: Any, got: Any, exact: bool, half: bool = False) -> str:
    """Empty when the two agree, else what differs first. ``half``: values went through half-width floats on their way."""
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        found = (f"[{k}]{d}" for k, (a, b) in enumerate(zip(expected, got, strict=True)) if (d := difference(a, b, exact, half)))
        return next(found, "")
    a, b = _numbers(expected), _numbers(got)
    if a.shape != b.shape:
        return f": shape {a.shape} against {b.shape}"
    size = 2 if half else np.asarray(expected).dtype.itemsize
    relative = 0.0 if exact or a.dtype.kind in "iub" else RELATIVE.get(size, 0.1)
    with np.errstate(all="ignore"):
        scale = np.nanmax(np.abs(np.where(np.isfinite(a), a, 0)), initial=0.0)
        same = (
            (a == b) | (np.isnan(a) & np.isnan(b))
            if relative == 0
            else np.isclose(a, b, relative, relative * scale, equal_nan=True)
        )
    if same.all():
        return ""
    where = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{list(where)}: {a[where]} against {b[where]}"


# Lines of the front end that do what the user's text says, on the user's values: an exception there is the user's own, unless the
# text names a class of this package.
_USERS = re.compile(
    r"\(left, right\)|(function|python)\(\*arguments|range\(\*bounds|raise error|container\[key\]|[gs]etattr\(|\(operand\)"
    r"|element in container|return [-+~]value|return iter\(thing\)|raise AssertionError\("
)
_OURS = re.compile(r"SymbolicScalar|'Tensor'|DataType|pypto")


def of_users_values(error: BaseException) -> bool:
    """Whether ``error`` came from doing what the user's text says with plain Python values."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or _OURS.search(str(error)):
        return False
    last = frames[-1]
    return "pypto_fuzz_" in last.filename or ("/frontend/" in last.filename and bool(_USERS.search(last.line or "")))


def blame(case: cases.Case, error: BaseException) -> Verdict:
    """Whose exception this is."""
    trace = "".join(traceback.format_exception(error)[-6:])
    if isinstance(error, InternalError):
        return Verdict("internal error", f"{error}\n{trace}")
    if isinstance(error, UserError):
        unplaced = case.located and error.span is None
        return Verdict("no place", str(error)) if unplaced else Verdict("catalogue", type(error).__name__)
    if isinstance(error, PyptoError):
        return Verdict("not in the catalogue", f"{type(error).__name__}: {error}\n{trace}")
    if isinstance(error, SyntaxError) and error.filename and "pypto_fuzz_" in str(error.filename):
        return Verdict("own", "SyntaxError")
    if of_users_values(error) or type(plain(case)[1]) is type(error):
        return Verdict("own", type(error).__name__)
    return Verdict("foreign exception", f"{type(error).__name__}: {error}\n{trace}")


def judge(case: cases.Case, folder: str | Path) -> Verdict:
    """Run ``case`` on every engine."""
    outcomes = {engine: attempt(case, engine, folder) for engine in ENGINES}
    for _, error in outcomes.values():
        if error is not None and not (verdict := blame(case, error)).fine:
            return verdict
    raised = {engine: type(error).__name__ for engine, (_, error) in outcomes.items() if error is not None}
    if len(raised) == 1 or len(set(raised.values())) > 1:
        return Verdict("engines differ", f"only some raise: {raised}")
    (first, error), (second, _) = outcomes.values()
    if error is not None:
        return Verdict("refused a valid program", str(error)) if case.valid else blame(case, error)
    if text := difference(first, second, case.exact, half="F16" in case.source or "FP16" in case.source):
        return Verdict("engines differ", f"{' and '.join(ENGINES)}: {text}")
    if case.exact and (text := difference(plain(case)[0], second, True)):
        return Verdict("wrong result", f"plain Python and {ENGINES[1]}: {text}")
    return Verdict("right")


SIMPLE = """
import numpy as np
import pypto


@pypto.frontend.jit
def simple(x: pypto.Tensor([4, 8], pypto.DT_FP32), out: pypto.Tensor([4, 8], pypto.DT_FP32)):
    for i in pypto.loop(4):
        out[i : i + 1, :] = x[i : i + 1, :] * 2.0 + {number}.0


def attempt():
    x, out = np.arange(32, dtype=np.float32).reshape(4, 8), np.zeros((4, 8), np.float32)
    simple(x, out)
    return bool((out == x * 2 + {number}).all())
"""


def process_is_sound(folder: str | Path, number: int = 1) -> Verdict:
    """Whether a simple kernel still compiles and runs right."""
    for engine in ENGINES:
        good, error = attempt(cases.Case("simple", SIMPLE.format(number=number)), engine, folder)
        if error is not None or not good:
            return Verdict("process damaged", f"{engine}: {error!r}" if error else f"{engine}: wrong result")
    return Verdict("right")
