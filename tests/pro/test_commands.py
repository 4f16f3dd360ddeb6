"""``pypto show`` and ``pypto profile`` on tile kernels, and what a run can be saved as."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import pypto_pro.language as pl

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import numpy as np
import pypto_pro.language as pl


@pl.jit
def add_one(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        ring = pl.make_tile_group(type=pl.TileType(shape=[16, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0, 1])
        for turn in pl.range(4):
            tile = ring.next()
            pl.load(tile, x, [turn * 16, 0])
            pl.add(tile, tile, 1.0)
            pl.store(out, tile, [turn * 16, 0])


if __name__ == "__main__":
    x = np.zeros((64, 64), np.float32)
    out = np.zeros_like(x)
    add_one(x, out)
    add_one[None, 1](out, x)
    print("sum", x.sum())
"""


def command(tmp_path, *arguments):
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    started = [sys.executable, "-m", "pypto", *arguments]
    return subprocess.run(started, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)


def test_show_prints_core_programs_and_memory(tmp_path):
    done = command(tmp_path, "show", "script.py::add_one")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^== ([\w ]+) \(", done.stdout, re.MULTILINE) == ["core programs", "memory map"]
    assert "MTE2 load(tile, x, [turn * 16, 0])" in done.stdout and "UB: 8192 of 253952 bytes" in done.stdout


def test_profile_reports_every_launch(tmp_path):
    done = command(tmp_path, "profile", "--output", "pages", "script.py")
    assert done.returncode == 0, done.stderr
    assert f"sum {64 * 64 * 2:.1f}" in done.stdout
    assert done.stdout.count("add_one on 950: ") == 2 and done.stdout.count("bound by the vector side") == 2
    assert sorted(path.name for path in (tmp_path / "pages").iterdir()) == [
        f"{number}_add_one.{kind}" for number in ("00", "01") for kind in ("html", "json")
    ]


@pytest.fixture
def report():
    x = np.ones((64, 64), np.float32)

    @pl.jit
    def twice(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
        with pl.section_vector():
            ring = pl.make_tile_group(type=pl.TileType(shape=[32, 64], dtype=pl.DT_FP32), addrs=0, mutex_ids=[0, 1])
            for turn in pl.range(2):
                tile = ring.next()
                pl.load(tile, x, [turn * 32, 0])
                pl.add(tile, tile, tile)
                pl.store(out, tile, [turn * 32, 0])

    twice(x, np.zeros_like(x))
    return twice.last_report


def test_trace_has_every_instruction_in_its_lane(report, tmp_path):
    trace = json.loads(report.save(tmp_path / "run.json").read_text(encoding="utf-8"))["traceEvents"]
    lanes = {(event["pid"], event["tid"]): event["args"]["name"] for event in trace if event["name"] == "thread_name"}
    work = [(lanes[event["pid"], event["tid"]], event["name"]) for event in trace if event.get("cat") == "instruction"]
    assert {pair: work.count(pair) for pair in work} == {("MTE2", "load"): 2, ("V", "add"): 2, ("MTE3", "store"): 2}
    last = max(event["ts"] + event["dur"] for event in trace if event["ph"] == "X")
    assert 0 < last <= report.microseconds  # what a store writes arrives later than its pipe is free


def test_page_stands_alone(report, tmp_path):
    text = report.save(tmp_path / "run.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=", text) and "__DATA__" not in text
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["lanes"] == ["AIV0 MTE2", "AIV0 V", "AIV0 MTE3"]
    assert all(0 <= start <= end <= data["cycles"] + 0.1 for _, start, end, *_ in data["events"])


def test_picture_is_well_formed(report, tmp_path):
    root = ElementTree.parse(report.save(tmp_path / "run.svg")).getroot()
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert root.tag.endswith("svg") and "AIV0 MTE2" in texts


def test_text_names_the_busiest_pipe(report):
    text = str(report)
    busiest = max(report.busy, key=report.busy.get)
    assert f"bound by the vector side: {' '.join(busiest)}" in text and "twice on 950" in text
