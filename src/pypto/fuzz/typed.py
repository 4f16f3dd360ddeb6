"""Random valid graphs over every element type, of operations whose result is one definite number: engines must agree to the bit.

Integer arithmetic with its extremes, shifts, casts of every mode, comparisons and masks, exactly rounded float arithmetic, reductions
and scans of integers, sorting and picking, partial views. Values are special more often than not.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

Shape = tuple[int, ...]

FLOATS = ["FP32", "FP32", "FP16", "BF16", "DOUBLE"]
INTEGERS = ["INT32", "INT32", "INT8", "INT16", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"]
SMALL = ["FP8E4M3", "FP8E5M2"]
TYPES = [*FLOATS, *INTEGERS, *INTEGERS, *SMALL, "BOOL"]
SIZES = {"INT8": 8, "UINT8": 8, "INT16": 16, "UINT16": 16, "INT32": 32, "UINT32": 32, "INT64": 64, "UINT64": 64}

FLOAT_UNARY = [
    "-{a}", "pypto.abs({a})", "pypto.relu({a})", "pypto.sqrt({a})", "pypto.floor({a})", "pypto.ceil({a})",
    "pypto.round({a})", "pypto.trunc({a})", "pypto.sign({a})", "{a} * 0.75", "1.5 - {a}", "2.0 / {a}", "{a} / 3.0",
    "pypto.clip({a}, -2.5, 3.0)", "pypto.maximum({a}, 0.5)", "pypto.minimum({a}, -1.0)", "pypto.reciprocal({a})",
]  # fmt: skip
FLOAT_BINARY = ["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "pypto.maximum({a}, {b})", "pypto.minimum({a}, {b})"]
INTEGER_UNARY = [
    "-{a}", "pypto.bitwise_not({a})", "{a} + 3", "{a} - 1", "{a} * 5", "7 - {a}", "pypto.floor_div({a}, 3)", "{a} % 5",
    "pypto.clip({a}, 1, 77)", "pypto.bitwise_left_shift({a}, {s})", "pypto.bitwise_right_shift({a}, {s})",
    "pypto.pow({a}, 3)", "pypto.fmod({a}, 7)", "pypto.maximum({a}, 4)", "pypto.floor_div({a}, 1)", "{a} & 29",
    "pypto.floor_div(100, {a})", "pypto.remainder(100, {a})",
]  # fmt: skip
SIGNED_UNARY = [
    "pypto.abs({a})",
    "pypto.sign({a})",
    "pypto.relu({a})",
    "pypto.floor_div({a}, -2)",
    "{a} % -3",
    "pypto.fmod({a}, -4)",
]
INTEGER_BINARY = [
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "pypto.floor_div({a}, {b})", "pypto.remainder({a}, {b})", "pypto.fmod({a}, {b})",
    "pypto.maximum({a}, {b})", "pypto.minimum({a}, {b})", "{a} & {b}", "{a} | {b}", "{a} ^ {b}",
    "pypto.bitwise_left_shift({a}, {b})", "pypto.bitwise_right_shift({a}, {b})",
]  # fmt: skip
COMPARISONS = ["{a} > {b}", "{a} >= {b}", "{a} == {b}", "{a} != {b}", "{a} < {b}", "{a} <= {b}"]
MODES = ["NONE", "NONE", "RINT", "ROUND", "FLOOR", "CEIL", "TRUNC", "ODD"]
WIDTHS = [1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65, 100]


@dataclass
class Pool:
    """Values by type and shape while a program is written."""

    choose: random.Random
    kinds: dict[str, tuple[str, Shape]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def add(self, text: str, kind: str, shape: Shape) -> None:
        name = f"v{len(self.kinds)}"
        self.lines.append(f"    {name} = {text}")
        self.kinds[name] = (kind, shape)

    def pick(self, *kinds: str) -> str | None:
        """A value of one of the types, recent ones more often."""
        names = [name for name, (kind, _) in self.kinds.items() if not kinds or kind in kinds]
        return self.choose.choice(names[-3:] if self.choose.random() < 0.6 else names) if names else None

    def partner(self, name: str) -> tuple[str, Shape] | None:
        """A value of the same type that broadcasts with ``name``, and the shape of the two."""
        kind, shape = self.kinds[name]
        fits = []
        for other, (other_kind, other_shape) in self.kinds.items():
            if other_kind == kind and len(shape) == len(other_shape):
                if all(1 in (m, n) or m == n for m, n in zip(shape, other_shape, strict=True)):
                    fits.append((other, tuple(n if m == 1 else m for m, n in zip(shape, other_shape, strict=True))))
        return self.choose.choice(fits) if fits else None


def _unary(pool: Pool) -> None:
    a = pool.pick(*FLOATS, *INTEGERS)
    if a is None:
        return
    kind, shape = pool.kinds[a]
    forms = FLOAT_UNARY if kind in FLOATS else INTEGER_UNARY + (SIGNED_UNARY if kind[0] == "I" else [])
    bits = SIZES.get(kind, 32)
    shift = pool.choose.choice([0, 1, 3, bits - 1, bits, bits + 5])
    pool.add(pool.choose.choice(forms).format(a=a, s=shift), kind, shape)


def _binary(pool: Pool) -> None:
    a = pool.pick(*FLOATS, *INTEGERS)
    if a is None or (found := pool.partner(a)) is None:
        return
    kind, shape = pool.kinds[a][0], found[1]
    roll = pool.choose.random()
    if roll < 0.2:
        pool.add(pool.choose.choice(COMPARISONS).format(a=a, b=found[0]), "BOOL", shape)
    elif roll < 0.3 and kind in INTEGERS:
        pool.add(f"pypto.div({a}, {found[0]})", "FP32", shape)
    else:
        forms = FLOAT_BINARY if kind in FLOATS else INTEGER_BINARY
        pool.add(pool.choose.choice(forms).format(a=a, b=found[0]), kind, shape)


def _cast(pool: Pool) -> None:
    a = pool.pick()
    if a is None:
        return
    kind = pool.choose.choice(TYPES)
    mode, saturation = pool.choose.choice(MODES), pool.choose.choice(["ON", "OFF"])
    text = f"pypto.cast({a}, pypto.DT_{kind}, pypto.CastMode.CAST_{mode}, satmode=pypto.SaturationMode.{saturation})"
    pool.add(text, kind, pool.kinds[a][1])


def _mask(pool: Pool) -> None:
    c, a = pool.pick("BOOL"), pool.pick(*FLOATS, *INTEGERS)
    if a is None:
        return
    kind, shape = pool.kinds[a]
    if c is None or pool.choose.random() < 0.2:
        pool.add(f"pypto.logical_not({a})", "BOOL", shape)
    elif pool.kinds[c][1] == shape:
        number = f"pypto.Element(pypto.DT_{kind}, 1.5)" if kind in FLOATS else "3"  # a bare 1.5 is FP32
        other = found[0] if (found := pool.partner(a)) and pool.kinds[found[0]][1] == shape else number
        pool.add(f"pypto.where({c}, {a}, {other})", kind, shape)


def _reduce(pool: Pool) -> None:
    a = pool.pick(*FLOATS, *INTEGERS)
    if a is None:
        return
    kind, shape = pool.kinds[a]
    axis = pool.choose.randrange(len(shape))
    kept = tuple(1 if k == axis else n for k, n in enumerate(shape))
    name = pool.choose.choice(["amax", "amin", "argmax", "argmin"] + ([] if kind in FLOATS else ["sum", "prod", "sum"]))
    signed = kind in FLOATS and name in ("amax", "amin")  # of zeros of both signs either may come out: make it +0
    pool.add(f"pypto.{name}({a}, {axis}, True){' + 0.0' if signed else ''}", "INT32" if name.startswith("arg") else kind, kept)


def _arrange(pool: Pool) -> None:
    a = pool.pick()
    if a is None:
        return
    (kind, shape), c = pool.kinds[a], pool.choose
    axis = c.randrange(len(shape))
    if 0 in shape:
        flat = [-1] if c.random() < 0.5 else [1, *shape]
        return pool.add(f"pypto.reshape({a}, {flat})", kind, (0,) if flat == [-1] else tuple(flat))
    cut = c.randint(0, shape[axis] - 1)
    size = c.randint(1, shape[axis] - cut)
    key = ", ".join(f"{cut} : {cut + size}" if k == axis else ":" for k in range(len(shape)))
    forms = [
        (f"{a}[{key}]", kind, tuple(size if k == axis else n for k, n in enumerate(shape))),
        (f"pypto.concat([{a}, {a}], {axis})", kind, tuple(2 * n if k == axis else n for k, n in enumerate(shape))),
        (f"pypto.transpose({a}, 0, {len(shape) - 1})", kind, (shape[-1], *shape[1:-1], shape[0]) if len(shape) > 1 else shape),
    ]
    if kind in FLOATS or kind in INTEGERS:
        order = c.choice(["True", "False"])
        k = c.randint(1, shape[-1])
        forms += [(f"pypto.topk({a}, {k}, largest={order})[{n}]", t, (*shape[:-1], k)) for n, t in enumerate((kind, "INT32"))]
        if len(shape) > 1:
            forms += [(f"pypto.{c.choice(['tril', 'triu'])}({a}, {c.randint(-3, 3)})", kind, shape)]
    if kind in INTEGERS:
        forms += [(f"pypto.cumsum({a}, {axis})", "INT64", shape)] * 2
    if kind in ("INT32", "INT64"):
        picks = [v for v, (_, s) in pool.kinds.items() if len(s) == len(shape) and s[:-1] == shape[:-1]]
        v = c.choice(picks)
        forms += [
            (f"pypto.gather({v}, {len(shape) - 1}, pypto.clip({a}, 0, {pool.kinds[v][1][-1] - 1}))", pool.kinds[v][0], shape)
        ] * 2
    text, kind, result = c.choice(forms)
    if max(result) <= 300:
        pool.add(text, kind, result)


STEPS = [_unary, _unary, _unary, _binary, _binary, _binary, _cast, _cast, _mask, _reduce, _arrange]

PROGRAM = """\
import ml_dtypes
import numpy as np
import pypto

TYPES = {{"FP32": "f4", "FP16": "f2", "BF16": ml_dtypes.bfloat16, "DOUBLE": "f8", "BOOL": "?", "INT8": "i1", "INT16": "i2"}}
TYPES |= {{"INT32": "i4", "INT64": "i8", "UINT8": "u1", "UINT16": "u2", "UINT32": "u4", "UINT64": "u8"}}
TYPES |= {{"FP8E4M3": ml_dtypes.float8_e4m3fn, "FP8E5M2": ml_dtypes.float8_e5m2}}
SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.5, -2.5, np.nan, np.inf, -np.inf, 1e-40, -3e38, 65519.0, 65520.0, 463.9, 300.7, 2.0**31, -1.0, 3.0]


def data(generator, kind, shape):
    dtype = np.dtype(TYPES[kind])
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        small = generator.integers(max(low, -9), 10, shape)
        extremes = np.array([low, high, low + 1, high - 1, 0], dtype)
        return np.where(generator.random(shape) < 0.7, small.astype(dtype), generator.choice(extremes, shape)).astype(dtype)
    small = generator.integers(-40, 41, shape) / 4
    with np.errstate(all="ignore"):
        return np.where(generator.random(shape) < 0.7, small, generator.choice(SPECIAL, shape)).astype(dtype)


def bits(array):
    if array.dtype.kind == "b" or array.dtype.kind in "iu":
        return array
    array = array.copy()
    array[np.isnan(array.astype("f8"))] = np.nan
    return array.view(f"u{{array.dtype.itemsize}}")


@pypto.frontend.jit
def kernel(
{parameters}):
{body}


def attempt():
    generator = np.random.default_rng({seed})
{data}
    kernel({call})
    return tuple(bits(array) for array in ({results},))
"""


def _inputs(pool: Pool) -> list[tuple[str, str, Shape]]:
    c = pool.choose
    rank = c.choice([1, 2, 2, 2, 3])
    sizes = [c.choice(WIDTHS[:9] if rank == 3 else WIDTHS) for _ in range(2)]
    if c.random() < 0.05:
        sizes[1] = 0
    kinds = [c.choice(TYPES) for _ in range(2)]
    inputs = []
    for k in range(4):
        shape = tuple(c.choice(sizes) if c.random() < 0.85 else 1 for _ in range(rank))
        kind = c.choice(kinds) if c.random() < 0.7 else c.choice(TYPES)
        inputs.append((f"x{k}", kind, shape))
        pool.kinds[f"x{k}"] = (kind, shape)
    return inputs


def typed(choose: random.Random) -> str:
    """A program whose ``attempt()`` returns the bits of the outputs of a random graph.

    >>> "def attempt" in typed(random.Random(1))
    True
    """
    pool = Pool(choose)
    inputs = _inputs(pool)
    for _ in range(choose.randint(3, 14)):
        choose.choice(STEPS)(pool)
    made = [name for name in pool.kinds if name.startswith("v")]
    kept = dict.fromkeys([*choose.sample(made, min(len(made), 2)), *made[-1:], *([] if made else ["x0"])])
    outputs = [(f"out_{name}", *pool.kinds[name]) for name in kept]
    declared = [*inputs, *outputs]
    return PROGRAM.format(
        parameters="".join(f"    {name}: pypto.Tensor({list(shape)}, pypto.DT_{kind}),\n" for name, kind, shape in declared),
        body="\n".join([*pool.lines, *(f"    out_{name}[:] = {name}" for name in kept)]),
        seed=choose.randint(0, 2**31),
        data="\n".join(f"    {name} = data(generator, {kind!r}, {shape})" for name, kind, shape in declared),
        call=", ".join(name for name, _, _ in declared),
        results=", ".join(name for name, _, _ in outputs),
    )
