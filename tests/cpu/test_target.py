"""Targets: features to instruction set, reduced sets, and generation that never uses what a machine lacks."""

import os
import subprocess
import sys

import pytest

from pypto.cpu import target
from pypto.cpu.target import ISA_NAMES, Target, detected, host, named

X86_BASE = ["64bit", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2"]


def x86(*features):
    return Target("x86_64-unknown-linux-gnu", frozenset([*X86_BASE, *features]), host=False)


@pytest.mark.parametrize(
    "features, isa",
    [
        ([], "generic"),
        (["avx2"], "generic"),
        (["avx2", "fma"], "avx2"),
        (["avx2", "fma", "avx512f"], "avx2"),
        (["avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"], "avx512"),
    ],
)
def test_instruction_set_follows_from_features(features, isa):
    assert x86(*features).isa == isa
    assert x86(*features).compiled == (isa != "generic")


def test_names():
    for name in ISA_NAMES:
        assert named(name).isa == name
    with pytest.raises(ValueError, match="expected one of avx512, avx2"):
        named("sse")
    assert named("avx2").features <= named("avx512").features


def test_the_environment_reduces_the_host():
    code = "from pypto.cpu.target import host; print(host().isa)"
    for wanted in ISA_NAMES:
        environment = {**os.environ, "PYPTO_CPU_ISA": wanted}
        got = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()
        assert got == (wanted if named(wanted).host else detected().isa)


def test_keys_differ():
    keys = {named(name).key for name in ISA_NAMES} | {host().key}
    assert len(keys) >= len(ISA_NAMES)


@pytest.mark.skipif(detected().isa == "neon", reason="x86 features")
def test_tiles_that_the_process_may_not_use_are_not_in_the_key(monkeypatch):
    """A cache on disk is shared: code with tiles must not be found by a process that is denied them."""
    monkeypatch.setattr(
        target, "_detected", lambda: {**dict.fromkeys(["avx2", "fma", "amx-tile", "amx-bf16"], True), "sse4a": False}
    )
    found = []
    for permitted in (True, False):
        monkeypatch.setattr(target, "tiles_permitted", lambda answer=permitted: answer)
        found.append(detected.__wrapped__())
    allowed, denied = found
    assert allowed.has("amx-tile", "amx-bf16") and not any(f.startswith("amx") for f in denied.features)
    assert allowed.key != denied.key and "-amx-tile" in denied.feature_text and "+amx-tile" in allowed.feature_text
    assert denied.features == {"avx2", "fma"}


GENERATE = """
import sys
sys.path.insert(0, {tests!r})
from vector_harness import module_of
from test_vectors import NARROW, everything
from pypto.cpu.link import undefined_symbols
from pypto.cpu.target import Target, detected
from pypto.cpu.vectormath import FUNCTIONS
from pypto.cpu.vectormath_check import kernel_text
from pypto.dtypes import DataType

target = Target(detected().triple, frozenset({features!r}), host=False)
texts = [module_of(everything, [dtype], dtype, target).text() for dtype in NARROW]
texts += [kernel_text(name, target)[0] for name in FUNCTIONS]
allowed = {{"memcpy", "memset"}} if target.compiled else None
for text in texts:
    symbols = set(undefined_symbols(target.compile(text)) or ())
    if target.compiled and symbols - {{"memcpy", "memset"}}:
        sys.exit(f"needs {{symbols}}")
print(target.isa)
"""
V3 = [*X86_BASE, "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "avx"]
REDUCED = {
    "generic": X86_BASE,
    "avx2 alone": [*V3, "avx2", "fma"],
    "avx2": [*V3, "avx2", "fma", "f16c"],
    "avx512 without vl": [*V3, "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq"],
    "avx512f alone": [*V3, "avx2", "fma", "f16c", "avx512f"],
    "avx512": [*V3, "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl"],
}


@pytest.mark.skipif(detected().isa == "neon", reason="x86 features")
@pytest.mark.parametrize("name", REDUCED)
def test_no_feature_list_aborts_the_process(name):
    """In a child: an intrinsic that the machine lacks ends the process inside LLVM."""
    tests = os.path.dirname(__file__)
    code = GENERATE.format(tests=tests, features=sorted(REDUCED[name]))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == name.split()[0] if name != "avx512 without vl" and name != "avx512f alone" else "avx2"
