"""Golden text: ``golden(name, text)`` compares with ``tests/golden/<name>.txt``; ``pytest --renew-golden`` writes it anew."""

import atexit
import difflib
import os
import shutil
import tempfile
from pathlib import Path

import pytest

if "PYPTO_CACHE_DIR" not in os.environ:  # the user's own cache stays as it is
    os.environ["PYPTO_CACHE_DIR"] = tempfile.mkdtemp(prefix="pypto_tests_")
    atexit.register(shutil.rmtree, os.environ["PYPTO_CACHE_DIR"], ignore_errors=True)

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--renew-golden", action="store_true", help="write the golden files anew instead of comparing with them")


@pytest.fixture
def golden(request):
    def compare(name, text):
        file = GOLDEN / f"{name}.txt"
        if request.config.getoption("--renew-golden"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            return
        expected = file.read_text() if file.exists() else ""
        difference = "\n".join(difflib.unified_diff(expected.splitlines(), text.splitlines(), str(file), "now", lineterm=""))
        assert text == expected, f"golden text differs (pytest --renew-golden accepts it):\n{difference}"

    return compare
