"""``python -m pypto.fuzz --seconds N --seed S``: see the package."""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile

from pypto.fuzz import batch, cases, judge


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m pypto.fuzz", description="random programs and arguments against the whole house"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to run (default 60)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed runs the same cases")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--kind", action="append", default=[], choices=list(cases.KINDS), help="only these kinds of case")
    parser.add_argument("--only", type=int, help="run this one case here and print it")
    parser.add_argument("--most", type=int, default=10, help="stop after so many different findings (default 10)")
    parser.add_argument("--no-shrink", action="store_true", help="print findings as they were generated")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--judge", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def _only(seed: int, number: int, kinds: tuple[str, ...]) -> int:
    case = cases.case(seed, number, kinds)
    print(case.source)
    verdict = judge.judge(case, tempfile.mkdtemp(prefix="pypto_fuzz_"))
    print(f"== {verdict.what}\n{verdict.detail}")
    return 0 if verdict.fine else 1


def _hunt(options: argparse.Namespace, kinds: tuple[str, ...]) -> int:
    counts: collections.Counter[str] = collections.Counter()
    seen: set[str] = set()
    for number, kind, verdict in batch.run(options.seed, options.seconds, kinds, options.first):
        counts[f"{kind}: {verdict.what}"] += 1
        if verdict.fine or verdict.label in seen:
            continue
        seen.add(verdict.label)
        case = cases.case(options.seed, number, kinds)
        source = case.source if options.no_shrink else batch.smallest(case, verdict)
        print(batch.Finding(options.seed, number, kind, verdict, source), flush=True)
        if len(seen) >= options.most:
            break
    print("\n".join(f"{count:6}  {name}" for name, count in sorted(counts.items())))
    print(f"{sum(counts.values())} cases, {len(seen)} different findings, seed {options.seed}")
    return 1 if seen else 0


def main(words: list[str] | None = None) -> int:
    """Run the command; the exit status is 1 when something was found."""
    options = _arguments(words)
    kinds = tuple(options.kind)
    if options.judge:
        batch.judge_file(options.judge)
        return 0
    if options.child is not None:
        batch.child(options.seed, options.child, kinds)
        return 0
    if options.only is not None:
        return _only(options.seed, options.only, kinds)
    return _hunt(options, kinds)


if __name__ == "__main__":
    sys.exit(main())
