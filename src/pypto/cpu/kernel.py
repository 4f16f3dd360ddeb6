"""A program as machine code in this process.

generated = generate(program, host())        LLVM text and the Python data that goes with it; picklable
kernel = build(program, log)                 compiled, linked with the runtime library
kernel.address                               void kernel(ptr block), see ARCHITECTURE.md
kernel.raise_error(record)                   the error that a run left in its record
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from pypto.cpu.callback import SYMBOL, Callbacks
from pypto.cpu.context import CALL_FAILED, OUT_OF_MEMORY
from pypto.cpu.library import Runtime, runtime_library
from pypto.cpu.link import load
from pypto.cpu.program import Generated, ProgramEmitter
from pypto.cpu.target import Target, host
from pypto.errors.base import InternalError
from pypto.ir.program import Program


class Kernel:
    """Loaded machine code of one program."""

    def __init__(self, generated: Generated, object_bytes: bytes, runtime: Runtime) -> None:
        self.generated = generated
        self.object_bytes = object_bytes
        self.callbacks = Callbacks(generated.calls, generated.kinds, generated.ranks)
        imports = {name: self.callbacks.address if name == SYMBOL else runtime.symbols[name] for name in generated.externals}
        self.library = load(object_bytes, exports=["kernel"], imports=imports, keep=(runtime, self.callbacks))
        self.address: int = self.library["kernel"]

    def raise_error(self, record: Sequence[int]) -> NoReturn:
        """Raise what the error record of a run says."""
        if record[0] == OUT_OF_MEMORY:
            raise MemoryError("no memory for the intermediate tensors of a kernel")
        if record[0] == CALL_FAILED:
            raise self.callbacks.take_error() or InternalError("a call-back failed without an exception", step="run")
        raise self.generated.sites[record[0] - 1].make(record[1:])


def generate(program: Program, target: Target | None = None, *, poison: bool = False, nests: bool = True) -> Generated:
    """The LLVM text of a program and what Python must know to run it.

    ``poison`` fills fresh memory with NaN (for tests); ``nests`` adds the schedule as text for people.
    """
    return ProgramEmitter(program, target or host(), poison).generate(nests)


def build(program: Program, log: Any = None, *, poison: bool = False) -> Kernel:
    """Compile and link; ``log`` (a ``compiler.Log``) receives the steps."""
    target = host()
    show = log is not None and log.keep
    step = log.step if log is not None else lambda name, function, *arguments: function(*arguments)
    generated: Generated = step("fuse and emit", lambda p: generate(p, target, poison=poison, nests=show), program)
    object_bytes: bytes = step("machine code", lambda _: target.compile(generated.text), program)
    return step("link", lambda _: Kernel(generated, object_bytes, runtime_library(target)), program)
