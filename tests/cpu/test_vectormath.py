"""Vector math: stated bounds, special values, the same bits on every instruction set."""

import math

import numpy as np
import pytest
from vector_harness import ALL, RUNNABLE, SPECIAL, run

from pypto.cpu.link import undefined_symbols
from pypto.cpu.target import named
from pypto.cpu.vectormath import FUNCTIONS, ULP, imports
from pypto.cpu.vectormath_check import JUDGES, arguments_of, compiled, errors, kernel_text, main, spread
from pypto.dtypes import DataType as D

INF, NAN = math.inf, math.nan


def inputs(name, bits=18):
    """Numbers over all bit patterns, the specials, and where the function does something."""
    random = np.random.default_rng(1)
    busy = (random.standard_normal(2**14) * np.float32(3)).astype(np.float32)
    x = np.concatenate([*spread(bits), np.resize(SPECIAL, 64), busy, np.exp(busy * 7).astype(np.float32)])
    if FUNCTIONS[name][0] == 1:
        return [x]
    few = np.resize(SPECIAL, 48)
    pairs = arguments_of(name, x, random)
    return [np.concatenate([pairs[0], np.repeat(few, 48)]), np.concatenate([pairs[1], np.tile(few, 48)])]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bound(name):
    arrays = inputs(name, 18 if FUNCTIONS[name][0] == 1 else 17)
    with np.errstate(all="ignore"):
        error = errors(compiled(name, named(RUNNABLE[0]))(*arrays), JUDGES[name](*(a.astype(np.float64) for a in arrays)))
    worst = int(error.argmax())
    assert error[worst] <= ULP[name], [float(a[worst]) for a in arrays]


@pytest.mark.skipif(len(RUNNABLE) < 2, reason="one instruction set only")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_same_bits_on_every_instruction_set(name):
    arrays = inputs(name, 17)
    results = [compiled(name, named(isa))(*arrays) for isa in RUNNABLE]
    for other in results[1:]:
        nan = np.isnan(results[0])
        assert (np.isnan(other) == nan).all()
        differ = np.nonzero((results[0].view(np.uint32) != other.view(np.uint32)) & ~nan)[0]
        assert not len(differ), [float(a[differ[0]]) for a in arrays]


SPECIALS = {
    "exp": [(0.0, 1), (-0.0, 1), (INF, INF), (-INF, 0), (89.0, INF), (-104.0, 0), (NAN, NAN)],
    "exp2": [
        (0.0, 1),
        (INF, INF),
        (-INF, 0),
        (128.0, INF),
        (127.0, 2.0**127),
        (-149.0, 2.0**-149),
        (-150.0, 0),
        (3.0, 8),
        (NAN, NAN),
        (1e30, INF),
    ],
    "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0), (INF, INF), (-1.0, NAN), (-INF, NAN), (NAN, NAN)],
    "log2": [(0.0, -INF), (1.0, 0), (8.0, 3), (2.0**-149, -149), (INF, INF), (-1.0, NAN), (NAN, NAN)],
    "log10": [(0.0, -INF), (1.0, 0), (1000.0, 3), (INF, INF), (-1.0, NAN)],
    "log1p": [(0.0, 0), (-0.0, -0.0), (-1.0, -INF), (INF, INF), (-2.0, NAN), (NAN, NAN), (1e-30, 1e-30)],
    "expm1": [(0.0, 0), (-0.0, -0.0), (INF, INF), (-INF, -1), (NAN, NAN), (1e-40, 1e-40)],
    "tanh": [(0.0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (20.0, 1), (NAN, NAN), (1e-40, 1e-40)],
    "erf": [(0.0, 0), (-0.0, -0.0), (INF, 1), (-INF, -1), (5.0, 1), (NAN, NAN)],
    "erfc": [(0.0, 1), (INF, 0), (-INF, 2), (11.0, 0), (NAN, NAN)],
    "sigmoid": [(0.0, 0.5), (INF, 1), (-INF, 0), (200.0, 1), (-200.0, 0), (NAN, NAN)],
    "sin": [(0.0, 0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN), (1e-40, 1e-40)],
    "cos": [(0.0, 1), (INF, NAN), (NAN, NAN)],
    "tan": [(0.0, 0), (-0.0, -0.0), (INF, NAN), (NAN, NAN)],
    "asin": [(0.0, 0), (-0.0, -0.0), (1.0, math.pi / 2), (1.5, NAN), (NAN, NAN)],
    "acos": [(1.0, 0), (-1.0, math.pi), (-1.5, NAN), (NAN, NAN)],
    "atan": [(0.0, 0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2), (NAN, NAN)],
    "sinh": [(0.0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (100.0, INF), (NAN, NAN)],
    "cosh": [(0.0, 1), (INF, INF), (-INF, INF), (NAN, NAN)],
    "asinh": [(0.0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (NAN, NAN)],
    "acosh": [(1.0, 0), (INF, INF), (0.5, NAN), (-INF, NAN), (NAN, NAN)],
    "atanh": [(0.0, 0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (2.0, NAN), (NAN, NAN)],
    "cbrt": [(0.0, 0), (-0.0, -0.0), (27.0, 3), (-8.0, -2), (INF, INF), (-INF, -INF), (NAN, NAN)],
    "sqrt": [(0.0, 0), (-0.0, -0.0), (4.0, 2), (-1.0, NAN), (INF, INF)],
    "rsqrt": [(0.0, INF), (-0.0, -INF), (4.0, 0.5), (-1.0, NAN), (INF, 0)],
    "reciprocal": [(0.0, INF), (-0.0, -INF), (INF, 0), (-INF, -0.0)],
}
POWERS = [
    ((2.0, 10.0), 1024), ((-2.0, 3.0), -8), ((-2.0, 2.0), 4), ((-2.0, 0.5), NAN), ((0.0, 0.0), 1), ((NAN, 0.0), 1),
    ((1.0, NAN), 1), ((NAN, 1.0), NAN), ((0.0, -1.0), INF), ((-0.0, -1.0), -INF), ((-0.0, -2.0), INF),
    ((-0.0, 3.0), -0.0), ((0.0, 2.0), 0), ((INF, -1.0), 0), ((-INF, 3.0), -INF), ((-INF, 2.0), INF),
    ((-INF, -3.0), -0.0), ((-1.0, INF), 1), ((-1.0, -INF), 1), ((0.5, INF), 0), ((2.0, -INF), 0), ((-INF, 0.5), INF),
    ((-1.0, 16777217.0), 1), ((-1.0, 8388607.0), -1), ((10.0, 38.0), 1e38), ((10.0, 39.0), INF),
    ((2.0, -149.0), 2.0**-149), ((0.5, -INF), INF),
]  # fmt: skip


def check(name, arguments, wanted):
    arrays = [np.resize(np.array(column, np.float32), 16 * (1 + len(column) // 16)) for column in zip(*arguments)]
    got = compiled(name, named(RUNNABLE[0]))(*arrays)[: len(arguments)]
    want = np.array(wanted, np.float32)
    close = np.abs(got - want) <= np.spacing(np.abs(want)) if not (name == "pow") else got == want
    right = np.where(np.isfinite(want), close, got == want) | (np.isnan(got) & np.isnan(want))
    assert (right & ((np.signbit(got) == np.signbit(want)) | np.isnan(want))).all(), list(zip(arguments, got, want))


@pytest.mark.parametrize("name", SPECIALS)
@pytest.mark.filterwarnings("ignore")
def test_special_values(name):
    check(name, [(x,) for x, _ in SPECIALS[name]], [y for _, y in SPECIALS[name]])


@pytest.mark.filterwarnings("ignore")
def test_special_powers():
    check("pow", [pair for pair, _ in POWERS], [power for _, power in POWERS])


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "fmod"])
def test_double(name):
    """fp64 vectors: the C library's values; its bound is 2 ULP."""
    random = np.random.default_rng(2)
    arrays = [np.abs(random.standard_normal(300)) * 0.9 for _ in range(FUNCTIONS[name][0])]
    if name == "acosh":
        arrays[0] += 1
    with np.errstate(all="ignore"):
        want = JUDGES[name](*arrays)
    got = run(lambda b, *v: b.call(name, *v), arrays, D.DT_DOUBLE)
    fine = np.abs(got - want) <= 4 * np.spacing(np.abs(want))
    assert (fine | (np.isnan(got) & np.isnan(want))).all()


@pytest.mark.parametrize("isa", ALL)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiles_everywhere_without_foreign_symbols(name, isa):
    object_bytes = named(isa).compile(kernel_text(name, named(isa))[0], verify=True)
    assert set(undefined_symbols(object_bytes)) <= {"memcpy", "memset"}


def test_imports_only_what_it_has():
    assert set(imports(["exp", "atan2", "pypto_parallel"])) == {"exp", "atan2"}


def test_the_command(capsys):
    assert main(["exp", "--bits", "12"]) == 0
    assert "ULP" in capsys.readouterr().out
