"""A failing launch leaves a bundle that fails in the same way."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import pypto_pro.language as pl
from pypto.errors.simulation import DataRace
from pypto.errors.tiles import AssertionFailed
from pypto_pro.runtime import bundle
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


@pl.jit
def in_place(x: pl.Tensor[[16, 64], pl.DT_FP32]):
    with pl.section_vector():
        ring = pl.make_tile_group(type=pl.TileType([16, 64], pl.DT_FP32), addrs=0, mutex_ids=[0])
        tile = ring.next()
        pl.load(tile, x, [0, 0])
        pl.muls(tile, tile, 2.0)
        pl.store(x, tile, [0, 0])
        pl.system.bar_all()
        pl.load(tile, x, [0, 0])
        value = tile[0, 0]
        pl.pto_assert(value < 4.0, "value is %f", value)


def test_arguments_are_saved_as_they_were_before_the_launch(tmp_path, monkeypatch):
    monkeypatch.setenv("PYPTOPRO_BUILD_DIR", str(tmp_path))
    x = np.full((16, 64), 3.0, np.float32)
    with pl.simulate(seed=5), pytest.raises(AssertionFailed) as caught:
        in_place(x)
    assert x[0, 0] == 6
    with pytest.raises(AssertionFailed) as again:
        replay(caught.value.bundle)
    assert "value is 6.0" in str(caught.value) and str(again.value) == str(caught.value)
    facts = json.loads((caught.value.bundle / "launch.json").read_text())
    assert facts["chip"] == "950" and facts["seed"] == 5 and facts["check"] is True
    assert "def in_place" in (caught.value.bundle / "sources" / Path(__file__).name).read_text()


def test_arguments_too_large_to_be_saved_are_drawn_again(tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "LARGEST", 100)
    error = failure(tmp_path, monkeypatch)
    assert not (error.bundle / "arguments.npz").exists()
    with pytest.raises(DataRace):
        replay(error.bundle)


def test_a_chip_file_goes_with_the_bundle(tmp_path, monkeypatch):
    chip = tmp_path / "mine.toml"
    chip.write_bytes((files("pypto.chips") / "950.toml").read_bytes())
    with pl.simulate(chip=str(chip)):
        error = failure(tmp_path / "build", monkeypatch)
    chip.unlink()
    with pytest.raises(DataRace):
        replay(error.bundle)


def test_no_folder_no_bundle_and_the_error_all_the_same(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PYPTOPRO_BUILD_DIR", str(tmp_path / "file" / "below"))
    with pytest.raises(DataRace) as caught:
        pl.jit(racing.pypto_function)(np.ones((16, 64), np.float32), np.ones((16, 64), np.float32), 2.0)
    assert not hasattr(caught.value, "bundle")
