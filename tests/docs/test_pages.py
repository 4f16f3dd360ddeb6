"""README and docs: every Python block runs, every link leads somewhere, generated pages are current."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pypto.errors.explained import explanations
from pypto.pages import PAGES

ROOT = Path(__file__).resolve().parents[2]
PAGE_FILES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
REPORT = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)[^)]*\)")


def run(tmp_path, name, source):
    """Run a program in a process of its own; what it printed, its status."""
    file = tmp_path / name
    file.write_text(source, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, str(file)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("page", [p for p in PAGE_FILES if BLOCK.search(p.read_text(encoding="utf-8"))], ids=lambda p: p.stem)
def test_every_block_runs(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    if "import torch" in text:
        pytest.importorskip("torch")
    done = run(tmp_path, f"{page.stem}.py", "\n\n".join(BLOCK.findall(text)))
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_reports_on_the_page_are_those_of_its_kernels(tmp_path):
    text = (ROOT / "docs" / "hazards.md").read_text(encoding="utf-8")
    printed = run(tmp_path, "hazards.py", "\n\n".join(BLOCK.findall(text))).stdout
    shown = REPORT.findall(text)
    assert len(shown) >= 4 and not [report for report in shown if report.strip() not in printed]


@pytest.mark.parametrize("page", PAGE_FILES, ids=lambda p: p.stem)
def test_links_lead_somewhere(page):
    prose = CODE.sub("", page.read_text(encoding="utf-8"))
    missing = [link for link in LINK.findall(prose) if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_current(name):
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name](), "run: python scripts/pages.py"


@pytest.mark.parametrize("one", explanations(), ids=lambda one: one.classes[0])
def test_explained_programs_are_wrong_and_right_as_they_say(one, tmp_path):
    wrong = run(tmp_path, "wrong.py", one.program("wrong"))
    raised = wrong.stderr.strip().splitlines()
    assert wrong.returncode == 1 and any(
        line.startswith("pypto.errors.") and line.split(":")[0].rsplit(".", 1)[-1] in one.classes for line in raised
    )
    right = run(tmp_path, "right.py", one.program("right"))
    assert right.returncode == 0, right.stderr


def test_every_class_that_is_explained_exists():
    from pypto.errors.explain import catalogue

    known = {cls.__name__ for cls in catalogue()}
    assert not [name for one in explanations() for name in one.classes if name not in known]
