"""Scripts written for an NPU, run in a process of their own through the launcher."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("torch")


def launch(tmp_path, source, *arguments, name="script.py", module=False, expect=0, **environment):
    """Run ``source`` with ``pypto run``; its standard output."""
    (tmp_path / name).write_text(textwrap.dedent(source))
    command = [sys.executable, "-m", "pypto", "run"]
    command += ["-m", Path(name).stem] if module else [str(tmp_path / name)]
    done = subprocess.run(
        [*command, *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == expect, done.stderr
    return done.stdout + done.stderr


def test_devices_streams_events_and_helpers(tmp_path):
    out = launch(
        tmp_path,
        """
        import os, torch, torch_npu
        torch.npu.set_device(int(os.environ.get("TILE_FWK_DEVICE_ID", 3)))
        assert torch.npu.current_device() == 3 and torch.npu.is_available() and torch.npu.device_count() > 3
        assert "Ascend" in torch.npu.get_device_name()
        x = torch.randn(4, 4, device="npu:0")
        one = torch.ones(2)
        for other in (torch.zeros(2, device=torch.device("npu:1")), one.to("npu"), one.npu(), one.to(device="npu:0")):
            assert other.is_npu and other.device.type == "cpu"
        assert torch.ones(2).to(device="npu:0", dtype=torch.bfloat16).dtype == torch.bfloat16
        assert torch.nn.Linear(4, 4).npu().to("npu:0")(x).shape == (4, 4)
        g = torch.Generator(device="npu").manual_seed(1)
        assert isinstance(g, torch.Generator) and torch.randn(2, generator=g, device="npu").shape == (2,)
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        a.record(); b.record(); torch.npu.synchronize()
        assert a.elapsed_time(b) >= 0
        with torch.npu.device(1):
            assert torch.npu.current_device() == 1
        with torch.npu.stream(torch.npu.Stream()), torch.autocast("npu", dtype=torch.bfloat16):
            assert (x @ x).dtype == torch.bfloat16
        assert torch_npu.npu_format_cast(x, 29) is x and torch_npu.npu is torch.npu
        bits = torch_npu.npu_trans_quant_param(torch.tensor([1.0]))
        assert int(bits) & 0xFFFFFFFF == 0x3F800000 and int(bits) >> 46 == 1
        torch.save(x, "x.pt")
        assert torch.load("x.pt", map_location="npu:0").shape == (4, 4)
        import torch.npu
        print("done")
        """,
    )
    assert out.splitlines()[-1] == "done"


def test_host_and_device_do_not_share_memory(tmp_path):
    launch(
        tmp_path,
        """
        import torch
        host = torch.zeros(3)
        device = host.npu()
        device += 1
        before = device.cpu()
        device += 1
        assert host.tolist() == [0] * 3 and before.tolist() == [1] * 3 and device.tolist() == [2] * 3
        assert device.npu() is device and device.to("npu:0") is device
        assert device.to("cpu") is not device and host.to("cpu") is host
        """,
    )


def test_what_cannot_be_imitated_says_so(tmp_path):
    out = launch(
        tmp_path,
        """
        import torch, torch_npu
        for attempt in (lambda: torch_npu.npu_fusion_attention, lambda: torch.npu.nothing, lambda: torch.npu.NPUGraph()):
            try:
                attempt()
            except (AttributeError, NotImplementedError) as error:
                print(error)
        assert not hasattr(torch_npu, "npu_fusion_attention")
        """,
    )
    for text in (
        "torch_npu.npu_fusion_attention has no stand-in",
        "torch.npu.nothing has no stand-in",
        "NPUGraph needs a real NPU",
    ):
        assert text in out


def test_script_sees_its_arguments_and_neighbours(tmp_path):
    (tmp_path / "neighbour.py").write_text("value = 7")
    source = """
        import sys
        import neighbour
        print(__name__, sys.argv[1:], neighbour.value)
        """
    assert launch(tmp_path, source, "-x", "--flag", "1").splitlines()[-1] == "__main__ ['-x', '--flag', '1'] 7"
    assert launch(tmp_path, source, "a", module=True).splitlines()[-1] == "__main__ ['a'] 7"


def test_exit_status_and_traceback_are_the_scripts(tmp_path):
    launch(tmp_path, "import sys; sys.exit(5)", expect=5)
    out = launch(tmp_path, "x = 1\nraise KeyError('mine')", expect=1)
    assert "KeyError: 'mine'" in out and "script.py" in out


def test_missing_scripts_and_modules_are_named(tmp_path):
    (tmp_path / "softmax.py").write_text("")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for arguments, text in (
        (["sofmax.py"], "did you mean softmax.py?"),
        (["-m", "no_such_module"], "no module 'no_such_module'"),
    ):
        command = [sys.executable, "-m", "pypto", "run", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 2 and text in done.stderr and "Traceback" not in done.stderr


def test_a_real_torch_npu_is_left_alone(tmp_path):
    (tmp_path / "torch_npu.py").write_text("real = True")
    out = launch(
        tmp_path,
        "import torch, torch_npu; print(torch_npu.real, hasattr(torch, 'npu'))",
        PYTHONPATH=f"{ROOT / 'src'}{os.pathsep}{tmp_path}",
    )
    assert out.splitlines()[-1] == "True False"


def test_torch_is_not_imported_for_scripts_that_do_not(tmp_path):
    assert launch(tmp_path, "import sys; print('torch' in sys.modules)").splitlines()[-1] == "False"


def test_a_script_of_an_npu_runs_unchanged(tmp_path):
    out = launch(
        tmp_path,
        """
        import os
        import pypto, torch, torch_npu

        device = f"npu:{os.environ.get('TILE_FWK_DEVICE_ID', 0)}"

        @pypto.frontend.jit(runtime_options={"run_mode": pypto.RunMode.NPU})
        def add(
            a: pypto.Tensor([pypto.DYNAMIC, 64], pypto.DT_BF16),
            b: pypto.Tensor([pypto.DYNAMIC, 64], pypto.DT_BF16),
            out: pypto.Tensor([pypto.DYNAMIC, 64], pypto.DT_BF16),
        ):
            pypto.set_vec_tile_shapes(16, 64)
            for i in pypto.loop(pypto.ceildiv(a.shape[0], 16), name="rows", idx_name="i"):
                out[i * 16 : i * 16 + 16, :] = a[i * 16 : i * 16 + 16, :] + b[i * 16 : i * 16 + 16, :]

        torch.npu.set_device(device)
        a, b = torch.randn(50, 64, dtype=torch.bfloat16), torch.randn(50, 64, dtype=torch.bfloat16)
        out = torch.empty(50, 64, dtype=torch.bfloat16, device=device)
        add(a.npu(), b.to(device), out)
        pypto.runtime._device_synchronize()
        torch.npu.synchronize()
        assert torch.equal(out.cpu(), a + b)
        print("right")
        """,
    )
    assert "right" in out
