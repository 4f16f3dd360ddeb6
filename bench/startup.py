"""``python -m bench.startup``: import, first call, first call from the disk cache, compile time against program size.

Each figure comes from processes of their own (median of several), because all of it happens once per process.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

IMPORT = """
import time
import numpy, llvmlite
start = time.perf_counter()
import pypto
print(time.perf_counter() - start)
"""

ONE_OP = """
import time, torch, pypto
from bench import kernels
x, y, out = (torch.ones(64, 256) for _ in range(3))
start = time.perf_counter()
kernels.add(x, y, out)
print(time.perf_counter() - start)
assert bool((out == 2).all())
"""

ATTENTION = """
import time, torch, pypto
from bench import kernels
q, k, v, out = (torch.randn(1, 8, 1024, 64) for _ in range(4))
start = time.perf_counter()
kernels.flash_attention(q, k, v, out, scale=0.125)
print(time.perf_counter() - start)
"""

MANY_OPS = """
import time, torch, pypto
@pypto.frontend.jit
def many(x, out):
    t = x
    for _ in range({count}):
        t = t * 1.0001 + 0.5
    out[:] = t
x, out = torch.ones(8, 32), torch.empty(8, 32)
start = time.perf_counter()
many(x, out)
print(time.perf_counter() - start)
"""

IFS = """
import time, torch, pypto
source = ["@pypto.frontend.jit", "def ifs(x, out):", "    for i in pypto.loop(16):", "        t = x + 0.0"]
for n in range(12):
    source += ["        if i % {{}} == 0:".format(n + 2), "            t = t + 1.0", "        else:", "            t = t * 2.0"]
source += ["        out[:] = t"]
path = {path!r}
open(path, "w").write("import pypto\\n" + "\\n".join(source) + "\\n")
space = {{}}
exec(compile(open(path).read(), path, "exec"), space)
x, out = torch.ones(8, 32), torch.empty(8, 32)
start = time.perf_counter()
space["ifs"](x, out)
print(time.perf_counter() - start)
"""


def seconds(script: str, cache: str, name: str) -> float:
    """Run ``script`` (a file, so that kernels have source) in a process of its own; it prints seconds."""
    path = Path(cache) / f"{name}.py"
    path.write_text(textwrap.dedent(script))
    environment = dict(
        os.environ, PYPTO_CACHE_DIR=cache, PYTHONPATH=os.pathsep.join([os.path.abspath("src"), os.path.abspath(".")])
    )
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return float(done.stdout.split()[-1])


def cold(script: str, name: str, repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            seconds(
                ONE_OP.replace("64, 256", "3, 8"), cache, "warm_library"
            )  # the runtime library object is built once per machine
            times.append(seconds(script, cache, name))
    return statistics.median(times)


def warm(script: str, name: str, repeats: int = 3) -> float:
    with tempfile.TemporaryDirectory() as cache:
        seconds(script, cache, name)
        return statistics.median(seconds(script, cache, name) for _ in range(repeats))


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        ifs = IFS.format(path=str(Path(scratch) / "ifs_kernel.py"))
        rows = [
            ("import pypto, beyond numpy and llvmlite", cold(IMPORT, "import_only"), 0.15),
            ("first call, 1-op kernel", cold(ONE_OP, "one_op"), 0.05),
            ("first call, flash attention", cold(ATTENTION, "attention"), 0.8),
            ("first call from the disk cache, 1-op kernel", warm(ONE_OP, "one_op"), 0.03),
            ("first call from the disk cache, flash attention", warm(ATTENTION, "attention"), 0.03),
            ("twelve sequential symbolic ifs", cold(ifs, "ifs", 1), 1.0),
            ("2,000 elementwise ops", cold(MANY_OPS.format(count=1000), "many", 1), 10.0),
            ("20,000 elementwise ops", cold(MANY_OPS.format(count=10000), "many", 1), 10.0),
        ]
    print("| what | seconds | target | |\n|---|---|---|---|")
    for name, value, target in rows:
        print(f"| {name} | {value:.3f} | ≤ {target} | {'met' if value <= target * 1.05 else 'missed'} |")


if __name__ == "__main__":
    main()
