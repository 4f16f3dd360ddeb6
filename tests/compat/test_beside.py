"""A reference distribution beside ours is detected and named."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def importing(tmp_path, *code):
    return subprocess.run(
        [sys.executable, "-c", "; ".join(code)],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_it_is_named_once_with_its_version(tmp_path):
    folder = tmp_path / "pypto-9.8.7.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pypto\nVersion: 9.8.7\n")
    done = importing(
        tmp_path, "import pypto", "from pypto.beside import reference_distribution", "print(reference_distribution())"
    )
    assert done.stdout.strip() == f"pypto 9.8.7 in {tmp_path}"
    assert done.stderr.count("the reference distribution pypto 9.8.7") == 1 and "pip uninstall pypto" in done.stderr


def test_silence_without_it(tmp_path):
    done = importing(
        tmp_path, "import pypto", "from pypto.beside import reference_distribution", "print(reference_distribution())"
    )
    assert done.stdout.strip() == "None" and done.stderr == ""


def test_import_brings_neither_llvm_nor_torch(tmp_path):
    done = importing(
        tmp_path, "import sys, pypto", "print([m for m in ('llvmlite', 'torch', 'importlib.metadata') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]"
