"""All passes together: golden text, and random programs under an engine that takes the passes at their word."""

import random

import numpy as np
import pytest
from adversary import run_adversary
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import SIZES, outcome, random_program, run

import handmade
from pypto.compiler import compile_program
from pypto.errors.base import UserError
from pypto.graph import PASSES, dependence, storage
from pypto.ir.parse import parse_program
from pypto.ir.rules import verify
from pypto.ir.text import program_text

seeds = st.integers(0, 10**6)
some = settings(max_examples=40, deadline=None, derandomize=True)


def passed(program):
    for _, function in PASSES:
        program = verify(function(program))
    return program


@pytest.mark.parametrize("make", handmade.PROGRAMS, ids=[p.__name__ for p in handmade.PROGRAMS])
def test_text_after_all_passes(make, golden):
    text = program_text(passed(make()))
    golden(f"passed_{make.__name__}", text)
    assert program_text(parse_program(text)) == text


@given(seeds)
@some
def test_passed_programs_do_the_same(seed):
    program = random_program(random.Random(seed))
    better = passed(program)
    for n in SIZES:
        for before, after in zip(run(program, n, n - 2), run(better, n, n - 2, run_adversary), strict=True):
            np.testing.assert_array_equal(before, after)


@given(seeds)
@some
def test_checks_stop_only_what_is_wrong(seed):
    """A program that reads partly filled memory: when it stops after the passes, it stopped before."""
    program = random_program(random.Random(seed), partial=True)
    try:
        better = passed(program)
    except UserError:  # certainly wrong wherever it is executed
        return
    for n in SIZES:
        before, after = outcome(program, n, n - 2), outcome(better, n, n - 2, run_adversary)
        if isinstance(after, type):
            assert before is after
        elif not isinstance(before, type):
            for x, y in zip(before, after, strict=True):
                np.testing.assert_array_equal(x, y)


class _Host:
    """An array as the engines want it."""

    def __init__(self, array):
        self.array, self.shape, self.address = array, array.shape, array.ctypes.data


@given(seeds)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_the_native_engine_agrees(seed):
    """The whole way: what the CPU engine makes of lazy loads, settled regions and independent loops."""
    program = random_program(random.Random(seed))
    executable = compile_program(program, "cpu")

    def native(_, arrays, scalars):
        executable.run([_Host(a) for a in arrays.values()], list(scalars.values()))

    for n in SIZES:
        for expected, got in zip(run(program, n, n - 2), run(program, n, n - 2, native), strict=True):
            np.testing.assert_array_equal(expected, got)


def _fails_somewhere(monkeypatch_target, name, replacement, monkeypatch):
    monkeypatch.setattr(monkeypatch_target, name, replacement)
    for seed in range(60):
        program = random_program(random.Random(seed))
        better = passed(program)
        for n in (2, 5):
            if any(not np.array_equal(x, y) for x, y in zip(run(program, n, n - 2), run(better, n, n - 2, run_adversary))):
                return True
    return False


def test_the_adversary_notices_loads_that_should_have_been_copies(monkeypatch):
    assert _fails_somewhere(storage._Plan, "conflicts", lambda self, load: (), monkeypatch)


def test_the_adversary_notices_loops_that_are_not_independent(monkeypatch):
    assert _fails_somewhere(dependence._Marker, "independent", lambda self, loop: not loop.carried, monkeypatch)
