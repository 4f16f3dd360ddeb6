"""The user's symbolic scalar: text forms, folding, and every pinned row of simplify() (tensor API section 5.3)."""

import operator

import pytest

from pypto.frontend.symbolic import SatStatus, SymbolicScalar, scalar_of, symbolic_max, symbolic_min

S = SymbolicScalar
x, y, z, b, a, c = (S(name) for name in "xyzbac")

SIMPLIFIED = [
    (-(-x), "x"),
    (-(x - y), "(y-x)"),
    (+x, "x"),
    (~(~x), "x"),
    (~(x < y), "(y<=x)"),
    (~(x <= y), "(y<x)"),
    (~(x == y), "(x!=y)"),
    (~(x != y), "(x==y)"),
    ((x - y) + y, "x"),
    (x + (y - x), "y"),
    (x + x, "(x*2)"),
    (5 + x, "(x+5)"),
    (x - x, "0"),
    ((x + y) - y, "x"),
    ((x + y) - x, "y"),
    ((x - y) - (x - z), "(z-y)"),
    ((x + 5) - 3, "(x+2)"),
    ((x + 3) - y, "((x-y)+3)"),
    (x & 0, "0"),
    (x & 1, "x"),
    (x & x, "x"),
    (x | 0, "x"),
    (x | 1, "1"),
    (x | x, "x"),
    (~(x & y), "((!x)||(!y))"),
    (~(x | y), "((!x)&&(!y))"),
    ((x * 3) * 5, "(x*15)"),
    (3 * x, "(x*3)"),
    (x.min(y) * x.max(y), "(x*y)"),
    ((x * 6) / 3, "(x*2)"),
    ((x * 6) // 3, "(x*2)"),
    ((x / 4) / 2, "(x/8)"),
    ((x * 6) % 3, "0"),
    ((x + 6) % 3, "(x%3)"),
    (x.min(x), "x"),
    (x.max(x), "x"),
    ((x + y).min(x + z), "(x+RUNTIME_Min(y, z))"),
    ((x + y).max(x + z), "(x+RUNTIME_Max(y, z))"),
    (x.max(y).min(y), "y"),
    (x.min(y).max(y), "y"),
    (x.min(5), "RUNTIME_Min(x, 5)"),
    (x == x, "1"),
    (x <= x, "1"),
    (x >= x, "1"),
    (x != x, "0"),
    (x < x, "0"),
    (x > x, "0"),
    (x + y == x + z, "(y==z)"),
    (x + y != x + z, "(y!=z)"),
    (x + y < x + z, "(y<z)"),
    (x + y <= x + z, "(y<=z)"),
    (x * y + x * z, "((y+z)*x)"),
    (x & (x | y), "x"),
    (x | (x & y), "x"),
    (x & ~x, "0"),
    (~x & x, "0"),
    (x | ~x, "1"),
    (~x | x, "1"),
]


@pytest.mark.parametrize("scalar, expected", SIMPLIFIED, ids=[str(i) for i in range(len(SIMPLIFIED))])
def test_simplified_text(scalar, expected):
    assert str(scalar.simplify()) == expected


EAGER = [
    ((b >= 2) * (b < 8), "((b>=2)*(b<8))"),
    (y & S(20), "(y&&20)"),
    (y | S(10), "1"),
    (0 & y, "0"),
    ((x + 3) + 5, "(x+8)"),
    (0 + x, "x"),
    (5 + x, "(x+5)"),
    (x - 3, "(x-3)"),
    (x.min(2), "RUNTIME_Min(x, 2)"),
    (x.max(y), "RUNTIME_Max(x, y)"),
    (x.min(7).min(y).min(5), "RUNTIME_Min(RUNTIME_Min(x, y), 5)"),
    (x.min(y).min(x), "RUNTIME_Min(x, y)"),
    (x / y, "(x/y)"),
    (x // y, "(x/y)"),
    (x % y, "(x%y)"),
    (~x, "(!x)"),
    (x == 3, "(x==3)"),
    (x > 3, "(x>3)"),
    (S(7) * 6, "42"),
    (S("n", 4) * 2, "(n*2)"),
]


@pytest.mark.parametrize("scalar, expected", EAGER, ids=[str(i) for i in range(len(EAGER))])
def test_text_before_simplify(scalar, expected):
    assert str(scalar) == expected and repr(scalar) == expected


def clamp(x, y, z):
    return symbolic_min(symbolic_max(x - y, 0), z)


def test_clamp_composition():
    assert str(clamp(clamp(a, b, 512), 16, 16).simplify()) == str(symbolic_min(symbolic_max(a - b - 16, 0), 16))
    kept = str(clamp(symbolic_min(symbolic_max(x, 0), 8), 4, 16).simplify())
    assert "8" in kept and "RUNTIME_Min" in kept


def test_kinds_of_nodes():
    assert S(3).is_immediate() and S(3).is_concrete() and not S(3).is_symbol()
    assert x.is_symbol() and not x.is_concrete() and not x.is_immediate()
    named = S("n", 4)
    assert named.is_symbol() and named.is_concrete() and named.concrete() == 4
    assert (named + 1).is_expression() and int(named + 1) == 5 and (named + 1).is_concrete()
    assert S(S(5)).concrete() == 5 and scalar_of(named + 1) == 5
    assert str(S("x") - S("x")) == "0"


def test_not_concrete():
    for use in (int, bool, float, lambda s: s.concrete()):
        with pytest.raises(ValueError, match=r"Not concrete value\."):
            use(x + 1)
    with pytest.raises(ValueError, match=r"Not concrete value\."):
        if x == y:
            pass


def test_wrong_operands():
    for use in (lambda: x + "1", lambda: x.min("a"), lambda: 1.5 * x, lambda: x < None, lambda: x**2, lambda: x << 1):
        with pytest.raises(TypeError, match=r"Invalid type\."):
            use()
    with pytest.raises(TypeError):
        range(x)
    with pytest.raises(TypeError):
        [1, 2][x]
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(TypeError):
        S([1])


@pytest.mark.parametrize("divide", [operator.truediv, operator.floordiv, operator.mod])
def test_literal_zero_divisor(divide):
    with pytest.raises(ValueError, match=r"Division or Mod by zero\."):
        divide(x, 0)
    with pytest.raises(ValueError, match=r"Division or Mod by zero\."):
        divide(S(3), S("zero", 0)).concrete()


def test_python_semantics_on_numbers():
    for p in (-7, 7):
        for q in (-3, 3):
            assert int(S(p) // q) == p // q and int(p % S(q)) == p % q and int(S(p) / q) == p // q


def test_extras():
    assert x.as_variable() is None and x.as_expr() is x.scalar
    x._loop_begin = 3
    assert str(S.tenary(x > 0, x, 0)).startswith("RUNTIME_")
    assert int(S.tenary(1, 4, 5)) == 4
    assert isinstance(symbolic_min(1, 2), S) and int(symbolic_max(3, 2, 9)) == 9


def test_floats():
    from pypto.ir.symbols import Symbol

    scale = S(Symbol("scale", "float"))
    assert str(scale * 0.5) == "(scale*0.5)" and (scale / 2).kind == "float"


@pytest.mark.parametrize(
    "conditions, expected",
    [
        ([], "SAT"),
        ([S(1) == 1], "SAT"),
        ([x + y == y + x], "SAT"),
        ([S(1) == 2], "UNSAT"),
        ([False], "UNSAT"),
        ([a == b, b == c, c == a + 1], "UNSAT"),
        ([2 * x + 2 * y == 4, 2 * x + 2 * y == 6], "UNSAT"),
        ([x + 2 * y == 5, 2 * x + 4 * y == 11], "UNSAT"),
        ([2 * x == 3], "UNSAT"),
        ([2 * x + 2 * y == 5], "UNSAT"),
        ([2 * x + y == 1, y == 0], "UNSAT"),
        ([2 * x == 4, x <= 1], "UNSAT"),
        ([2 * x + 2 * y == 4, x + y >= 3], "UNSAT"),
        ([x > 5, x < 6], "UNSAT"),
        ([2 * x >= 5, x <= 2], "UNSAT"),
        ([x + y >= 0, x + y <= -1], "UNSAT"),
        ([x + 2 >= z, x + 8 <= z], "UNSAT"),
        ([x != 5, x == 5], "UNSAT"),
        ([x != x], "UNSAT"),
        ([(x > 5) & (x < 6)], "UNSAT"),
        ([x * 3 + y * 6 == 4], "UNSAT"),
        ([2 * x > 5, x <= 3], "UNKNOWN"),
        ([a == b, a == c], "UNKNOWN"),
        ([x >= 0], "UNKNOWN"),
        ([x != 5], "UNKNOWN"),
        ([y == x, x - y >= 0], None),
        ([x + 8 >= z, x + 8 <= z], "UNKNOWN"),
    ],
)
def test_check(conditions, expected):
    status = S.check(conditions)
    assert status is SatStatus[expected] if expected else status is not SatStatus.UNSAT


def test_feasible_begins_and_ends_of_an_unrolled_loop():
    """In a chunk of 32 iterations aligned to 32, only the first can begin and only the last can end the loop."""
    k, n = S("k"), S("n")
    index = k * 32
    paths = [[k >= 0, k < n]]
    for j in range(32):
        for flag in (index + j == 0, index + j == n * 32 - 1):
            paths = [p + [f] for p in paths for f in (flag, ~flag) if S.check(p + [f]) is not SatStatus.UNSAT]
    assert len(paths) == 4
