"""Fork, threads, interpreter exit, interrupts, worker counts: the process survives and results do not change."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pypto
from blackbox import ROOT, floats, integers, nans, python
from pypto.options.scopes import scope

FP32 = pypto.DT_FP32


@pypto.jit
def mixed(
    x: pypto.Tensor([pypto.DYNAMIC, 300], FP32), w: pypto.Tensor([300, 64], FP32), out: pypto.Tensor([pypto.DYNAMIC, 64], FP32)
):
    rows = x.shape[0]
    for i in pypto.loop((rows + 31) // 32):
        part = pypto.view(x, [32, 300], [32 * i, 0], valid_shape=[min(32, rows - 32 * i), 300])
        soft = pypto.softmax(part * 0.5, -1)
        pypto.assemble(pypto.matmul(soft, w, FP32), [32 * i, 0], out)


@pypto.jit
def chain(
    x: pypto.Tensor([500, 700], FP32),
    out: pypto.Tensor([500, 700], FP32),
    total: pypto.Tensor([500, 1], FP32),
    column: pypto.Tensor([1, 700], FP32),
):
    y = pypto.exp(x * 0.1) + pypto.tanh(x)
    out[:] = y
    total[:] = y.sum(-1, keepdim=True)
    column[:] = y.sum(0, keepdim=True)


def outputs(threads):
    with scope("workers", {"cpu.threads": threads}):
        a, b = nans(333, 64), [nans(500, 700), nans(500, 1), nans(1, 700)]
        mixed(floats(333, 300), floats(300, 64, seed=1), a)
        chain(floats(500, 700, seed=2), *b)
    return [array.tobytes() for array in (a, *b)]


def test_results_are_bit_identical_for_any_number_of_workers():
    first = outputs(1)
    for threads in (2, 4):
        for _ in range(3):
            assert outputs(threads) == first


RESULT = """
import hashlib, numpy as np, pypto
@pypto.jit
def kernel(x: pypto.Tensor(), out: pypto.Tensor(), total: pypto.Tensor()):
    y = pypto.softmax(pypto.exp(x * 0.3) + x, -1)
    out[:] = y
    total[:] = (y * x).sum(-1, keepdim=True)
x = np.random.default_rng(0).standard_normal((64, 300)).astype("f")
out, total = np.zeros((64, 300), "f"), np.zeros((64, 1), "f")
kernel(x, out, total)
print(hashlib.sha256(out.tobytes() + total.tobytes()).hexdigest())
"""


def test_results_do_not_depend_on_hash_seed_or_cache(tmp_path):
    script = tmp_path / "result.py"
    script.write_text(RESULT)
    seen = set()
    for seed, cache, workers in [(0, 1, 1), (1, 1, 2), (2, 0, 2), (3, 1, 1)]:
        done = python(script, PYTHONHASHSEED=seed, PYPTO_CACHE=cache, PYPTO_CACHE_DIR=tmp_path / "cache", PYPTO_THREADS=workers)
        assert done.returncode == 0, done.stderr
        seen.add(done.stdout)
    assert len(seen) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_runs_kernels():
    outputs(4)
    script = """
import os, sys, numpy as np, pypto
@pypto.jit
def kernel(x: pypto.Tensor([2000, 700], pypto.DT_FP32), out: pypto.Tensor([2000, 700], pypto.DT_FP32)):
    out[:] = pypto.exp(x * 0.1)
@pypto.jit
def second(x: pypto.Tensor([2000, 700], pypto.DT_FP32), out: pypto.Tensor([2000, 700], pypto.DT_FP32)):
    out[:] = x + 1.0
x = np.ones((2000, 700), "f"); out = np.zeros_like(x)
kernel(x, out); before = out.copy()
child = os.fork()
if child == 0:
    out[:] = 0
    kernel(x, out)
    good = np.array_equal(out, before)
    second(x, out)
    os._exit(0 if good and (out == 2).all() else 3)
_, status = os.waitpid(child, 0)
kernel(x, out)
print(os.waitstatus_to_exitcode(status), np.array_equal(out, before))
"""
    done = python("-c", script.replace("pypto.DT_FP32", "pypto.DT_FP32"), timeout=60)
    if "source" in done.stderr:  # kernels of -c have no source here
        pytest.fail(done.stderr)
    assert done.stdout.strip() == "0 True", done.stdout + done.stderr


def test_multiprocessing_children_run_kernels(tmp_path):
    script = tmp_path / "pool.py"
    script.write_text(
        """
import multiprocessing, sys, numpy as np, pypto
@pypto.jit
def kernel(x: pypto.Tensor([1000, 700], pypto.DT_FP32)):
    x[:] = x * 2.0
def work(k):
    x = np.full((1000, 700), k, "f")
    kernel(x)
    return float(x[7, 7])
if __name__ == "__main__":
    work(1)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(pool.map(work, range(4)))
"""
    )
    done = python(script, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[0.0, 2.0, 4.0, 6.0]"] * 2


def test_threads_call_kernels_at_once():
    x, w = floats(200, 300), floats(300, 64, seed=1)
    expected = nans(200, 64)
    mixed(x, w, expected)
    failures = []

    def work():
        for _ in range(20):
            out = nans(200, 64)
            mixed(x, w, out)
            if not np.array_equal(out, expected):
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_threads_race_for_the_first_call():
    @pypto.jit
    def fresh(x: pypto.Tensor([64, 64], FP32), out: pypto.Tensor([64, 64], FP32)):
        out[:] = pypto.exp(x)

    results, start = [], threading.Barrier(6)

    def work():
        out = nans(64, 64)
        start.wait()
        fresh(np.zeros((64, 64), np.float32), out)
        results.append((out == 1).all())

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 6
    assert fresh.compilations == 1


EXITS = {
    "end": "",
    "exit_code": "import sys; sys.exit(5)",
    "exception": "raise ValueError('mine')",
    "daemon_thread": "from threading import Thread; Thread(target=forever, daemon=True).start(); time.sleep(0.2)",
    "atexit": "import atexit; atexit.register(call)",
    "collected": "global kernel; del kernel; import gc; gc.collect()",
}


@pytest.mark.parametrize("way", EXITS)
def test_the_interpreter_exits_cleanly(tmp_path, way):
    script = tmp_path / "leaves.py"
    script.write_text(
        f"""
import time, numpy as np, pypto
@pypto.jit
def kernel(x: pypto.Tensor([3000, 700], pypto.DT_FP32)):
    x[:] = pypto.tanh(x) + 1.0
x = np.ones((3000, 700), "f")
def call(): kernel(x)
def forever():
    while True: call()
call()
def leave():
    {EXITS[way]}
    pass
leave()
"""
    )
    done = python(script, timeout=60, PYPTO_THREADS=4)
    assert done.returncode == {"exit_code": 5, "exception": 1}.get(way, 0), done.stderr
    assert "Fatal" not in done.stderr and (way == "exception" or "Traceback" not in done.stderr), done.stderr


HEARS = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job is born deaf to it


def interrupted(tmp_path, source, after):
    script = tmp_path / "long.py"
    script.write_text(HEARS + source)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONUNBUFFERED": "1",
        "PYPTO_CACHE_DIR": str(tmp_path / "cache"),
    }
    child = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert child.stdout.readline().strip() == "ready"
    time.sleep(after)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, out + err
    return out


LONG_COMPILE = """
import numpy as np, pypto
@pypto.jit
def simple(x: pypto.Tensor([4], pypto.DT_FP32)):
    x[:] = x + 1.0
@pypto.jit
def long(x: pypto.Tensor([4, 8], pypto.DT_FP32), out: pypto.Tensor([4, 8], pypto.DT_FP32), n: pypto.SymbolicScalar):
    y = x
    for k in range(200000):
        y = pypto.exp(y) - x * float(k)
    out[:] = y
print("ready")
try:
    long(np.ones((4, 8), "f"), np.ones((4, 8), "f"), 1)
    print("finished")
except KeyboardInterrupt:
    print("interrupted")
x = np.ones(4, "f")
simple(x)
print(x[0])
"""


@pytest.mark.parametrize("after", [0.1, 1.5])
def test_an_interrupt_during_a_long_compilation(tmp_path, after):
    assert interrupted(tmp_path, LONG_COMPILE, after).splitlines()[-2:] == ["interrupted", "2.0"]


def test_an_exception_leaves_the_process_usable():
    @pypto.jit
    def broken(x: pypto.Tensor([4], FP32)):
        raise KeyError("mine")

    for _ in range(3):
        with pytest.raises(KeyError, match="mine"):
            broken(integers(4))
        outputs(2)


def test_an_error_in_one_thread_leaves_the_others_alone():
    @pypto.jit
    def checked(table: pypto.Tensor([4], pypto.DT_INT32), out: pypto.Tensor([4], pypto.DT_INT32), n: pypto.SymbolicScalar):
        out[0] = table[n]

    good, bad = [], []

    def work(n):
        for _ in range(50):
            try:
                checked(np.arange(4, dtype=np.int32), np.zeros(4, np.int32), n)
                good.append(n)
            except pypto.error.PyptoError:
                bad.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 9, 2, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(good) == {1, 2} and set(bad) == {9, 7} and len(good) == 100


@pytest.mark.parametrize("flag", ["-O", "-OO"])
def test_an_optimising_interpreter(tmp_path, flag):
    (tmp_path / "script.py").write_text(
        "import numpy as np, pypto\n"
        "@pypto.jit\n"
        "def kernel(x: pypto.Tensor([4], pypto.DT_FP32)):\n"
        "    x[:] = pypto.softmax(x, -1) * 4.0\n"
        "x = np.ones(4, 'f')\n"
        "kernel(x)\n"
        "print(x[0])\n"
    )
    done = python(flag, tmp_path / "script.py", PYPTO_CACHE_DIR=tmp_path / "cache")
    assert done.stdout.strip() == "1.0", done.stderr


NUMBER_OF_FORKS = """
import os, threading
import numpy as np, pypto
@pypto.jit
def kernel(x: pypto.Tensor([pypto.DYNAMIC, 512], pypto.DT_FP32), out: pypto.Tensor([pypto.DYNAMIC, 512], pypto.DT_FP32)):
    out[:] = pypto.softmax(x, -1)
def run(rows):
    out = np.zeros((rows, 512), "f")
    kernel(np.ones((rows, 512), "f"), out)
    return bool((out == 1 / 512).all())
run(2000)
over = threading.Event()
def busy():
    while not over.is_set():
        run(1500)
threads = [threading.Thread(target=busy) for _ in range(3)]
for thread in threads:
    thread.start()
good = 0
for _ in range(6):
    child = os.fork()
    if child == 0:
        os._exit(0 if run(2000) else 1)
    good += os.waitpid(child, 0)[1] == 0
over.set()
for thread in threads:
    thread.join()
print(good)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_children_forked_while_threads_run_kernels(tmp_path):
    (tmp_path / "script.py").write_text(NUMBER_OF_FORKS)
    done = python("-W", "ignore", tmp_path / "script.py", timeout=120)
    assert done.stdout.strip() == "6", done.stderr
