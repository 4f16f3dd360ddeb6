"""Cases in child processes: a crash or a hang ends a child, not the run.

A child prints ``start <number>`` before and one JSON line after every case. The parent notices silence.
"""

from __future__ import annotations

import atexit
import dataclasses
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from pypto.fuzz import cases, judge, shrink
from pypto.fuzz.judge import Verdict

SILENCE = 40.0  # seconds without a line before a case counts as a hang; a case takes well under a second
CHILD_CASES = 400  # a fresh process now and then, so that leaks and order effects show and stay bounded
SOUND_EVERY = 10  # every so many cases the simple kernel is compiled afresh, not only run


@dataclass(frozen=True)
class Finding:
    """A case that ended as it must not."""

    seed: int
    number: int
    kind: str
    verdict: Verdict
    source: str

    def __str__(self) -> str:
        again = f"python -m pypto.fuzz --seed {self.seed} --only {self.number}"
        return f"== {self.verdict.what} in {self.kind} case {self.number} (again: {again})\n{self.verdict.detail}\n{self.source}"


def child(seed: int, first: int, kinds: tuple[str, ...]) -> None:
    """Run cases from ``first`` on and print what happens."""
    folder = tempfile.mkdtemp(prefix="pypto_fuzz_")
    real = sys.stdout
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115  kernels print; lives as long as the child
    for number in range(first, first + CHILD_CASES):
        print("start", number, file=real, flush=True)
        case = cases.case(seed, number, kinds)
        verdict = judge.judge(case, folder)
        sound = judge.process_is_sound(folder, number if number % SOUND_EVERY == 0 else 1)
        if verdict.fine and not sound.fine:
            verdict = sound
        print(json.dumps([number, case.kind, verdict.what, verdict.detail]), file=real, flush=True)


def _reader(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    for line in process.stdout or ():
        lines.put(line)
    lines.put(None)


@lru_cache(maxsize=1)
def _cache() -> str:
    """Where the children keep what they compile: thousands of kernels that nobody needs again."""
    folder = tempfile.mkdtemp(prefix="pypto_fuzz_cache_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _start(arguments: list[str]) -> tuple[subprocess.Popen[str], queue.Queue[str | None]]:
    environment = {"PYPTO_CACHE_DIR": _cache(), **os.environ, "PYTHONFAULTHANDLER": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "pypto.fuzz", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_reader, args=(process, lines), daemon=True).start()
    return process, lines


def _ended(process: subprocess.Popen[str]) -> Verdict:
    """What the sudden end of a child means."""
    errors = process.stderr.read()[-3000:] if process.stderr else ""
    return Verdict("crash", f"exit status {process.wait()}\n{errors}")


def _one_child(seed: int, first: int, kinds: tuple[str, ...], deadline: float) -> Iterator[tuple[int, str, Verdict]]:
    """Verdicts of one child until it ends, hangs, crashes or time is over."""
    process, lines = _start(["--child", str(first), "--seed", str(seed), *(f"--kind={k}" for k in kinds)])
    current: int | None = None
    try:
        while time.monotonic() < deadline:
            try:
                line = lines.get(timeout=SILENCE)
            except queue.Empty:
                yield current if current is not None else first, "", Verdict("hang", f"silent for {SILENCE} s")
                return
            if line is None:
                if process.wait() != 0:
                    yield current if current is not None else first, "", _ended(process)
                return
            if line.startswith("start "):
                current = int(line.split()[1])
            elif line.startswith("["):
                number, kind, what, detail = json.loads(line)
                yield number, kind, Verdict(what, detail)
    finally:
        process.kill()
        process.wait()


def run(seed: int, seconds: float, kinds: tuple[str, ...] = (), first: int = 0) -> Iterator[tuple[int, str, Verdict]]:
    """``(number, kind, verdict)`` of every case that ran within ``seconds``."""
    deadline, number = time.monotonic() + seconds, first
    while time.monotonic() < deadline:
        for current, kind, verdict in _one_child(seed, number, kinds, deadline):
            yield current, kind or cases.case(seed, current, kinds).kind, verdict
            number = current + 1


def judge_alone(case: cases.Case, seconds: float = SILENCE) -> Verdict:
    """The verdict on ``case`` from a process of its own."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(dataclasses.asdict(case), file)
    process, lines = _start(["--judge", file.name])
    try:
        line = lines.get(timeout=seconds)
    except queue.Empty:
        process.kill()
        return Verdict("hang", f"silent for {seconds} s")
    finally:
        os.unlink(file.name)
    return _ended(process) if line is None else Verdict(*json.loads(line))


def smallest(case: cases.Case, verdict: Verdict, seconds: float = 20.0) -> str:
    """The source of ``case`` shrunk while the verdict stays the same."""
    if verdict.what in ("hang", "crash"):

        def check(source):
            return judge_alone(replace(case, source=source), 15.0).what == verdict.what
    else:
        folder = tempfile.mkdtemp(prefix="pypto_fuzz_")

        def check(source):
            return judge.judge(replace(case, source=source), folder).label == verdict.label

    return shrink.shrink(case.source, check, seconds)


def judge_file(file: str) -> None:
    """Child side of ``judge_alone``."""
    with open(file) as stream:
        case = cases.Case(**json.load(stream))
    real, sys.stdout = sys.stdout, open(os.devnull, "w")  # noqa: SIM115
    verdict = judge.judge(case, tempfile.mkdtemp(prefix="pypto_fuzz_"))
    print(json.dumps([verdict.what, verdict.detail]), file=real, flush=True)
