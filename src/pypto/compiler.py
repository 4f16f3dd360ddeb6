"""THE page: every step from a traced program to something that runs, in order, named, checked, timed, dumpable.

    trace            frontend/    a kernel and its arguments -> tensor program
    simplify …       graph/       program -> better program (``graph.PASSES``)
    run              reference/   numpy, op by op: the definition
      or
    fuse, emit       cpu/         program -> loop nests -> LLVM text
    link             cpu/link     LLVM text -> machine code in this process

``compile_program`` returns an ``Executable``: ``run(tensors, scalars)`` with ``HostTensor`` arguments in parameter order.
"""

from __future__ import annotations

import ctypes
import os
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pypto import options
from pypto.diagnostics import warn
from pypto.errors.base import InternalError, UserError
from pypto.ir.program import Program, Storage
from pypto.ir.symbols import Number, Symbol, kind_of
from pypto.runtime.monitor import entered

ENGINES = ("cpu", "reference", "compare")


class Executable(Protocol):
    """A compiled program. ``run`` raises catalogue errors; outputs are then unspecified but stay the caller's."""

    program: Program

    def run(self, tensors: Sequence[Any], scalars: Sequence[Number] = ()) -> None: ...


@dataclass
class Step:
    """One step that ran: its name, what it left (program or text), milliseconds."""

    name: str
    output: Any
    milliseconds: float

    @property
    def text(self) -> str:
        if isinstance(self.output, Program):
            from pypto.ir.text import program_text

            return program_text(self.output)
        if isinstance(self.output, bytes):
            return f"{len(self.output)} bytes of machine code\n"
        if hasattr(self.output, "nests"):  # what the CPU engine generated: its loop nests, then the LLVM text made of them
            return f"{self.output.nests}\n\n{self.output.text}"
        return f"{self.output}\n"


@dataclass
class Log:
    """What the steps did, for ``pypto show`` and ``pypto explain``; outputs are kept only when ``keep``."""

    keep: bool = False
    steps: list[Step] = field(default_factory=list)

    def step(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        entered(name)
        try:
            output = function(*arguments)
        except (UserError, KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:  # whatever else a step raises is a defect of ours, and is reported as one
            raise self.defect(name, arguments[0], error) from error
        self.steps.append(Step(name, output if self.keep else None, (time.perf_counter() - start) * 1e3))
        return output

    @staticmethod
    def defect(step: str, program: Any, error: Exception) -> InternalError:
        """Our own mistake: save the program it failed on and say where."""
        file = ""
        if isinstance(program, Program):
            from pypto.ir.text import program_text

            handle, file = tempfile.mkstemp(prefix=f"pypto_{program.name}_", suffix=".program")
            with os.fdopen(handle, "w") as stream:
                stream.write(program_text(program))
        return InternalError(f"{type(error).__name__}: {error}", step=step, program_file=file)


def optimise(program: Program, log: Log) -> Program:
    """Run the graph passes; in debug mode every result is checked against the rules of the program form."""
    from pypto.graph import PASSES
    from pypto.ir.rules import verify

    check = bool(options.current().get("run.verify_passes"))
    for name, function in PASSES:
        program = log.step(name, function, program)
        if check:
            log.step(f"verify {name}", verify, program)
    return program


def engine_of(scope: options.Scope) -> str:
    """The engine that these options ask for. Checked mode looks at every element, which only the reference does; it says so."""
    engine = str(scope.get("run.engine"))
    if engine == "cpu" and scope.get("run.checked"):
        from pypto.frontend.trace import outside_span

        warn("checked mode: kernels run on the numpy engine, which looks at every element and is slow", outside_span())
        return "reference"
    return engine


def compile_program(program: Program, engine: str | None = None, log: Log | None = None) -> Executable:
    """Compile for an engine: ``cpu`` (default), ``reference``, or ``compare`` (both, results compared after every run)."""
    folder = str(options.current().get("run.dump"))
    engine = engine or engine_of(options.current())
    log = log or Log(keep=bool(folder))
    log.steps.append(Step("trace", program if log.keep else None, 0.0))
    try:
        return _compiled(program, engine, log)
    finally:
        if folder:
            write_steps(program.name, log, folder)


def _compiled(program: Program, chosen: str, log: Log) -> Executable:
    better = optimise(program, log)
    if chosen == "reference":
        return ReferenceExecutable(better)
    from pypto import cpu

    native = CpuExecutable(better, cpu.build(better, log))
    return CompareExecutable(native, ReferenceExecutable(better)) if chosen == "compare" else native


def reload(program: Program, generated: Any, object_bytes: bytes) -> CpuExecutable:
    """The executable of a program that another process compiled; ``program`` may lack its body."""
    from pypto.cpu.kernel import Kernel
    from pypto.cpu.library import runtime_library

    return CpuExecutable(program, Kernel(generated, object_bytes, runtime_library()))


def write_steps(name: str, log: Log, folder: str) -> None:
    """Option ``run.dump``: a file per step that ran, ``<folder>/<kernel>/<number>_<step>.txt``, also when compilation failed."""
    target = os.path.join(folder, name)
    os.makedirs(target, exist_ok=True)
    for number, step in enumerate(log.steps):
        if step.output is not None:
            with open(os.path.join(target, f"{number:02}_{step.name.replace(' ', '_')}.txt"), "w", encoding="utf-8") as stream:
                stream.write(step.text)


def dimension_values(program: Program, tensors: Sequence[Any]) -> Iterator[int]:
    """Sizes of DYNAMIC axes, in the order of ``program.dimensions``."""
    position = {p: i for i, p in enumerate(p for p in program.parameters if isinstance(p, Storage))}
    for storage, axis in program.dimensions.values():
        yield tensors[position[storage]].shape[axis]


class ReferenceExecutable:
    """The definition: numpy, op by op."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def run(self, tensors: Sequence[Any], scalars: Sequence[Number] = ()) -> None:
        from pypto.reference import engine

        arrays = dict(
            zip((p for p in self.program.parameters if isinstance(p, Storage)), (t.array for t in tensors), strict=True)
        )
        values = dict(zip((p for p in self.program.parameters if isinstance(p, Symbol)), scalars, strict=True))
        engine.run(self.program, arrays, values, checked=bool(options.current().get("run.checked")))


ERROR_WORDS = 16


class CpuExecutable:
    """Machine code in this process. ``address`` is the entry, ``void kernel(ptr block)``; see ARCHITECTURE.md for the block."""

    def __init__(self, program: Program, kernel: Any) -> None:
        from pypto.cpu.library import runtime_library

        self.program = program
        self.kernel = kernel
        self.address: int = kernel.address
        self.launch = runtime_library().function("pypto_launch", None, ctypes.c_void_p, ctypes.c_void_p)

    def run(self, tensors: Sequence[Any], scalars: Sequence[Number] = ()) -> None:
        errors = (ctypes.c_int64 * ERROR_WORDS)()
        slots = [ctypes.addressof(errors), 0, *(t.address for t in tensors)]
        kinds = [kind_of(p) for p in self.program.parameters if isinstance(p, Symbol)]
        slots += [_slot(value, kind) for value, kind in zip(scalars, kinds, strict=True)]
        slots += dimension_values(self.program, tensors)
        block = (ctypes.c_int64 * len(slots))(*slots)
        self.launch(self.address, ctypes.addressof(block))
        if errors[0]:
            self.kernel.raise_error(list(errors))


def _slot(value: Number, kind: str) -> int:
    return struct.unpack("<q", struct.pack("<d", value))[0] if kind == "float" else int(value)


class CompareExecutable:
    """Runs the reference on copies, then the native program, and raises ``EnginesDiffer`` naming the first tensor and element."""

    def __init__(self, native: CpuExecutable, reference: ReferenceExecutable) -> None:
        self.program = native.program
        self.native = native
        self.reference = reference

    def run(self, tensors: Sequence[Any], scalars: Sequence[Number] = ()) -> None:
        from pypto.runtime import compare

        copies = [compare.copy_of(t) for t in tensors]
        self.reference.run(copies, scalars)
        self.native.run(tensors, scalars)
        compare.check(self.program, tensors, copies)
