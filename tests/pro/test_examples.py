"""The examples run, and say what they promise."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_softmax_rows(capsys):
    runpy.run_path(str(EXAMPLES / "softmax_rows.py"))["main"]()
    assert "cycles" in capsys.readouterr().out


def test_fused_products(capsys, tmp_path):
    page = tmp_path / "timeline.html"
    runpy.run_path(str(EXAMPLES / "fused_products.py"))["main"](page)
    lines = capsys.readouterr().out.splitlines()
    cycles = [float(line.split()[2]) for line in lines[:3]]
    assert cycles[0] > cycles[1] and cycles[0] > cycles[2], lines[:3]
    assert "fused_products" in page.read_text()
