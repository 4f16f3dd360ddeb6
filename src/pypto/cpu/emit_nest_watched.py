"""bf16 nests written twice: a fast way that is wrong for rare numbers and says so, and the exact way for what it was wrong about.

    for each chunk of about 32768 numbers:
        clear the flags, flush results below 2**-126 to 0;  fast nest;  read the flags, as before
        invalid, overflow or underflow raised?  the exact nest once more over the same chunk

Rounding after every op is half of a bf16 chain. The exact form takes four integer instructions (``vector_conversion.py``). The fast one
takes two, each a fused multiply-add::

    t = x - 65536 * x        24 digits: x rounded to 8 digits, minus 65536 x
    r = t + 65536 * x        exact

65536 x has 16 digits below those of x to give away, so t keeps of x what stands above 2**16 units of its last place: 8 digits, ties to
even, because the half unit of a tie makes x even and the parity of t is that of the digit that stays. (``x + 65536 * x`` would not
do: just below a power of two it has a digit more, t one less of x.) What it is wrong about raises a flag: infinity is inf - inf
(invalid), 2**112 and more overflow in t, results below 2**-126 are flushed and reported as underflow. NaNs pass with their payload,
which is right for *clean* ones (``vector_facts.py``). The sign of -0 is lost, so it is put back unless ``nests_zeros.py`` knows that
it does not matter. ``python -m pypto.cpu.rounding_check`` compares both forms on all 2**32 numbers.

The flags are those of the thread (MXCSR, Intel SDM volume 1, 10.2.3); so this exists on x86 only. A chunk may be written twice, so the
nest must not read what it stores. After two bad chunks a call goes on the exact way.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto.cpu.emit_nest import SCALAR_TYPES, NestEmitter
from pypto.cpu.nest_terms import writes_pairs
from pypto.cpu.nests import Apply, Gather, Load, Nest
from pypto.cpu.places import NestCode
from pypto.cpu.target import Target
from pypto.cpu.text import Function
from pypto.cpu.views import product
from pypto.dtypes import DataType
from pypto.ir.symbols import Expression, kind_of

FLAGS = 0x3F  # MXCSR: sticky exception flags
RAISED = 0x19  # of these: invalid, overflow, underflow
FLUSH = 0x8000  # results that would be denormal become 0 and raise underflow, exact or not
NUMBERS = 32768  # in a chunk: long against a call, short enough for the second-level cache
FEWEST_NUMBERS = 2048
FEWEST_ROUNDINGS = 3  # below that loads and stores decide
MOST_MISSES = 2

_KEEPING = frozenset({"maximum", "minimum", "neg", "abs", "relu", "where"})


def worth_watching(nest: Nest, target: Target) -> bool:
    """Whether a nest rounds to bf16 often enough, and may be run twice. Nests that reduce gain nothing: they wait for their sums."""
    if target.isa not in ("avx512", "avx2") or nest.rank == 0 or nest.reduced is not None:
        return False
    numbers = product(nest.sizes)
    if not isinstance(numbers, Expression) and int(numbers) < FEWEST_NUMBERS:
        return False
    terms = nest.needed()
    if any(t.dtype is DataType.DT_DOUBLE for t in terms):  # functions of the C library may drop flags that they raise
        return False
    rounded = [t for t in terms if isinstance(t, Apply) and t.dtype is DataType.DT_BF16 and t.name not in _KEEPING]
    read = {id(t.access.buffer) for t in terms if isinstance(t, (Load, Gather))}
    apart = all(id(s.access.buffer) not in read and not writes_pairs(s) for s in nest.stores)
    return apart and len(rounded) >= FEWEST_ROUNDINGS


def watched_emitter(exact: NestEmitter, streaming: bool) -> NestEmitter:
    """The fast nest, with the parameters of the exact one (which has been emitted)."""
    made = NestEmitter(exact.f.module, exact.target, exact.nest, "NEST", streaming, watched=True)
    made.pointers, made.scalars = list(exact.pointers), list(exact.scalars)
    return made


def watching(emitter: NestEmitter, code: NestCode, fast: str, exact: str) -> Function:
    """The function that callers see: the fast nest by chunks, the exact one where a flag was raised."""
    f = Function(emitter.f.module, emitter.header().replace(f"@{emitter.f.name}(", "@NEST("), "NEST", [])
    place = f.scratch("i32", 1, align=4)
    step = chunk(code)
    with f.loop("%first", "%last", step, [("i64", 0)], hint="chunk") as loop:
        end = f.intrinsic("i64", "llvm.smin.i64", ("i64", f.op("add", "i64", loop.index, step)), ("i64", "%last"))
        arguments = _arguments(emitter, loop.index, end)

        def watched() -> list[str]:
            raised = raised_by(f, place, lambda: f.call("void", f"@{fast}", *arguments))
            with f.when(raised, "again"):
                f.call("void", f"@{exact}", *arguments)
            return [f.op("add", "i64", loop.carried[0], f.cast("zext", "i1", raised, "i64"))]

        def plainly() -> list[str]:
            f.call("void", f"@{exact}", *arguments)
            return [loop.carried[0]]

        loop.next = f.either(f.icmp("slt", "i64", loop.carried[0], MOST_MISSES), watched, plainly, ["i64"])
    f.ret()
    return f


def chunk(code: NestCode) -> int:
    """Units of a nest (rows, lanes) run before the flags are looked at; lanes in multiples of 64."""
    inner = product(list(code.nest.sizes))
    if isinstance(inner, Expression) or isinstance(code.bound, Expression):
        return 1024 if code.split == "lanes" else 8
    units = max(1, NUMBERS * max(1, int(code.bound)) // max(1, int(inner)))
    return -(-units // 64) * 64 if code.split == "lanes" else units


def _arguments(emitter: NestEmitter, first: str, last: str) -> list[tuple[str, str]]:
    found = [("ptr", f"%p{i}") for i in range(len(emitter.pointers))]
    found += [(SCALAR_TYPES[kind_of(s)], f"%s{i}") for i, s in enumerate(emitter.scalars)]
    found += [("i64", first), ("i64", last)]
    return found + ([("ptr", "%rows")] if emitter.row_bytes else [])


def raised_by(f: Function, place: str, run: Callable[[], object]) -> str:
    """Run with flags cleared and small results flushed; an i1, whether the fast nest may be wrong. The register is as before."""
    f.intrinsic("void", "llvm.x86.sse.stmxcsr", ("ptr", place))
    before = f.load("i32", place)
    f.store("i32", f.op("or", "i32", f.op("and", "i32", before, ~FLAGS), FLUSH), place)
    f.intrinsic("void", "llvm.x86.sse.ldmxcsr", ("ptr", place))
    run()
    f.intrinsic("void", "llvm.x86.sse.stmxcsr", ("ptr", place))
    flags = f.load("i32", place)
    f.store("i32", before, place)
    f.intrinsic("void", "llvm.x86.sse.ldmxcsr", ("ptr", place))
    return f.icmp("ne", "i32", f.op("and", "i32", flags, RAISED), 0)
