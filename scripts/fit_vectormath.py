"""Compute the coefficients of src/pypto/cpu/vectormath_tables.py and print that file.

Least squares at Chebyshev nodes, reweighted (Lawson) towards the minimax, coefficients rounded to their storage type one at a
time from the lowest, the rest fitted again after each. Needs mpmath, which torch brings along.
"""

from __future__ import annotations

import sys

import mpmath
import numpy as np

mpmath.mp.prec = 120
WIDE = np.longdouble


def exact(function, points):
    """``function`` (of mpmath) at float64 points, as extended precision."""
    return np.array([WIDE(mpmath.nstr(function(mpmath.mpf(float(x))), 25)) for x in points], WIDE)


def nodes(low, high, count):
    angle = (np.arange(count) + 0.5) * np.pi / count
    return (low + high) / 2 + (high - low) / 2 * np.cos(angle)


def lawson(basis, target, weight, rounds=40):
    """Coefficients minimising max |weight * (basis @ c - target)|."""
    scale = np.abs(basis).max(axis=0)
    scale[scale == 0] = 1
    share = np.ones(len(target), WIDE)
    best, least = None, np.inf
    for _ in range(rounds):
        w = (np.sqrt(share) * weight).astype(np.float64)
        found = np.linalg.lstsq((basis / scale).astype(np.float64) * w[:, None], (target * w).astype(np.float64), rcond=None)[0]
        # One step of refinement in extended precision: the residual is far below float64's.
        rest = target - (basis / scale) @ found.astype(WIDE)
        more = np.linalg.lstsq((basis / scale).astype(np.float64) * w[:, None], (rest * w).astype(np.float64), rcond=None)[0]
        answer = (found.astype(WIDE) + more) / scale
        error = np.abs((basis @ answer - target) * weight)
        if error.max() < least:
            best, least = answer, error.max()
        share = share * (error + error.max() * 1e-3)
        share /= share.sum()
    return best, float(least)


def fit(function, low, high, powers, weight, kind, fixed=(), count=160):
    """``function ≈ sum c_k x**powers[k]``; returns coefficients of type ``kind`` (``fixed`` first) and the weighted error."""
    x = nodes(low, high, count)
    target = exact(function, x)
    w = np.array([WIDE(float(weight(v))) for v in x], WIDE)
    columns = np.stack([x.astype(WIDE) ** p for p in powers], axis=1)
    rounded = [kind(c) for c in fixed]
    while len(rounded) < len(powers):
        done = len(rounded)
        rest = target - columns[:, :done] @ np.array(rounded, WIDE) if done else target
        found, _ = lawson(columns[:, done:], rest, w)
        rounded.append(kind(found[0]))
    error = np.abs((columns @ np.array(rounded, WIDE) - target) * w)
    return rounded, float(error.max())


def report(name, error):
    print(f"{name}: 2**{np.log2(error):.1f}", file=sys.stderr)


def root_series(function):
    """``(f(x) / x - 1) / x**2`` of an odd function, in s = x**2."""
    return lambda s: (function(mpmath.sqrt(s)) / mpmath.sqrt(s) - 1) / s


def scaled_erfc(t):
    """``erfc(x) exp(x**2) (1 + 2x)`` in t = (x - 2) / (x + 2)."""
    x = 2 * (1 + t) / (1 - t)
    return mpmath.erfc(x) * mpmath.exp(x**2) * (1 + 2 * x)


def double_polynomials():
    """Polynomials evaluated in double for functions that are rounded once to fp32: relative error around 2**-37 or better."""
    mp, half = mpmath, mpmath.mpf(1) / 2
    ln2, quarter_pi = float(mp.log(2)) / 2 * 1.001, float(mp.pi / 4) * 1.001
    wanted = {
        "EXPM1": (lambda r: (mp.expm1(r) - r) / r**2 if r else half, -ln2, ln2, 7, lambda v: v * v + 1e-9),
        "EXP2": (lambda r: mp.mpf(2) ** r, -0.501, 0.501, 9, lambda v: 1.0),
        "LOG1P": (lambda t: (mp.log1p(t) - t) / t**2 if t else -half, -0.2501, 0.5001, 16, lambda v: 1.0),
        "SIN": (root_series(mp.sin), 1e-9, quarter_pi**2, 4, lambda v: v),
        "COS": (lambda s: (mp.cos(mp.sqrt(s)) - 1) / s, 1e-9, quarter_pi**2, 5, lambda v: v),
        "ATAN": (root_series(mp.atan), 1e-9, 1.0, 13, lambda v: v),
        "ASIN": (root_series(mp.asin), 1e-9, 0.2501, 8, lambda v: v),
        "ERFC": (scaled_erfc, -1.0, (10.2 - 2) / (10.2 + 2), 16, lambda v: 1.0),
    }
    for name, (function, low, high, terms, weight) in wanted.items():
        coefficients, error = fit(function, low, high, list(range(terms)), weight, np.float64)
        report(name, error)
        print(f"{name} = (")
        for c in coefficients:
            print(f"    {float(c)!r},")
        print(")")


def as_float(bits):
    return np.uint32(bits).view(np.float32)


def bits_of(value):
    return int(np.float32(value).view(np.uint32))


def ulp(value):
    return float(np.spacing(np.float32(abs(float(value)))))


def middle(function, low, high, search=2000):
    """An fp32 number near the middle of the segment where ``function`` is almost an fp32 number itself."""
    centre = bits_of((low + high) / 2)
    best = None
    for bits in range(centre - search, centre + search + 1):
        x = as_float(bits)
        y = function(mpmath.mpf(float(x)))
        miss = abs(mpmath.mpf(float(np.float32(float(y)))) - y) / ulp(y)
        if best is None or miss < best[0]:
            best = (miss, x, np.float32(float(y)))
    return best[1], best[2]


def first_segment(function, slope, degree, high):
    """Around 0 the function is ``d + d * (slope - 1 + …)``: x0 and c0 are 0, c0 is replaced by d when it is used."""
    found, error = fit(
        lambda d: function(d) / d - 1,
        1e-7,
        high,
        range(degree),
        lambda d: d / ulp(function(mpmath.mpf(d))),
        np.float32,
        [slope - 1],
    )
    return np.float32(0), np.float32(0), found, error


def segment_fit(function, degree, low, high):
    x0, c0 = middle(function, low, high)
    start, value = mpmath.mpf(float(x0)), mpmath.mpf(float(c0))
    found, error = fit(
        lambda d: function(start + d) - value,
        low - float(x0),
        high - float(x0),
        range(1, degree + 1),
        lambda d: 1 / ulp(function(start + d)),
        np.float32,
    )
    return x0, c0, found, error


def table(name, function, slope, degree, last_start):
    """32 segments, four an octave; the last begins at ``last_start`` and holds the constant 1."""
    base = (bits_of(last_start) >> 21) - 31
    rows, worst = [], 0.0
    for segment in range(31):
        low, high = (float(as_float((base + segment + k) << 21)) for k in (0, 1))
        x0, c0, found, error = (
            segment_fit(function, degree, low, high) if segment else first_segment(function, slope, degree, high)
        )
        worst = max(worst, error)
        rows.append([x0, c0, *found])
    rows.append([np.float32(last_start), np.float32(1)] + [np.float32(0)] * degree)
    print(f"{name}: {worst:.3f} ULP before rounding", file=sys.stderr)
    print(f"{name}_BASE = {base:#x}")
    print(f"{name} = (  # x0, c0, c1 …")
    for column in zip(*rows, strict=True):
        numbers = [np.format_float_scientific(v, unique=True) if v else "0.0" for v in column]
        print(
            "    (\n"
            + "".join("        " + " ".join(f"{n}," for n in numbers[i : i + 8]) + "\n" for i in range(0, 32, 8))
            + "    ),"
        )
    print(")")


def main():
    print('"""Coefficients of cpu/vectormath.py, printed by scripts/fit_vectormath.py."""\n\n# ruff: noqa: E501\n# fmt: off')
    double_polynomials()
    with mpmath.workprec(420):
        digits = int(mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** 384))
    print("# The first 384 bits of 2/pi after the point.")
    print(f"TWO_OVER_PI = {digits:#x}")
    table("TANH", mpmath.tanh, 1.0, 6, 10.0)
    table("ERF", mpmath.erf, float(2 / mpmath.sqrt(mpmath.pi)), 7, 4.0)


if __name__ == "__main__":
    main()
