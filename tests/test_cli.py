"""The command ``pypto``."""

import subprocess
import sys

import pytest

from pypto.cli import main

KERNEL = """
import numpy as np
import pypto

@pypto.frontend.jit
def double(x: pypto.Tensor([4, 8], pypto.DT_FP32), out: pypto.Tensor([4, 8], pypto.DT_FP32)):
    out[:] = x + x

if __name__ == "__main__":
    double(np.ones((4, 8), np.float32), np.zeros((4, 8), np.float32))
    print("not reached by show")
"""


def test_doctor_reports_every_part(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    for word in ("openpypto", "Python", "numpy", "llvmlite", "instruction set", "worker threads", "cache", "reference pypto"):
        assert word in out
    assert "failed:" not in out


def test_doctor_shows_what_variables_set():
    import os

    environment = {**os.environ, "PYPTO_THREADS": "3"}
    done = subprocess.run([sys.executable, "-m", "pypto", "doctor"], env=environment, capture_output=True, text=True)
    assert "PYPTO_THREADS          3 -> cpu.threads = 3" in done.stdout and "worker threads         3" in done.stdout


def test_doctor_survives_a_broken_part():
    import os

    environment = {**os.environ, "PYPTO_THREADS": "many"}
    done = subprocess.run([sys.executable, "-m", "pypto", "doctor"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "PYPTO_THREADS='many'" in done.stdout and "Neighbours" in done.stdout


def test_ops_say_which_engine(capsys):
    assert main(["ops"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line.split()[-1] for line in lines[1:-2]}
    assert rows["add"] == "native" and set(rows.values()) <= {"native", "reference", "planned"}
    assert main(["ops", "soft"]) == 0
    assert "softmax" in capsys.readouterr().out


@pytest.mark.parametrize("given", ["F00003", "f00003", "0xF00003", "ErrCode: F00003"])
def test_explain_accepts_codes_as_they_are_printed(given, capsys):
    assert main(["explain", given]) == 0
    out = capsys.readouterr().out
    assert "F00003 NothingWritten (RuntimeError)" in out and "Wrong:" in out and "Right:" in out


def test_explain_by_name_related_code_and_unknown(capsys):
    assert main(["explain", "readunwritten"]) == 0
    by_name = capsys.readouterr().out
    assert main(["explain", "F74008"]) == 0
    assert "== ReadUnwritten" in by_name and "== ReadUnwritten" in capsys.readouterr().out
    assert main(["explain", "F21009"]) == 0
    assert "program order" in capsys.readouterr().out
    assert main(["explain", "ReadUnwriten"]) == 1
    assert "did you mean ReadUnwritten?" in capsys.readouterr().err
    assert main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 100


def test_cache_lists_explains_and_clears(tmp_path, capsys):
    import pypto
    from pypto.runtime.cache import Metadata, cache

    with pypto.options(run_options={"cache_dir": str(tmp_path / "kept")}):
        cache().put("ab" * 32, b"code", Metadata(kernel="softmax", reason="first compilation", compile_seconds=0.25))
        cache().put("cd" * 32, b"code", Metadata(kernel="norm", reason="changed: source"))
        assert main(["cache", "ls"]) == 0
        assert "2 entries" in (out := capsys.readouterr().out) and "softmax" in out and "abababababab" in out
        assert main(["cache", "explain", "norm"]) == 0
        assert "changed: source" in (out := capsys.readouterr().out) and "softmax" not in out
        assert main(["cache", "clear", "norm"]) == 0
        assert "removed 1 entries" in capsys.readouterr().out
        assert main(["cache", "clear"]) == 0
        assert "removed 1 entries" in capsys.readouterr().out
        assert main(["cache", "ls"]) == 0
        assert "0 entries" in capsys.readouterr().out


def test_show_prints_the_program_at_each_step(tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(KERNEL)
    done = subprocess.run([sys.executable, "-m", "pypto", "show", f"{file}::double"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "== trace" in done.stdout and "program double" in done.stdout and "add" in done.stdout
    assert "not reached" not in done.stdout
    done = subprocess.run(
        [sys.executable, "-m", "pypto", "show", f"{file}::double", "--step", "trace"], capture_output=True, text=True
    )
    assert done.stdout.count("== ") == 1


def test_show_reads_programs_that_internal_errors_saved(tmp_path, capsys):
    file = tmp_path / "double.program"
    file.write_text(
        "program double(x: fp32[4], out: fp32[4]):\n    v: fp32[4] = load(x, offsets=(0,))\n    store(out, v, offsets=(0,))\n"
    )
    assert main(["show", str(file)]) == 0
    assert "== simplify" in (out := capsys.readouterr().out) and "bytes of machine code" in out
    assert main(["show", str(tmp_path / "no.program")]) == 1
    assert "there is no file" in capsys.readouterr().err


def test_show_needs_a_kernel_that_is_called(tmp_path, capsys):
    file = tmp_path / "kernels.py"
    file.write_text("x = 1")
    assert main(["show", str(file)]) == 1
    assert "which kernel?" in capsys.readouterr().err
    done = subprocess.run([sys.executable, "-m", "pypto", "show", f"{file}::double"], capture_output=True, text=True)
    assert done.returncode == 1 and "without calling double" in done.stderr


def test_help_and_version(capsys):
    assert main([]) == 2
    assert "commands" in capsys.readouterr().out
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0 and "openpypto" in capsys.readouterr().out
