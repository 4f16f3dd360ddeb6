"""``python -m bench [-k PATTERN] [--threads 1,2] [--runs 3] [--json FILE] [--results FILE]``: the table of ratios.

Each row's result is checked against float64 before it is timed. With several runs a ratio is the median of the runs.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import re
import statistics
import subprocess
import time
from pathlib import Path

import torch

from bench import tiles
from bench.measure import alternate
from bench.rows import all_rows

SLOW = 2.0  # seconds: such a row is run once


def run_row(maker, budget: float) -> dict:
    row = maker()
    start = time.perf_counter()
    row.ours()
    first = time.perf_counter() - start
    row.check()
    times = alternate({"ours": row.ours, **row.peers}, budget) if first < SLOW else {"ours": first}
    row.check()
    ours = times.pop("ours")
    ratios = {name: seconds / ours for name, seconds in times.items()}
    rate = f"{row.flops / ours / 1e9:.0f} GF/s" if row.flops else f"{row.bytes / ours / 1e9:.1f} GB/s" if row.bytes else ""
    return {"ours": ours, "first": first, "ratios": ratios, "targets": row.targets, "rate": rate, "limit": row.limit}


def median_of(runs: list[dict]) -> dict:
    best = dict(runs[0])
    best["ours"] = statistics.median(r["ours"] for r in runs)
    best["ratios"] = {name: statistics.median(r["ratios"][name] for r in runs) for name in runs[0]["ratios"]}
    return best


NOISE = 0.95  # 5 % is noise (performance page)


def verdict(result: dict) -> str:
    missed = [f"{n} {result['ratios'][n]:.2f} < {t}" for n, t in result["targets"].items() if result["ratios"][n] < t * NOISE]
    if result["limit"] and result["ours"] > result["limit"] / NOISE:
        missed.append(f"{result['ours']:.3g} s > {result['limit']:g} s")
    return "met" if not missed else "missed: " + ", ".join(missed)


def line(name: str, result: dict) -> str:
    ratios = ", ".join(f"{peer} {ratio:.2f}×" for peer, ratio in result["ratios"].items())
    return f"| {name} | {result['ours'] * 1e6:.1f} µs | {result['rate']} | {ratios} | {verdict(result)} |"


HEAD = "| row | ours | rate | peer time ÷ ours | target |\n|---|---|---|---|---|"


def commit() -> str:
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip() or "unknown"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("-k", default="", help="only rows whose name matches this regular expression")
    parser.add_argument(
        "--threads", default=str(torch.get_num_threads()), help="comma-separated thread counts, same for all peers"
    )
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--budget", type=float, default=1.5, help="seconds of samples a row")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--results", type=Path, help="append a section to this Markdown file")
    options = parser.parse_args()
    everything = {}
    for threads in map(int, options.threads.split(",")):
        torch.set_num_threads(threads)
        title = (
            f"{threads} thread{'s' if threads > 1 else ''}, commit {commit()}, {platform.machine()}, torch {torch.__version__}"
        )
        print(f"\n### {title}\n\n{HEAD}", flush=True)
        lines = []
        for name, maker in (*all_rows(), *tiles.rows()):
            if not re.search(options.k, name):
                continue
            result = median_of([run_row(maker, options.budget) for _ in range(options.runs)])
            everything[f"{name} [{threads}]"] = result
            lines.append(line(name, result))
            print(lines[-1], flush=True)
            gc.collect()
        if options.results:
            with options.results.open("a") as stream:
                stream.write(f"\n### {title}\n\n{HEAD}\n" + "\n".join(lines) + "\n")
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
