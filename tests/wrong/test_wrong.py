"""One failing program per message of the catalogue, with its exact rendering.

``programs/<Class>.py`` (``<Class>.<family>.py`` where two families share a name) must raise that class;
``expected/<Class>.txt`` is what it prints, with the program's path replaced. ``--renew-golden`` rewrites the expected texts.
"""

import importlib
import pickle
import pkgutil
import re
import runpy
import warnings
from pathlib import Path

import pytest

import pypto.errors
from blackbox import python
from pypto.errors.base import UserError

HERE = Path(__file__).parent
PROGRAMS = sorted(program for room in ("programs", "pipeline", "tile", "simulator") for program in (HERE / room).glob("*.py"))

# Classes that no program reaches, and why.
UNREACHED = {
    "EnginesDiffer": "only a defect of an engine raises it; tests/runtime covers it",
    "SyntaxMistake": "base of the syntax errors, never raised itself",
    "PipelineMistake": "base of what the pipeline refuses, never raised itself",
    "CarriedExtentChanges": "the valid shape of a carried tensor may change; a guard of the passes",
    "EndlessLoop": "takes millions of turns; tests/sim covers it",
    "KernelNotFound": "no command looks kernels up by name yet",
    "ContainerChanged": "changes of containers are carried; a guard for containers that cannot be",
    "PhaseInvalid": "the front end refuses members of other enumerations first; tests/tile covers the check itself",
    "FormatNotText": "the front end refuses formats that are no literals first; tests/tile covers the check itself",
    "TorchMissing": "needs an environment without torch",
}


def catalogue():
    """Every class of the catalogue by ``Name`` or, where two families share a name, ``Name.family``."""
    modules = [importlib.import_module(f"pypto.errors.{m.name}") for m in pkgutil.iter_modules(pypto.errors.__path__)]
    classes = [
        c
        for m in modules
        for c in vars(m).values()
        if isinstance(c, type) and issubclass(c, UserError) and c.__module__ == m.__name__
    ]
    names = [c.__name__ for c in classes]
    return {
        c.__name__ if names.count(c.__name__) == 1 else f"{c.__name__}.{c.__module__.rsplit('.', 1)[1]}": c
        for c in classes
        if c is not UserError
    }


# Programs that change the process (stand-ins, the path) or depend on what it did before: they run in one of their own.
ALONE = {
    "NoFunctionRecorded",
    "NoStandIn",
    "CannotImitate",
    "ScriptNotFound",
    "ModuleNotFound",
    "KernelNotCalled",
}
CHILD = """
import pickle, runpy, sys
from pypto.errors.base import UserError
try:
    runpy.run_path(sys.argv[1])
except UserError as error:
    sys.stdout.buffer.write(pickle.dumps(error))
"""


def raised(program):
    """The catalogue error that the program raises."""
    if program.stem in ALONE:
        return pickle.loads(python("-c", CHILD, program, text=False).stdout)
    with warnings.catch_warnings(), pytest.raises(UserError) as caught:
        warnings.simplefilter("ignore")
        runpy.run_path(str(program))
    return caught.value


def class_of(error):
    """The class of the catalogue: of the check that refused the call, where the front end of tiles wrapped it."""
    wraps = type(error).__name__ == "CheckFailed" and error.__cause__ is not None
    return type(error.__cause__) if wraps else type(error)


def rendering(program):
    """The error and its text without machine paths and addresses."""
    error = raised(program)
    text = str(error).replace(str(program), f"{program.parent.name}/{program.name}").replace(str(HERE), "")
    if program.stem == "RecursionWithoutEnd":  # the stack may end at any part of the line
        text = re.sub(r"\|\s+\^+", "| ^", text)
    return error, re.sub(r"0x[0-9a-f]{6,}", "0x…", text) + "\n"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_the_message_is_as_expected(program, request):
    error, text = rendering(program)
    assert class_of(error) is catalogue()[program.stem], f"raised {class_of(error).__name__}:\n{text}"
    expected = HERE / "expected" / f"{program.stem}.txt"
    if request.config.getoption("--renew-golden", False):
        expected.write_text(text)
    assert expected.exists(), f"no expected text, run with --renew-golden:\n{text}"
    assert text == expected.read_text()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_the_message_points_into_the_program(program):
    error, text = rendering(program)
    if "kernel(" in program.read_text().split("def kernel", 1)[-1].split("\n\n", 1)[0]:
        assert error.span is not None, text
    assert text.startswith("ErrCode: ") and "{" not in text.split("\n", 1)[0].replace("{'", ""), text


def test_every_class_has_a_program():
    present = {program.stem for program in PROGRAMS}
    assert not sorted(set(catalogue()) - present - set(UNREACHED))
    assert not sorted(present - set(catalogue())), "programs of classes that do not exist"


def test_the_interpreter_prints_the_message(tmp_path):
    """An uncaught catalogue error ends a script with its picture."""
    done = python(HERE / "programs" / "UnboundName.py")
    assert done.returncode == 1
    assert "out[:] = x + offset" in done.stderr and "^" in done.stderr and "name 'offset' is not defined" in done.stderr
