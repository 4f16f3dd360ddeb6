"""State that the compiled teams and Python share: one global of the runtime library, in offsets of bytes."""

from __future__ import annotations

from pypto.cpu.text import Function

# One cache line per group of fields.
STATE_BYTES = 1024
GATE, NEXT, SLEEPERS, WAITING, STOP, LOCK, JOB = 0, 64, 128, 192, 196, 256, 320
JOB_TASK, JOB_ARGUMENT, JOB_CHUNKS, JOB_LIMIT, JOB_CPU = JOB, JOB + 8, JOB + 16, JOB + 24, JOB + 32
GOMP, WORKERS, POOLED, SPINS, OMP_THREADS = 384, 392, 400, 408, 416
MUTEX, CONDITION = 512, 640  # where there is no futex

STATE = "@pypto_team"
OPEN = 1 << 32  # the epoch is the upper half of the gate
DEFAULT_SPINS = 2000  # about 20 µs where `pause` takes 9 ns: longer spinning slows whatever runs next on that core


def field(f: Function, offset: int) -> str:
    """Address of a field of the shared state."""
    return f.gep("i8", STATE, offset)
