"""Field cases, section F: compiling, caching, diagnostics, robustness."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import pypto
from blackbox import ROOT, define, integers, mistake, nans, python, quiet
from pypto.diagnostics import PortabilityWarning
from pypto.runtime.cache import ObjectCache

FP32, INT32 = pypto.DT_FP32, pypto.DT_INT32


@pypto.frontend.jit
def unpacks(x: pypto.Tensor([2, pypto.DYNAMIC, 4], FP32), out: pypto.Tensor([2, pypto.DYNAMIC, 4], FP32)):
    b, s, d = x.shape
    for i in pypto.loop(s):
        out[0:b, i : i + 1, 0:d] = x[:, i : i + 1, :] + 1.0


def test_fc_151_unpacking_a_shape_with_a_dynamic_axis(engine):
    for s in (1, 5):
        x, out = integers(2, s, 4), nans(2, s, 4)
        unpacks(x, out)
        assert np.array_equal(out, x + 1)


def test_fc_152_a_tile_shape_of_a_higher_rank_is_a_warning_on_the_cpu(engine, tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 8], DT_FP32), out: Tensor([4, 8], DT_FP32)):
    pypto.set_vec_tile_shapes(1, 4, 8)
    out[:] = x + 1.0
""",
    )
    x, out = integers(4, 8), nans(4, 8)
    with pytest.warns(PortabilityWarning) as caught:
        kernel(x, out)
    text = str(caught[0].message)
    assert np.array_equal(out, x + 1)
    assert all(part in text for part in ("add", "[1, 4, 8]", "3", "2", "x + 1.0")), text


def test_fc_152_a_tile_shape_of_the_wrong_rank(tmp_path):
    kernel = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 8], DT_FP32), out: Tensor([4, 8], DT_FP32)):
    pypto.set_vec_tile_shapes(8)
    out[:] = x + 1.0
""",
    )
    with mistake("add", "[4, 8]", "[8]", "2", at="x + 1.0"):
        kernel(integers(4, 8), nans(4, 8))


def test_fc_154_the_next_kernel_is_right_after_an_error_in_a_loop(engine, tmp_path):
    broken = define(
        tmp_path,
        """
@jit
def kernel(x: Tensor([4, 8], DT_FP32), out: Tensor([4, 8], DT_FP32)):
    pypto.set_vec_tile_shapes(1, 1, 8)
    for i in loop(4):
        if i > 2:
            out[i : i + 1, :] = x[i : i + 1, :] + undefined_name
""",
    )
    for _ in range(2):
        with quiet(), mistake("undefined_name"):
            broken(integers(4, 8), nans(4, 8))
        assert pypto.get_vec_tile_shapes() == []
        x, out = integers(2, 3, 4), nans(2, 3, 4)
        unpacks(x, out)
        assert np.array_equal(out, x + 1)


def make(number, width):
    @pypto.frontend.jit
    def inner(x: pypto.Tensor([4, pypto.STATIC], FP32), out: pypto.Tensor([4, pypto.STATIC], FP32)):
        out[:] = x + float(number)

    return inner


def test_fc_155_kernels_of_the_same_name_and_second_specialisations(engine):
    kernels = [make(1, 4), make(2, 8)]
    for width in (4, 8, 4):
        for number, kernel in enumerate(kernels, 1):
            x, out = integers(4, width), nans(4, width)
            kernel(x, out)
            assert np.array_equal(out, x + number)


SCALE = 2.0


def helper(value):
    return value * SCALE


@pypto.frontend.jit
def uses_globals(x: pypto.Tensor([4], FP32), out: pypto.Tensor([4], FP32)):
    out[:] = helper(x)


def test_fc_157_a_rebound_global_or_helper_is_noticed_at_the_next_call(engine, monkeypatch):
    x = integers(4)

    def result():
        out = nans(4)
        uses_globals(x, out)
        return out

    assert np.array_equal(result(), x * 2)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert np.array_equal(result(), x * 3)
    monkeypatch.setitem(globals(), "helper", lambda value: value + 1.0)
    assert np.array_equal(result(), x + 1)


def test_fc_157_a_rebound_closure_value_is_noticed(engine):
    by = 1.0

    @pypto.frontend.jit
    def shifted(x: pypto.Tensor([4], FP32), out: pypto.Tensor([4], FP32)):
        out[:] = x + by

    for value in (1.0, 5.0):
        by = value
        x, out = integers(4), nans(4)
        shifted(x, out)
        assert np.array_equal(out, x + value)


def test_fc_157_an_edited_helper_recompiles_in_the_next_process(tmp_path):
    (tmp_path / "parts.py").write_text("def part(v):\n    return v * 2.0\n")
    (tmp_path / "main.py").write_text(
        """
import numpy as np, pypto
from parts import part
@pypto.jit
def kernel(x: pypto.Tensor([4], pypto.DT_FP32)):
    x[:] = part(x)
x = np.ones(4, np.float32)
kernel(x)
print(x[0])
"""
    )
    run = lambda: python(tmp_path / "main.py", cwd=tmp_path, PYPTO_CACHE_DIR=tmp_path / "cache", PYTHONDONTWRITEBYTECODE=1)
    assert run().stdout.strip() == "2.0"
    (tmp_path / "parts.py").write_text("def part(v):\n    return v * 7.0\n")
    done = run()
    assert done.stdout.strip() == "7.0", done.stderr


def test_fc_157_explain_says_what_changed(tmp_path):
    """One edit per run: a helper, what the helper reads, a global, a closure value, an argument, the kernel."""
    parts = "BY = {by}\ndef part(v):\n    return v * BY{more}\n"
    main = """
import sys
import numpy as np, pypto
from parts import part
SHIFT = {shift}
def make(c):
    @pypto.jit
    def kernel(x: pypto.Tensor([4], pypto.DT_FP32), twice=False):
        x[:] = part(x) + SHIFT + c
        {extra}
    return kernel
x = np.ones(4, np.float32)
make({cell})(x, twice={twice})
print(x[0])
"""
    texts = {"by": "2.0", "more": "", "shift": "0.0", "cell": "0.0", "twice": "False", "extra": "pass"}

    def run(**changed):
        texts.update(changed)
        (tmp_path / "parts.py").write_text(parts.format(**texts))
        (tmp_path / "main.py").write_text(main.format(**texts))
        environment = {"cwd": tmp_path, "PYPTO_CACHE_DIR": tmp_path / "cache", "PYTHONDONTWRITEBYTECODE": 1}
        done = python(tmp_path / "main.py", **environment)
        assert done.returncode == 0, done.stderr
        told = python("-m", "pypto", "cache", "explain", "make.<locals>.kernel", **environment).stdout.splitlines()
        return done.stdout.strip(), told[1]  # the newest entry comes first

    assert "first compilation" in run()[1]
    for changed, result, reason in (
        ({"by": "3.0"}, "3.0", "changed: global 'BY' of parts"),
        ({"more": " * 2.0"}, "6.0", "function 'part' of parts"),
        ({"shift": "1.0"}, "7.0", "changed: global 'SHIFT'"),
        ({"cell": "4.0"}, "11.0", "changed: closure value 'c'"),
        ({"twice": "True"}, "11.0", "changed: arguments"),
        ({"extra": "x[:] = x * 2.0"}, "22.0", "changed: kernel"),
    ):
        value, told = run(**changed)
        assert value == result and reason in told, (changed, value, told)


@pypto.frontend.jit
def later_checked(x: pypto.Tensor([4], FP32), out: pypto.Tensor([4], FP32)):
    out[:] = x * 2.0


def test_fc_158_options_turned_on_later_take_effect(tmp_path):
    x, out = integers(4), nans(4)
    later_checked(x, out)
    with pypto.options(run_options={"dump": str(tmp_path)}):
        later_checked(x, out)
    assert any(tmp_path.rglob("*")), "nothing was dumped"
    with pypto.options(run_options={"engine": "reference"}):
        out = nans(4)
        later_checked(x, out)
    assert np.array_equal(out, x * 2)


@pypto.frontend.jit
def wraps(
    a: pypto.Tensor([1, 131072], pypto.DT_INT8), b: pypto.Tensor([131072, 1], pypto.DT_INT8), out: pypto.Tensor([1, 1], INT32)
):
    out[:] = pypto.matmul(a, b, INT32)


def test_fc_158_validation_turned_on_later_takes_effect():
    a, b = np.full((1, 131072), -128, np.int8), np.full((131072, 1), -128, np.int8)
    out = np.zeros((1, 1), np.int32)
    for _ in range(2):
        wraps(a, b, out)
        assert out[0, 0] == -(2**31)
    with pypto.options(run_options={"checked": True}), quiet(), mistake("2147483648"):
        wraps(a, b, out)
    wraps(a, b, out)


@pypto.frontend.jit
def reshapes(x: pypto.Tensor([4, 4], FP32), out: pypto.Tensor([16], FP32)):
    r = pypto.reshape(out, [4, 4], inplace=True)
    r[:] = x + 1.0


def test_fc_159_an_inplace_reshape_hits_the_cache(engine):
    before = reshapes.compilations
    for _ in range(3):
        x, out = integers(4, 4), nans(16)
        reshapes(x, out)
        assert np.array_equal(out, x.reshape(16) + 1)
    assert reshapes.compilations == before + 1


MANY = """
import sys
import numpy as np, pypto
def make(number):
    @pypto.jit
    def kernel(x: pypto.Tensor([4], pypto.DT_FP32), out: pypto.Tensor([4], pypto.DT_FP32), by=number):
        out[:] = x * float(by)
    return kernel
x = np.ones(4, np.float32)
first = int(sys.argv[1])
for number in [*range(first, 16), *range(first)]:
    out = np.zeros(4, np.float32)
    make(number)(x, out)
    assert (out == number).all(), (number, out)
"""


def test_fc_162_eight_processes_compile_sixteen_kernels_into_one_directory(tmp_path):
    (tmp_path / "many.py").write_text(MANY)
    environment = {"PYTHONPATH": str(ROOT / "src"), "PYPTO_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, str(tmp_path / "many.py")]
    children = [subprocess.Popen([*command, str(2 * n)], env=environment, stderr=subprocess.PIPE, text=True) for n in range(8)]
    errors = [child.communicate(timeout=240)[1] for child in children]
    assert all(child.returncode == 0 for child in children), errors
    kept = ObjectCache(tmp_path / "cache")
    assert sum("kernel" in entry.about.kernel for entry in kept.entries()) == 16 and kept.dropped == 0


CACHED = """
import hashlib, pathlib, sys
import numpy as np, pypto
def scale(v): return v * 2.0
@pypto.jit
def kernel(
    x: pypto.Tensor([pypto.DYNAMIC, 40], pypto.DT_FP32),
    w: pypto.Tensor([40, 8], pypto.DT_BF16),
    out: pypto.Tensor([pypto.DYNAMIC, 8], pypto.DT_FP32),
):
    for i in pypto.loop(x.shape[0]):
        row = pypto.softmax(scale(x[i : i + 1, :]), -1)
        out[i : i + 1, :] = pypto.matmul(pypto.cast(row, pypto.DT_BF16), w, pypto.DT_FP32)
import ml_dtypes
g = np.random.default_rng(0)
x, w, out = g.standard_normal((9, 40)).astype("f"), g.standard_normal((40, 8)).astype(ml_dtypes.bfloat16), np.zeros((9, 8), "f")
kernel(x, w, out)
print(hashlib.sha256(out.tobytes()).hexdigest())
"""


def files_of(folder):
    """What the cache in ``folder`` holds, without the times that its entries carry."""
    kept = ObjectCache(folder)
    return {entry.key: kept.get(entry.key) for entry in kept.entries()}


def test_fc_161_artefacts_and_results_do_not_depend_on_the_hash_seed(tmp_path):
    script = tmp_path / "cached.py"
    script.write_text(CACHED)
    outputs, artefacts = set(), []
    for seed in (0, 1, 12345):
        folder = tmp_path / f"cache{seed}"
        done = python(script, PYTHONHASHSEED=seed, PYPTO_CACHE_DIR=folder)
        assert done.returncode == 0, done.stderr
        outputs.add(done.stdout)
        artefacts.append(files_of(folder))
    again = python(script, PYTHONHASHSEED=7, PYPTO_CACHE_DIR=tmp_path / "cache0")
    assert len(outputs | {again.stdout}) == 1
    assert artefacts[0] and artefacts[0].keys() == artefacts[1].keys() == artefacts[2].keys()
    assert artefacts[0] == artefacts[1] == artefacts[2]


def test_fc_162_processes_share_one_cache_directory(tmp_path):
    script = tmp_path / "cached.py"
    script.write_text(CACHED)
    environment = {"PYTHONPATH": str(ROOT / "src"), "PYPTO_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}
    children = [
        subprocess.Popen([sys.executable, script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    done = [child.communicate(timeout=120) for child in children]
    assert all(child.returncode == 0 for child in children), done
    assert len({out for out, _ in done}) == 1


def test_fc_162_threads_compile_sixteen_kernels():
    failures = []

    def work(number):
        for k in range(2):
            kernel, x, out = make(number * 2 + k, 4), integers(4, 4), nans(4, 4)
            kernel(x, out)
            if not np.array_equal(out, x + number * 2 + k):
                failures.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize(
    "options, fragments",
    [
        ({"run_options": {"engnie": "cpu"}}, ["engnie", "engine"]),
        ({"run_options": {"engine": "cpuu"}}, ["cpuu", "cpu", "reference"]),
        ({"runtime_options": {"device_sched_mod": 1}}, ["device_sched_mod", "device_sched_mode"]),
        ({"runtime_options": {"device_sched_mode": 9}}, ["device_sched_mode", "9"]),
    ],
)
def test_fc_164_misspelt_or_impossible_options(options, fragments):
    with mistake(*fragments):
        with pypto.options(**options):
            pass


LITTLE = """
import numpy as np
import pypto

@pypto.jit
def kernel(x: pypto.Tensor([4], pypto.DT_FP32)):
    x[:] = x + 1.0

x = np.ones(4, np.float32)
try:
    kernel(x)
    print("value", x[0])
except pypto.error.PyptoError as error:
    print("refused", str(error).splitlines()[0])
"""


@pytest.mark.parametrize("way", ["-c", "stdin", "exec", "interactive"])
def test_fc_165_kernels_without_a_file(way):
    if way == "-c":
        done = python("-c", LITTLE)
    elif way == "exec":
        done = python("-c", f"exec({LITTLE!r})")
    elif way == "stdin":
        done = python("-", stdin=LITTLE)
    else:
        text = LITTLE.replace("x[:] = x + 1.0\n", "x[:] = x + 1.0\n\n").replace("message", "message")
        text = text.replace(
            '    print("refused", str(error).splitlines()[0])\n', '    print("refused", str(error).splitlines()[0])\n\n'
        )
        done = python("-i", "-q", stdin=text)
    assert "value 2.0" in done.stdout or "refused" in done.stdout, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr


def test_fc_165_a_notebook_cell(engine):
    import linecache

    name = "<ipython-input-3-cell>"
    source = "import pypto\n@pypto.jit\ndef kernel(x: pypto.Tensor([4], pypto.DT_FP32)):\n    x[:] = x + 1.0\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = {}
    exec(compile(source, name, "exec"), names)
    x = integers(4)
    names["kernel"](x)
    assert np.array_equal(x, integers(4) + 1)


@pypto.frontend.jit
def read_often(x: pypto.Tensor([2, 4], FP32), out: pypto.Tensor([2, 4], FP32), readers=8000):
    shared = x * 2.0
    parts = [shared[0:1, :] * float(k % 3) for k in range(readers)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    out[0:1, :] = total
    out[1:2, :] = shared[1:2, :]


def test_fc_167_one_tensor_read_by_thousands():
    x, out = integers(2, 4), nans(2, 4)
    read_often(x, out)
    factors = sum(k % 3 for k in range(8000))
    assert np.array_equal(out, x * np.array([[2.0 * factors], [2.0]], np.float32))


def test_fc_167_work_of_compiling_grows_linearly(tmp_path):
    """Twice the ops, twice the calls of functions (counted, not timed): quadratic behaviour would show as four times."""

    def calls(number):
        kernel = define(
            tmp_path,
            f"""
@jit
def kernel(x: Tensor([4, 8], DT_FP32), out: Tensor([4, 8], DT_FP32)):
    y = x
    for k in range({number}):
        y = y + x
    out[:] = y
""",
        )
        count = 0

        def entered(frame, event, argument):
            nonlocal count
            count += event.endswith("call")

        with pypto.options(run_options={"engine": "reference"}):
            sys.setprofile(entered)
            try:
                kernel(integers(4, 8), nans(4, 8))
            finally:
                sys.setprofile(None)
        return count

    calls(100)
    assert calls(4000) < 2.1 * calls(2000)
