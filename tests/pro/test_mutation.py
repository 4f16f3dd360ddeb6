"""Mutation: whatever single set, wait, lock or unlock is deleted from an emitted program, the simulator reports it or proves it redundant.

The suite runs a sample of the deletions of every kernel. All of them: ``python tests/pro/test_mutation.py`` (a table; ``-k`` takes a
part of a kernel's name, ``--pairs`` deletes a lock and its unlock at once, of which some are redundant: another order suffices).
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # when run as a script

import pytest
from kernels import CASES
from mutation import mutants, pairs, recorded, verdict

EVERY = 8  # the sample: every eighth deletion, beginning at another one for every program
PROGRAMS = [(case, preload) for case in CASES if case.mutate for preload in case.preloads or (None,)]
IDS = [str(case) if preload is None else f"{case}-preload{preload}" for case, preload in PROGRAMS]


def verdicts(case, preload, first=0, every=1, kind=mutants):
    """What is said about each deletion; the program as it is has no finding."""
    launched = recorded(case, preload)
    expected = launched.run(launched.program)
    chosen = list(kind(launched.program))[first::every]
    return [(text, verdict(launched, program, stopping, expected)) for text, program, stopping in chosen]


@pytest.mark.parametrize("kind", [mutants, pairs])
@pytest.mark.parametrize("case, preload", PROGRAMS, ids=IDS)
def test_deletions_are_reported(case, preload, kind):
    every = EVERY if kind is mutants else 3 * EVERY
    found = verdicts(case, preload, first=PROGRAMS.index((case, preload)) % 2, every=every, kind=kind)
    assert found and not [(text, said) for text, said in found if said.startswith("MISSED")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="", help="part of a name")
    parser.add_argument("-v", action="store_true", help="list the redundant ones")
    parser.add_argument("--pairs", action="store_true", help="a lock and its unlock together")
    options = parser.parse_args()
    total = Counter()
    for (case, preload), name in zip(PROGRAMS, IDS, strict=True):
        if options.k not in name:
            continue
        start = time.perf_counter()
        found = verdicts(case, preload, kind=pairs if options.pairs else mutants)
        counts = Counter(said for _, said in found)
        total += counts
        print(f"{name}: {len(found)} deletions, {dict(counts)}, {time.perf_counter() - start:.1f} s", flush=True)
        for text, said in found:
            if said.startswith("MISSED") or (options.v and said == "redundant"):
                print(f"    {said}: {text}")
    print(f"{sum(total.values())} deletions: {dict(total)}")


if __name__ == "__main__":
    main()
