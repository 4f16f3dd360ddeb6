"""``pypto show script.py::kernel``: run the script, watch the kernel's first compilation, return its steps."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pypto import compiler, kernel, options
from pypto.compat import launcher
from pypto.errors.base import InternalError
from pypto.errors.compat import KernelNameMissing, KernelNotCalled, ScriptNotFound
from pypto.ir.parse import parse_program

PROGRAM = ".program"  # what compiler.Log.defect saves


class _Found(BaseException):
    """Leaves the script once the kernel is compiled; no ``except Exception`` of the script stops it."""


def steps_of(target: str, arguments: Sequence[str] = ()) -> list[compiler.Step]:
    """Steps of the kernel's first compilation in a run of the script (the script stops there), or of a saved program."""
    if target.endswith(PROGRAM):
        return steps_of_program(target)
    file, separator, name = target.rpartition("::")
    if not separator or not name or not file:
        raise KernelNameMissing(given=target)
    fresh = options.scope("show", {"run.cache": False})  # what is kept on disk would not be compiled again
    with watching(name) as logs, fresh, suppress(_Found, SystemExit):
        launcher.run_script(file, arguments)
    if not logs:
        raise KernelNotCalled(file=os.path.basename(file), name=name)
    return logs[0].steps


def steps_of_program(file: str) -> list[compiler.Step]:
    """Steps of a program that an internal error saved; that error comes again after the steps that it let pass."""
    try:
        with open(file, encoding="utf-8") as stream:
            program = parse_program(stream.read())
    except OSError:
        raise ScriptNotFound(path=file, nearest="") from None
    log = compiler.Log(keep=True)
    try:
        compiler.compile_program(program, None, log)
    except InternalError as error:
        log.steps.append(compiler.Step(f"{error.step} (failed)", str(error), 0.0))
    return log.steps


def readable(steps: Sequence[compiler.Step], full: bool = False) -> str:
    """The steps as text. Unless ``full``, a program that is as before is not printed again, nor is LLVM text."""
    parts, before = [], ""
    for step in (one for one in steps if one.name != "link"):  # an address says nothing
        text = step.text if full else getattr(step.output, "nests", step.text)
        parts.append(
            f"== {step.name} ({step.milliseconds:.1f} ms)\n"
            + ("as before\n" if text == before and not full else text.rstrip() + "\n")
        )
        before = text
    return "\n".join(parts)


@contextmanager
def watching(name: str) -> Iterator[list[compiler.Log]]:
    """Collect the log of the first compilation of kernel ``name``, of either level, keeping every step's output."""
    from pypto_pro.runtime import kernel as tile_kernel

    logs: list[compiler.Log] = []
    original = kernel.compile_program  # the names that a call looks up when it needs a new variant
    original_of_tiles = tile_kernel.compile_kernel

    def compile_and_keep(program: Any, engine: str | None = None, log: compiler.Log | None = None) -> Any:
        if program.name != name:
            return original(program, engine, log)
        kept = compiler.Log(keep=True)
        original(program, engine, kept)
        logs.append(kept)
        raise _Found

    def compile_tiles_and_keep(definition: Any, request: Any) -> Any:
        if definition.kernel != name:
            return original_of_tiles(definition, request)
        start = time.perf_counter()
        made = original_of_tiles(definition, request)
        logs.append(_tile_log(made, 1000 * (time.perf_counter() - start)))
        raise _Found

    kernel.compile_program, tile_kernel.compile_kernel = compile_and_keep, compile_tiles_and_keep
    try:
        yield logs
    finally:
        kernel.compile_program, tile_kernel.compile_kernel = original, original_of_tiles


def _tile_log(made: Any, milliseconds: float) -> compiler.Log:
    """A compiled tile kernel as steps: the rewritten loops, what each core runs, where the tiles lie. The time is that of all of them."""
    log = compiler.Log(keep=True)
    if made.generated:
        log.steps.append(compiler.Step("pipeline", made.generated, milliseconds))
    log.steps.append(compiler.Step("core programs", made.text, milliseconds))
    log.steps.append(compiler.Step("memory map", str(made.memory), milliseconds))
    return log
