"""Random valid graphs of operations: chains, broadcasts, reductions, products, movement, partial views, blocks in a loop.

What fusion, loop nests and vector code are made of. Shapes are tracked while the text is written, so every program is valid; engines
must agree.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

Shape = tuple[int, ...]

# Steps lie where rounding does not decide: engines may differ in the last bit of ``erf``, not in its floor.
UNARY = [
    "-{a}", "pypto.abs({a})", "pypto.relu({a})", "pypto.exp({a} * 0.125)", "pypto.tanh({a})", "pypto.sigmoid({a})",
    "pypto.sqrt(pypto.abs({a}))", "pypto.rsqrt({a} * {a} + 1.0)", "pypto.erf({a})", "{a} * 0.5", "{a} + 1.5",
    "2.0 - {a}", "1.0 / ({a} * {a} + 2.0)", "pypto.clip({a}, -2.0, 3.0)",
    "pypto.floor({a} * 3.7 + 0.123)",
    "pypto.round({a} * 2.9 + 0.077)",
    "pypto.maximum({a}, 0.25)",
    "pypto.cast(pypto.cast({a} * 5.3 + 0.071, pypto.DT_INT32), pypto.DT_FP32)",
    "pypto.where({a} > 0.0, {a}, {a} * 0.1)", "pypto.sin({a})", "pypto.log1p(pypto.abs({a}))",
    "pypto.cast(pypto.cast({a}, pypto.DT_BF16), pypto.DT_FP32)", "pypto.clone({a})",
    "pypto.cast(pypto.cast({a}, pypto.DT_FP16), pypto.DT_FP32)", "pypto.sign({a} + 0.0137)", "pypto.trunc({a} * 3.3 + 0.219)",
]  # fmt: skip
BINARY = [
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / (pypto.abs({b}) + 1.0)", "pypto.maximum({a}, {b})",
    "pypto.minimum({a}, {b})", "pypto.where({a} > {b} + 0.37, {a}, {b} * 0.5)",
]  # fmt: skip
REDUCTIONS = ["sum", "amax", "amin"]
WIDTHS = [1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 40, 64, 100, 257, 600]


@dataclass
class Pool:
    """Values by shape while a program is written."""

    choose: random.Random
    shapes: dict[str, Shape] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    pad: str = "    "
    stem: str = "v"

    def add(self, text: str, shape: Shape) -> str:
        name = f"{self.stem}{len(self.shapes)}"
        self.lines.append(f"{self.pad}{name} = {text}")
        self.shapes[name] = shape
        return name

    def pick(self) -> str:
        names = list(self.shapes)
        return self.choose.choice(names[-4:] if self.choose.random() < 0.6 else names)


def _broadcast(a: Shape, b: Shape) -> Shape | None:
    if len(a) != len(b) or any(m != n and 1 not in (m, n) for m, n in zip(a, b, strict=True)):
        return None
    return tuple(max(m, n) for m, n in zip(a, b, strict=True))


def _unary(pool: Pool) -> None:
    a = pool.pick()
    pool.add(pool.choose.choice(UNARY).format(a=a), pool.shapes[a])


def _binary(pool: Pool) -> None:
    a = pool.pick()
    fits = [b for b, shape in pool.shapes.items() if _broadcast(pool.shapes[a], shape)]
    b = pool.choose.choice(fits)
    shape = _broadcast(pool.shapes[a], pool.shapes[b])
    assert shape is not None
    pool.add(pool.choose.choice(BINARY).format(a=a, b=b), shape)


def _reduce(pool: Pool) -> None:
    a = pool.pick()
    shape = pool.shapes[a]
    axis = pool.choose.randrange(len(shape))
    kept = tuple(1 if k == axis else n for k, n in enumerate(shape))
    name, axis = pool.choose.choice(REDUCTIONS), pool.choose.choice([axis, axis - len(shape)])
    pool.add(f"{a}.{name}({axis}, keepdim=True)" + (f" * {1 / shape[axis]!r}" if name == "sum" else ""), kept)


def _normalise(pool: Pool) -> None:
    a = pool.pick()
    text = pool.choose.choice(["pypto.softmax({a}, -1)", "{a} * pypto.rsqrt(({a} * {a}).sum(-1, keepdim=True) + 1.0)"])
    pool.add(text.format(a=a), pool.shapes[a])


def _product(pool: Pool) -> None:
    a = pool.pick()
    if len(pool.shapes[a]) < 2:
        return
    *batch, m, k = pool.shapes[a]
    fits = [b for b, s in pool.shapes.items() if list(s[:-2]) == batch and len(s) > 1 and k in s[-2:]]
    if not fits:
        return
    b = pool.choose.choice(fits)
    turned = pool.shapes[b][-2] != k
    n = pool.shapes[b][-2] if turned else pool.shapes[b][-1]
    kind, scale = pool.choose.choice(["FP32", "FP32", "BF16"]), f" * {1 / k!r}"
    left, right = (f"pypto.cast({v}, pypto.DT_BF16)" if kind == "BF16" else v for v in (a, b))
    pool.add(f"pypto.matmul({left}, {right}, pypto.DT_FP32, b_trans={turned}){scale}", (*batch, m, n))


def _move(pool: Pool) -> None:
    a = pool.pick()
    shape, c = pool.shapes[a], pool.choose
    if len(shape) < 2:
        return
    axis = c.randrange(len(shape))
    cut = c.randint(0, shape[axis] - 1)
    size = c.randint(1, shape[axis] - cut)
    key = ", ".join(f"{cut} : {cut + size}" if k == axis else ":" for k in range(len(shape)))
    sliced = tuple(size if k == axis else n for k, n in enumerate(shape))
    turned = (*shape[:-2], shape[-1], shape[-2])
    total = 1
    for n in shape:
        total *= n
    flat = (1,) * (len(shape) - 1) + (total,)
    joined = tuple(2 * n if k == axis else n for k, n in enumerate(shape))
    forms = [
        (f"{a}[{key}]", sliced),
        (f"{a}.transpose(-1, -2)", turned),
        (f"{a}.reshape({list(flat)})", flat),
        (f"pypto.concat([{a}, {a} * 2.0], {axis})", joined),
    ]
    text, result = c.choice(forms)
    if max(result) <= 4000:
        pool.add(text, result)


STEPS = [_unary, _unary, _unary, _binary, _binary, _binary, _reduce, _reduce, _normalise, _product, _move]


def _inputs(pool: Pool) -> list[tuple[str, Shape]]:
    c = pool.choose
    rank = c.choice([1, 2, 2, 2, 2, 3])
    sizes = [c.choice(WIDTHS[:11] if rank == 3 else WIDTHS) for _ in range(3)]  # small enough for the numpy engine
    shapes = [tuple(c.choice(sizes) if c.random() < 0.8 else 1 for _ in range(rank)) for _ in range(3)]
    inputs = [(f"x{k}", shape) for k, shape in enumerate(shapes)]
    for name, shape in inputs:
        pool.shapes[name] = shape
    return inputs


def _narrow(choose: random.Random, pool: Pool, inputs: list[tuple[str, Shape]]) -> str:
    """The element type of the inputs; narrow ones are widened first."""
    kind = choose.choice(["FP32", "FP32", "FP32", "BF16", "FP16"])
    if kind != "FP32":
        pool.lines += [f"    {name} = pypto.cast({name}, pypto.DT_FP32)" for name, _ in inputs]
    return kind


def _blocks(pool: Pool) -> list[str]:
    """Lines of a loop over blocks of rows with tails, fed by one value; its output is ``out_blocks``."""
    a = next((v for v in reversed(pool.shapes) if len(pool.shapes[v]) == 2), None)
    if a is None or not a.startswith("v"):
        return []
    rows, width = pool.shapes[a]
    step = pool.choose.randint(1, rows)
    inner = Pool(pool.choose, {"part": (step, width)}, pad="        ", stem="w")
    for _ in range(pool.choose.randint(1, 4)):
        pool.choose.choice([_unary, _binary, _normalise])(inner)
    last = list(inner.shapes)[-1]
    return [
        f"    total = pypto.zeros(1, {width})",
        f"    for i in pypto.loop({-(-rows // step)}):",
        f"        part = pypto.view({a}, [{step}, {width}], [i * {step}, 0])",
        *inner.lines,
        f"        pypto.assemble({last}, [i * {step}, 0], out_blocks)",
        f"        total = total + {last}.sum(0, keepdim=True)",
        "    out_total[:] = total",
    ]


def graph(choose: random.Random) -> str:
    """A program whose ``attempt()`` returns the outputs of a random graph.

    >>> "def attempt" in graph(random.Random(1))
    True
    """
    pool = Pool(choose)
    inputs = _inputs(pool)
    kind = _narrow(choose, pool, inputs)
    for _ in range(choose.randint(2, 12)):
        choose.choice(STEPS)(pool)
    made = [name for name in pool.shapes if name.startswith("v")] or [pool.add("x0 + 1.0", inputs[0][1])]
    kept = dict.fromkeys([*choose.sample(made, min(len(made), 2)), made[-1]])
    outputs = [(f"out_{name}", pool.shapes[name]) for name in kept]
    blocks = _blocks(pool) if choose.random() < 0.4 else []
    if blocks:
        rows, width = next(pool.shapes[v] for v in reversed(pool.shapes) if len(pool.shapes[v]) == 2)
        outputs += [("out_blocks", (rows, width)), ("out_total", (1, width))]
    body = [*pool.lines, *(f"    out_{name}[:] = {name}" for name in kept), *blocks]
    return _program(inputs, outputs, body, kind, choose.randint(0, 2**31))


def _program(inputs: list[tuple[str, Shape]], outputs: list[tuple[str, Shape]], body: list[str], kind: str, seed: int) -> str:
    kinds = {name: kind for name, _ in inputs}
    parameters = "".join(
        f"    {name}: pypto.Tensor({list(shape)}, pypto.DT_{kinds.get(name, 'FP32')}),\n" for name, shape in [*inputs, *outputs]
    )
    numpy_type = {"FP32": "np.float32", "FP16": "np.float16", "BF16": "ml_dtypes.bfloat16"}[kind]
    fill = "".join(f"    {name} = generator.standard_normal({shape}).astype({numpy_type})\n" for name, shape in inputs)
    empty = "".join(f"    {name} = np.full({shape}, np.nan, np.float32)\n" for name, shape in outputs)
    results = ", ".join(name for name, _ in outputs)
    call = ", ".join(name for name, _ in [*inputs, *outputs])
    return (
        "import ml_dtypes\nimport numpy as np\nimport pypto\n\n\n@pypto.frontend.jit\ndef kernel(\n"
        + parameters
        + "):\n"
        + "\n".join(body)
        + f"\n\n\ndef attempt():\n    generator = np.random.default_rng({seed})\n{fill}{empty}    kernel({call})\n    return ({results},)\n"
    )
