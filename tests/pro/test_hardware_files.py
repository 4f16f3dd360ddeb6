"""Test files written for hardware run under ``pypto run -m pytest``."""

import importlib.util
from pathlib import Path

import pytest

from blackbox import python

FILE = """
import os

import pytest
import torch
import torch_npu

import pypto
import pypto_pro.language as pl

DEVICE = f"npu:{int(os.environ.get('TILE_FWK_DEVICE_ID', 0))}"
ROWS = 64


@pl.jit(auto_mutex=True)
def double(x: pl.Tensor[[ROWS, 64], pl.DT_FP32], out: pl.Tensor[[ROWS, 64], pl.DT_FP32]):
    with pl.section_vector():
        tiles = pl.make_tile_group(type=pl.TileType([ROWS, 64], pl.DT_FP32), addrs=0, mutex_ids=[0])
        tile = tiles.next()
        pl.load(tile, x, [0, 0])
        pl.add(tile, tile, tile)
        pl.store(out, tile, [0, 0])


@pytest.mark.soc("950")
@pypto.options(pass_options={"enable_slice": False})
def test_double():
    torch.npu.set_device(DEVICE)
    assert "Ascend950" in torch.npu.get_device_name(0)
    x = torch.randn(ROWS, 64, device=DEVICE, dtype=torch.float32)
    out = torch.zeros(ROWS, 64, device=DEVICE, dtype=torch.float32)
    double[None, 1](x, out)
    torch.npu.synchronize()
    torch.testing.assert_close(out, x + x, rtol=1e-2, atol=1e-2)
    double[torch.npu.current_stream(), 1](x, out)
    assert torch_npu.npu_trans_quant_param(torch.ones(16)).dtype == torch.int64


@pytest.mark.soc("950", "910")
@pytest.mark.parametrize("rows", [1, 2])
def test_marks_go_together(rows):
    assert pypto.platform.npuarch == "DAV_3510"


def test_no_mark():
    assert pypto.platform.npuarch == "DAV_2201"
"""


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_a_test_file_for_hardware_passes(tmp_path):
    (tmp_path / "test_written_for_hardware.py").write_text(FILE)
    done = python("-m", "pypto", "run", "-m", "pytest", "-q", "--strict-markers", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_the_pipelined_kernel_of_a_test_file_for_hardware_passes(tmp_path):
    (tmp_path / "test_relu.py").write_text((Path(__file__).parent / "hardware" / "relu_between_products.py").read_text())
    done = python("-m", "pypto", "run", "-m", "pytest", "-q", "-W", "error", "test_relu.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith((".", "__"))) == ["test_relu.py"]
