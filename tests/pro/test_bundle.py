"""A failing launch leaves a bundle that fails in the same way."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pypto_pro.language as pl
from pypto.errors.simulation import DataRace
from pypto_pro.runtime.bundle import replay


@pl.jit
def racing(x: pl.Tensor[[16, 64], pl.DT_FP32], out: pl.Tensor[[16, 64], pl.DT_FP32], scale: pl.DT_FP32):
    tile = pl.make_tile(pl.TileType([16, 64], pl.DT_FP32), addr=0)
    pl.load(tile, x, [0, 0])
    pl.muls(tile, tile, scale)
    pl.store(out, tile, [0, 0])


def failure(tmp_path, monkeypatch):
    monkeypatch.setenv("PYPTOPRO_BUILD_DIR", str(tmp_path))
    x = np.random.default_rng(0).standard_normal((16, 64), np.float32)
    with pytest.raises(DataRace) as caught:
        racing(x, np.zeros_like(x), 2.0)
    return caught.value


def test_the_bundle_fails_again(tmp_path, monkeypatch):
    error = failure(tmp_path, monkeypatch)
    assert error.bundle.parent.parent.parent == tmp_path
    assert (error.bundle / "error.txt").read_text().startswith("ErrCode")
    with pytest.raises(DataRace) as again:
        replay(error.bundle)
    assert str(again.value) == str(error)
    assert replay(error.bundle, check=False).cycles > 0


def test_the_script_of_the_bundle(tmp_path, monkeypatch):
    error = failure(tmp_path, monkeypatch)
    source = str(Path(__file__).parents[2] / "src")
    monkeypatch.setenv("PYTHONPATH", source)
    done = subprocess.run([sys.executable, error.bundle / "replay.py"], capture_output=True, text=True)
    assert done.returncode == 1 and "data race" in done.stderr


def test_the_report_of_a_failing_launch_goes_as_far_as_the_launch(tmp_path, monkeypatch):
    failure(tmp_path, monkeypatch)
    assert racing.last_report is not None


def test_wrong_arguments_leave_none(tmp_path, monkeypatch):
    monkeypatch.setenv("PYPTOPRO_BUILD_DIR", str(tmp_path))
    with pytest.raises(TypeError):
        racing(1, 2, 3)
    assert not list(tmp_path.rglob("replay.py"))
