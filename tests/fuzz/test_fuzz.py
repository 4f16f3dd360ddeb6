"""Twenty seconds of the fuzz command, and its parts."""

import random

import pytest

from pypto.fuzz import batch, cases, grammar, judge, shrink


def test_the_same_seed_makes_the_same_cases():
    assert [cases.case(3, n).source for n in range(40)] == [cases.case(3, n).source for n in range(40)]


def test_every_kind_of_case_is_made():
    assert {cases.case(0, n).kind for n in range(200)} == set(cases.KINDS)


def test_generated_nests_run_in_plain_python():
    for seed in range(100):
        cases.run_plain(cases.nest(random.Random(seed)).source)


def test_the_stand_in_unrolls_largest_first():
    from pypto.fuzz import standin

    chunks = [
        (int(i), size, standin.is_loop_begin(i), standin.is_loop_end(i))
        for i, size in standin.loop_unroll(0, 14, 2, unroll_list=[4, 2])
    ]
    assert chunks == [(0, 4, True, False), (8, 2, False, False), (12, 1, False, True)]


def test_shrinking_keeps_what_matters():
    source = grammar.kernel_source(random.Random(5))
    assert len(shrink.shrink(source, lambda s: "log[63] = count" in s).splitlines()) < 12


def test_a_wrong_result_and_a_foreign_exception_are_findings(tmp_path):
    source = "import numpy as np\nimport pypto\n\ndef attempt():\n    {}\n"
    assert (
        judge.judge(
            cases.Case("x", source.format("return {'standin': 1}.get(pypto.__name__.split('.')[-1], 0)"), exact=True), tmp_path
        ).what
        == "wrong result"
    )
    foreign = source.format("if pypto.__name__ == 'pypto':\n        raise OSError('ours')")
    assert judge.judge(cases.Case("x", foreign), tmp_path).what == "foreign exception"
    own = source.format("raise OSError('theirs')")
    assert judge.judge(cases.Case("x", own), tmp_path).what == "own"


def test_a_crash_and_a_hang_are_findings(tmp_path):
    source = "import os\n\ndef attempt():\n    {}\n"
    assert batch.judge_alone(cases.Case("x", source.format("os.abort()"))).what == "crash"
    assert batch.judge_alone(cases.Case("x", source.format("while True: pass")), 5.0).what == "hang"


@pytest.mark.parametrize("seed", [20])
def test_twenty_seconds_find_nothing(seed):
    findings = []
    for number, kind, verdict in batch.run(seed, 20.0):
        if not verdict.fine:
            findings.append(batch.Finding(seed, number, kind, verdict, cases.case(seed, number).source))
            if len(findings) == 3:
                break
    assert not findings, "\n\n".join(map(str, findings))
