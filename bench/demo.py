"""The demo: four kernels on real-sized input, each against float64 and against torch eager with the same threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F

from bench import kernels
from bench.measure import alternate
from bench.rows import RAGGED, Paged, random

SECOND_LENGTHS = [8001, 1, 129, 640, 5555, 3, 1000, 2049, 7777, 300, 64, 4097, 6543, 90, 2222, 8191]


def report(
    name: str, out: torch.Tensor, exact: torch.Tensor, bound: float, ours: Callable[[], object], eager: Callable[[], object]
) -> None:
    """Print one block: error and bound, our time, torch's time, speed-up."""
    error = ((out.double() - exact).abs() / (1 + exact.abs())).max().item()
    times = alternate({"ours": ours, "eager": eager}, budget=2.0)
    verdict = "ok" if error <= bound else "WRONG"
    print(
        f"{name:58s} max error {error:.2e} (bound {bound:.0e}) {verdict:5s} "
        f"{times['ours'] * 1e3:8.2f} ms   torch eager {times['eager'] * 1e3:8.2f} ms   {times['eager'] / times['ours']:5.2f}x",
        flush=True,
    )
    if error > bound:
        raise SystemExit(f"{name}: the result is wrong")


def demo_chain() -> None:
    x, y = random(4096, 4096, scale=0.5), random(4096, 4096, scale=0.5, seed=1)
    out = torch.empty_like(x)

    def eager(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return ((a * b + 1.5) * a - b * 0.5).exp() / (a * a + 2)

    kernels.chain(x, y, out)
    # Six fp32 ops of half an ULP each, seen through exp (whose argument stays below about 10).
    report(
        "(a) chain 4096x4096 fp32",
        out,
        eager(x.double(), y.double()),
        2e-5,
        partial(kernels.chain, x, y, out),
        partial(eager, x, y),
    )


def demo_softmax() -> None:
    x = random(4096, 1024)
    out = torch.empty_like(x)
    kernels.softmax(x, out)
    exact = torch.softmax(x.double(), -1)
    report("(b) softmax 4096x1024 fp32", out, exact, 1e-6, partial(kernels.softmax, x, out), partial(torch.softmax, x, -1))


def demo_norm_linear_gelu() -> None:
    x, gamma = random(2048, 1024, dtype="bf16"), random(1024, dtype="bf16", seed=1)
    weight = random(1024, 4096, dtype="bf16", scale=1 / 32, seed=2)
    out = torch.empty(2048, 4096, dtype=torch.bfloat16)

    def eager(a: torch.Tensor, g: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.gelu(F.rms_norm(a, (1024,), g, 1e-6) @ w, approximate="tanh")

    call = partial(kernels.norm_linear_gelu, x, gamma, weight, out)
    call()
    # bf16 keeps 8 bits: the norm, the product and each op of gelu round once (2^-9 each, eight of them).
    exact = eager(x.double(), gamma.double(), weight.double())
    report("(c) RMS norm, linear 1024->4096, gelu; x 2048x1024 bf16", out, exact, 2e-2, call, partial(eager, x, gamma, weight))


def demo_decode() -> None:
    before = None
    for title, lengths in (("16 ragged sequences", RAGGED), ("other lengths, same program", SECOND_LENGTHS)):
        paged = Paged.make(lengths, seed=len(lengths))
        out = torch.empty_like(paged.query)
        call = partial(
            kernels.paged_decode, paged.query, paged.keys, paged.values, paged.table, paged.lengths, out, scale=128**-0.5
        )
        call()
        compiled = kernels.paged_decode.compilations
        if before is not None and compiled != before:
            raise SystemExit("the second set of lengths compiled again")
        before = compiled
        # bf16 weights and values: 2^-9 relative on each, averaged over the sequence.
        report(f"(d) paged decode attention bf16, {title}", out, paged.eager(double=True), 2e-2, call, paged.eager)


def main() -> None:
    start = time.perf_counter()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads\n")
    for demo in (demo_chain, demo_softmax, demo_norm_linear_gelu, demo_decode):
        demo()
    print(f"\nall four right, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
