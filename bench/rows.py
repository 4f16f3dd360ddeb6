"""The rows of the table: inputs, our call, the peers' calls, the check, and the target of each.

A row is a function that returns a ``Row``; it is called only when the row is run, so that memory is freed between rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F

from bench import kernels

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass
class Row:
    """``ours`` and ``peers`` are calls without arguments; ``check`` compares our output with a float64 result (raises)."""

    ours: Callable[[], object]
    peers: dict[str, Callable[[], object]]
    check: Callable[[], None]
    targets: dict[str, float] = field(default_factory=dict)  # peer -> least ratio (peer time / our time)
    bytes: float = 0.0  # memory traffic, for the share of a copy
    flops: float = 0.0
    limit: float = 0.0  # seconds it may take, where there is a limit instead of a peer


def compiled(function: Callable[..., object]) -> Callable[..., object]:
    torch._dynamo.reset()
    return torch.compile(function, dynamic=False)


def random(*shape: int, dtype: str = "fp32", scale: float = 1.0, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(*shape, generator=generator) * scale).to(TYPES[dtype])


def close(out: torch.Tensor, exact: torch.Tensor, relative: float, absolute: float) -> None:
    error = (out.double() - exact).abs()
    bound = absolute + relative * exact.abs()
    if not bool((error <= bound).all()):
        raise AssertionError(f"largest error {error.max().item():.3g}, allowed {bound.max().item():.3g}")


# One rounding of the result type plus a few of the intermediate ops (each op of a half type rounds once).
RELATIVE = {"fp32": 2e-5, "bf16": 4e-2, "fp16": 6e-3}


def chain(dtype: str, rows: int = 4096, columns: int = 4096) -> Row:
    x, y = random(rows, columns, dtype=dtype, scale=0.5), random(rows, columns, dtype=dtype, scale=0.5, seed=1)
    out, other = torch.empty_like(x), torch.empty_like(x)

    def eager(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return ((a * b + 1.5) * a - b * 0.5).exp() / (a * a + 2)

    temporaries = [torch.empty_like(x) for _ in range(3)]

    def with_out() -> None:
        t, u, w = temporaries
        torch.mul(x, y, out=t)
        t.add_(1.5).mul_(x)
        torch.mul(y, 0.5, out=u)
        t.sub_(u).exp_()
        torch.mul(x, x, out=w)
        w.add_(2)
        torch.div(t, w, out=other)

    fast = compiled(eager)
    # The same bytes: the chain reads two arrays and writes one, a copy of one and a half arrays moves as much.
    source, target = (torch.zeros(x.numel() * 3 // 2, dtype=x.dtype) for _ in range(2))

    def copy() -> None:
        target.copy_(source)

    return Row(
        partial(kernels.chain, x, y, out),
        {"torch eager": lambda: eager(x, y), "torch out=": with_out, "torch.compile": lambda: fast(x, y), "copy": copy},
        lambda: close(out, eager(x.double(), y.double()), RELATIVE[dtype] * 4, 1e-6),
        {"torch eager": 8.0, "torch out=": 2.5, "torch.compile": 1.0, "copy": 0.9},
        bytes=3 * x.numel() * x.element_size(),
    )


def softmax(dtype: str, rows: int, columns: int) -> Row:
    x = random(rows, columns, dtype=dtype)
    out = torch.empty_like(x)
    fast = compiled(lambda a: torch.softmax(a, -1))
    return Row(
        partial(kernels.softmax, x, out),
        {"torch": lambda: torch.softmax(x, -1), "torch.compile": lambda: fast(x)},
        lambda: close(out, torch.softmax(x.double(), -1), RELATIVE[dtype], 1e-6),
        {"torch": 1.0, "torch.compile": 1.0},
        bytes=2 * x.numel() * x.element_size(),
    )


def rms_norm(dtype: str, rows: int, columns: int) -> Row:
    x, gamma = random(rows, columns, dtype=dtype), random(columns, dtype=dtype, seed=1)
    out = torch.empty_like(x)
    fast = compiled(lambda a, g: F.rms_norm(a, (columns,), g, 1e-6))
    return Row(
        partial(kernels.rms_norm, x, gamma, out),
        {"torch": lambda: F.rms_norm(x, (columns,), gamma, 1e-6), "torch.compile": lambda: fast(x, gamma)},
        lambda: close(out, F.rms_norm(x.double(), (columns,), gamma.double(), 1e-6), RELATIVE[dtype], 1e-5),
        {"torch": 1.0, "torch.compile": 1.0},
        bytes=2 * x.numel() * x.element_size(),
    )


def layer_norm(dtype: str, rows: int, columns: int) -> Row:
    x, gamma = random(rows, columns, dtype=dtype), random(1, columns, dtype=dtype, seed=1)
    beta = random(1, columns, dtype=dtype, seed=2)
    out = torch.empty_like(x)

    def peer(a: torch.Tensor, g: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(a, (columns,), g[0], b[0], 1e-5)

    fast = compiled(peer)
    return Row(
        partial(kernels.layer_norm, x, gamma, beta, out),
        {"torch": lambda: peer(x, gamma, beta), "torch.compile": lambda: fast(x, gamma, beta)},
        lambda: close(out, peer(x.double(), gamma.double(), beta.double()), RELATIVE[dtype], 1e-4),
        {"torch": 1.0, "torch.compile": 1.0},
        bytes=2 * x.numel() * x.element_size(),
    )


def gelu_softmax(rows: int = 4096, columns: int = 1024) -> Row:
    x = random(rows, columns)
    out = torch.empty_like(x)

    def peer(a: torch.Tensor) -> torch.Tensor:
        return torch.softmax(F.gelu(a, approximate="tanh") * 2 + 1, -1)

    fast = compiled(peer)
    return Row(
        partial(kernels.gelu_softmax, x, out),
        {"torch eager": lambda: peer(x), "torch.compile": lambda: fast(x)},
        lambda: close(out, peer(x.double()), 1e-5, 1e-7),
        {"torch eager": 2.0, "torch.compile": 1.0},
    )


def matmul(dtype: str, size: int, transposes: str = "nn") -> Row:
    a_trans, b_trans = transposes[0] == "t", transposes[1] == "t"
    a, b = random(size, size, dtype=dtype), random(size, size, dtype=dtype, seed=1)
    out, other = torch.empty_like(a), torch.empty_like(a)
    left, right = (a.t() if a_trans else a), (b.t() if b_trans else b)
    relative = {"fp32": 1e-5, "bf16": 8e-3, "fp16": 1e-3}[dtype]
    return Row(
        partial(kernels.matmul, a, b, out, a_trans=a_trans, b_trans=b_trans),
        {"torch": lambda: torch.mm(left, right, out=other)},
        lambda: close(out, left.double() @ right.double(), relative, relative * math.sqrt(size)),
        {"torch": {"fp32": 0.9, "bf16": 1.0, "fp16": 1.5}[dtype]},
        flops=2.0 * size**3,
    )


def integer_matmul(size: int) -> Row:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-128, 128, (size, size), generator=generator, dtype=torch.int8) for _ in range(2))
    out, other = (torch.empty(size, size, dtype=torch.int32) for _ in range(2))
    return Row(
        partial(kernels.matmul, a, b, out),
        {"torch": lambda: torch._int_mm(a, b, out=other)},
        lambda: close(out, a.double() @ b.double(), 0, 0),
        {"torch": 1.0},
        flops=2.0 * size**3,
    )


def linear_gelu(dtype: str, m: int = 1024, k: int = 1024, n: int = 1024) -> Row:
    x, weight = random(m, k, dtype=dtype), random(k, n, dtype=dtype, scale=k**-0.5, seed=1)
    bias, out = random(1, n, dtype=dtype, seed=2), torch.empty(m, n, dtype=TYPES[dtype])

    def peer(a: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return F.gelu(torch.addmm(b, a, w), approximate="tanh")

    return Row(
        partial(kernels.linear_gelu, x, weight, bias, out),
        {"torch eager": lambda: peer(x, weight, bias)},
        lambda: close(out, peer(x.double(), weight.double(), bias.double()), RELATIVE[dtype], RELATIVE[dtype]),
        {"torch eager": 1.2},
        flops=2.0 * m * k * n,
    )


def dequantised_matmul(m: int = 1024, k: int = 1024, n: int = 1024) -> Row:
    generator = torch.Generator().manual_seed(0)
    a = torch.randint(-128, 128, (m, k), generator=generator, dtype=torch.int8)
    b = torch.randint(-128, 128, (k, n), generator=generator, dtype=torch.int8)
    rows, columns = torch.rand(m, 1, generator=generator) * 0.01, torch.rand(1, n, generator=generator) * 0.01
    out = torch.empty(m, n, dtype=torch.bfloat16)

    def peer() -> torch.Tensor:
        return (torch._int_mm(a, b).float() * rows * columns).bfloat16()

    exact = (a.double() @ b.double()) * rows.double() * columns.double()
    return Row(
        partial(kernels.dequantised_matmul, a, b, rows, columns, out),
        {"torch eager": peer},
        lambda: close(out, exact, 4e-3, 1e-6),
        {"torch eager": 1.2},
        flops=2.0 * m * k * n,
    )


def attention(dtype: str, length: int, size: int, causal: bool, heads: int = 8) -> Row:
    q, k, v = (random(1, heads, length, size, dtype=dtype, seed=s) for s in range(3))
    out, scale = torch.empty_like(q), size**-0.5
    exact = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)
    return Row(
        partial(kernels.flash_attention, q, k, v, out, scale=scale, causal=causal),
        {"torch SDPA": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)},
        lambda: close(out, exact, *((1e-4, 1e-5) if dtype == "fp32" else (3e-2, 1e-2))),
        {"torch SDPA": 1.1 if dtype == "fp32" else 1.5},
        flops=4.0 * heads * length * length * size * (0.5 if causal else 1.0),
    )


@dataclass
class Paged:
    """A paged cache with ragged sequences: the inputs of decode attention."""

    query: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    table: torch.Tensor
    lengths: torch.Tensor

    @staticmethod
    def make(lengths: list[int], seed: int = 0, heads: int = 12, size: int = 128, block: int = 128, width: int = 64) -> Paged:
        generator = torch.Generator().manual_seed(seed)
        pages = [-(-n // block) for n in lengths]
        order = torch.randperm(sum(pages) + 8, generator=generator)
        table = torch.zeros(len(lengths), width, dtype=torch.int32)
        used = 0
        for i, count in enumerate(pages):
            table[i, :count] = order[used : used + count]
            used += count
        keys, values = (torch.randn(len(order), block, size, generator=generator).bfloat16() for _ in range(2))
        query = torch.randn(len(lengths), heads, size, generator=generator).bfloat16()
        return Paged(query, keys, values, table, torch.tensor(lengths, dtype=torch.int32))

    def eager(self, double: bool = False) -> torch.Tensor:
        """Gather the pages of each sequence, then attention, one sequence at a time."""
        out = []
        for i, n in enumerate(self.lengths.tolist()):
            pages = self.table[i, : -(-n // self.keys.shape[1])].long()
            k = self.keys[pages].reshape(-1, self.keys.shape[2])[:n]
            v = self.values[pages].reshape(-1, self.keys.shape[2])[:n]
            q = self.query[i]
            if double:
                q, k, v = q.double(), k.double(), v.double()
            heads = q.shape[0]
            out.append(
                F.scaled_dot_product_attention(
                    q[None, :, None], k[None, None].expand(1, heads, -1, -1), v[None, None].expand(1, heads, -1, -1)
                )[0, :, 0]
            )
        return torch.stack(out)


RAGGED = [1, 77, 200, 511, 1023, 1500, 2047, 2500, 3001, 3777, 4095, 5000, 6001, 7003, 8001, 8190]


def decode() -> Row:
    paged = Paged.make(RAGGED)
    out = torch.empty_like(paged.query)
    call = partial(
        kernels.paged_decode,
        paged.query,
        paged.keys,
        paged.values,
        paged.table,
        paged.lengths,
        out,
        scale=paged.query.shape[2] ** -0.5,
    )
    return Row(call, {"torch eager": paged.eager}, lambda: close(out, paged.eager(double=True), 3e-2, 1e-2), {"torch eager": 2.0})


def call_overhead(library: str) -> Row:
    x, y, out = (torch.ones(8, 32) for _ in range(3))
    if library == "numpy":
        a, b, c = (np.ones((8, 32), np.float32) for _ in range(3))
        ours: Callable[[], object] = lambda: kernels.add(a, b, c)  # noqa: E731
        result = torch.from_numpy(c)
    else:
        ours, result = (lambda: kernels.add(x, y, out)), out
    other = torch.empty(8, 32)
    return Row(
        ours,
        {"torch.add out=": lambda: torch.add(x, y, out=other)},
        lambda: close(result, x.double() * 2, 0, 0),
        {"torch.add out=": 1.0},
    )


def all_rows() -> Iterator[tuple[str, Callable[[], Row]]]:
    """(name, maker) in the order of the table."""
    for library in ("torch", "numpy"):
        yield f"call of a compiled kernel, three 8x32 {library} tensors", partial(call_overhead, library)
    for dtype in ("fp32", "bf16", "fp16"):
        yield f"chain 4096x4096 {dtype}", partial(chain, dtype)
    for dtype in ("fp32", "bf16"):
        for columns in (512, 1024, 2048, 8192):
            for name, maker in (("softmax", softmax), ("layer norm", layer_norm), ("rms norm", rms_norm)):
                rows = (4 << 20) // columns
                yield f"{name} {rows}x{columns} {dtype}", partial(maker, dtype, rows, columns)
    yield "gelu*2+1, softmax 4096x1024 fp32", gelu_softmax
    for size in (512, 1024, 2048):
        for transposes in ("nn", "nt", "tn", "tt"):
            yield f"matmul {size} fp32 {transposes}", partial(matmul, "fp32", size, transposes)
    for size in (512, 1024, 2048):
        yield f"matmul {size} bf16", partial(matmul, "bf16", size)
        yield f"matmul {size} fp16", partial(matmul, "fp16", size)
        yield f"matmul {size} int8", partial(integer_matmul, size)
    for dtype in ("fp32", "bf16"):
        yield f"matmul 1024 + bias + gelu {dtype}", partial(linear_gelu, dtype)
    yield "dequantised int8 matmul 1024", dequantised_matmul
    for length, size in ((1024, 64), (4096, 128)):
        for dtype in ("fp32", "bf16"):
            for causal in (False, True):
                name = f"flash attention 1x8x{length}x{size} {dtype}{' causal' if causal else ''}"
                yield name, partial(attention, dtype, length, size, causal)
    yield "paged decode attention bf16, 16 ragged sequences", decode
