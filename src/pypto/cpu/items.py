"""The schedule: what the control function does, in order. ``plan.py`` makes it, ``program.py`` writes it as LLVM text.

    Item ::= AllocateItem | NestItem | MatmulItem | CallItem | ReadItem | WriteItem | CheckItem | EvaluateItem | LoopItem | IfItem

``reads`` and ``writes`` name the buffers an item touches (inner items included); they steer lifetimes and order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pypto.cpu.nests import Gather, Load, Nest, nest_text
from pypto.cpu.views import Buffer, View
from pypto.diagnostics import Span
from pypto.errors.base import UserError
from pypto.ir.program import If, Loop
from pypto.ir.symbols import Expression, Scalar, Symbol, text


@dataclass(eq=False)
class Item:
    @property
    def reads(self) -> set[Buffer]:
        return set()

    @property
    def writes(self) -> set[Buffer]:
        return set()

    def lines(self) -> Iterator[str]:
        yield type(self).__name__


@dataclass(eq=False)
class NestItem(Item):
    nest: Nest

    @property
    def reads(self) -> set[Buffer]:
        return {term.access.buffer for term in self.nest.terms if isinstance(term, (Load, Gather))}

    @property
    def writes(self) -> set[Buffer]:
        return {store.access.buffer for store in self.nest.stores}

    def lines(self) -> Iterator[str]:
        yield from nest_text(self.nest).split("\n")


@dataclass(eq=False)
class AllocateItem(Item):
    """A local tensor begins to exist; no code, only a lifetime."""

    buffer: Buffer

    @property
    def writes(self) -> set[Buffer]:
        return {self.buffer}

    def lines(self) -> Iterator[str]:
        yield f"allocate {self.buffer} [{', '.join(text(s) for s in self.buffer.shape)}] {self.buffer.dtype.label}"


@dataclass(eq=False)
class MatmulItem(Item):
    """``c[batch, m, n] = a[batch, m, k] @ b[batch, k, n]``, c in fp32 (int32 for i8). Views of equal rank, batch axes expanded."""

    kind: str
    a: View
    b: View
    c: View

    @property
    def reads(self) -> set[Buffer]:
        return {self.a.buffer, self.b.buffer}

    @property
    def writes(self) -> set[Buffer]:
        return {self.c.buffer}

    def lines(self) -> Iterator[str]:
        yield f"matmul {self.kind} {self.c.buffer} = {view_text(self.a)} @ {view_text(self.b)}"


@dataclass(eq=False)
class BandItem(Item):
    """Products and nests that run ``rows`` rows at a time; ``private`` buffers hold one band (the value: their row axis)."""

    items: list[Item]
    rows: int
    private: dict[Buffer, int]

    @property
    def reads(self) -> set[Buffer]:
        return {b for item in self.items for b in item.reads}

    @property
    def writes(self) -> set[Buffer]:
        return {b for item in self.items for b in item.writes}

    def lines(self) -> Iterator[str]:
        yield f"for every {self.rows} rows"
        yield from (f"  {line}" for item in self.items for line in item.lines())


@dataclass(eq=False)
class ProductItem(Item):
    """A matmul whose result only ``nest`` reads: the nest runs on every finished block while it is in cache (elementwise, rank 2)."""

    matmul: MatmulItem
    nest: NestItem

    @property
    def reads(self) -> set[Buffer]:
        return self.matmul.reads | (self.nest.reads - {self.matmul.c.buffer})

    @property
    def writes(self) -> set[Buffer]:
        return self.nest.writes

    def lines(self) -> Iterator[str]:
        yield from self.matmul.lines()
        yield "  then on every block of it"
        yield from (f"    {line}" for line in self.nest.lines())


@dataclass(eq=False)
class CallItem(Item):
    """An operation the reference computes: the kernel calls back into Python with these views."""

    number: int
    name: str
    operands: tuple[Any, ...]  # View, or None where the operand is a scalar
    results: tuple[View, ...]
    scalars: tuple[Expression, ...]  # run-time numbers that literals and attributes refer to

    @property
    def reads(self) -> set[Buffer]:
        return {v.buffer for v in self.operands if isinstance(v, View)}

    @property
    def writes(self) -> set[Buffer]:
        return {v.buffer for v in self.results}

    def lines(self) -> Iterator[str]:
        operands = ", ".join(view_text(v) if isinstance(v, View) else "scalar" for v in self.operands)
        yield f"call {self.name}({operands}) -> {', '.join(str(v.buffer) for v in self.results)}"


@dataclass(eq=False)
class ReadItem(Item):
    symbol: Symbol
    view: View  # rank 0: one element
    span: Span | None = None

    @property
    def reads(self) -> set[Buffer]:
        return {self.view.buffer}

    def lines(self) -> Iterator[str]:
        yield f"{self.symbol.name} = read {view_text(self.view)}"


@dataclass(eq=False)
class WriteItem(Item):
    view: View
    value: Scalar

    @property
    def writes(self) -> set[Buffer]:
        return {self.view.buffer}

    def lines(self) -> Iterator[str]:
        yield f"write {view_text(self.view)} = {text(self.value)}"


@dataclass(eq=False)
class CheckItem(Item):
    condition: Scalar
    error: UserError
    span: Span | None

    def lines(self) -> Iterator[str]:
        yield f"check {text(self.condition)} else {type(self.error).__name__}"


@dataclass(eq=False)
class EvaluateItem(Item):
    """Scalars that may have no value are evaluated here, so that the kernel stops at the line that uses them.

    ``careful``: the expressions among them whose integers may leave 64 bits.
    """

    scalars: tuple[Expression, ...]
    careful: Collection[Expression]
    span: Span | None

    def lines(self) -> Iterator[str]:
        yield f"evaluate {', '.join(map(text, self.scalars))}"


@dataclass(eq=False)
class IndexCheckItem(Item):
    """Every entry of an index tensor lies in ``0 … size - 1``, else the kernel stops at the first that does not."""

    view: View
    size: Scalar
    error: UserError  # its fact ``index`` is ``symbol``
    symbol: Symbol

    @property
    def reads(self) -> set[Buffer]:
        return {self.view.buffer}

    def lines(self) -> Iterator[str]:
        yield f"check indices {view_text(self.view)} below {text(self.size)}"


@dataclass(eq=False)
class WrittenItem(Item):
    """The kernel stops unless every entry of a view into a record of missing elements (see ``missing.py``) is 0."""

    view: View
    error: UserError  # its facts mention ``symbols``, the position of the first missing element
    symbols: tuple[Symbol, ...]

    @property
    def reads(self) -> set[Buffer]:
        return {self.view.buffer}

    def lines(self) -> Iterator[str]:
        yield f"check written {view_text(self.view)}"


@dataclass(eq=False)
class ScatterItem(Item):
    """Rows of ``source`` [a, b, columns] written to the rows of ``target`` that ``index`` [a, b] names, in order.

    ``target`` is [rows, columns], or [blocks, rows of a block, columns] with row numbers running over both.
    """

    target: View
    index: View
    source: View

    @property
    def reads(self) -> set[Buffer]:
        return {self.index.buffer, self.source.buffer, self.target.buffer}

    @property
    def writes(self) -> set[Buffer]:
        return {self.target.buffer}

    def lines(self) -> Iterator[str]:
        yield f"scatter {view_text(self.source)} to {view_text(self.target)} at {view_text(self.index)}"


@dataclass(eq=False)
class TopkItem(Item):
    """The ``k`` largest (or smallest) along the last axis, sorted, and their positions."""

    source: View
    values: View
    places: View
    k: int
    largest: bool

    @property
    def reads(self) -> set[Buffer]:
        return {self.source.buffer}

    @property
    def writes(self) -> set[Buffer]:
        return {self.values.buffer, self.places.buffer}

    def lines(self) -> Iterator[str]:
        yield f"topk {self.k} of {view_text(self.source)} -> {self.values.buffer}, {self.places.buffer}"


@dataclass(eq=False)
class LoopItem(Item):
    loop: Loop
    body: list[Item]
    symbols: list[tuple[Symbol, Scalar, Scalar, Symbol]] = field(default_factory=list)  # argument, initial, next, result

    @property
    def reads(self) -> set[Buffer]:
        return {b for item in self.body for b in item.reads}

    @property
    def writes(self) -> set[Buffer]:
        return {b for item in self.body for b in item.writes}

    def lines(self) -> Iterator[str]:
        loop = self.loop
        word = "parallel loop" if loop.independent else "loop"
        yield f"{word} {loop.index.name} in ({text(loop.start)}, {text(loop.stop)}, {text(loop.step)})"
        yield from (f"  {line}" for item in self.body for line in item.lines())


@dataclass(eq=False)
class IfItem(Item):
    branch: If
    then: list[Item]
    orelse: list[Item]
    symbols: list[tuple[Symbol, Scalar, Scalar]] = field(default_factory=list)

    @property
    def reads(self) -> set[Buffer]:
        return {b for item in (*self.then, *self.orelse) for b in item.reads}

    @property
    def writes(self) -> set[Buffer]:
        return {b for item in (*self.then, *self.orelse) for b in item.writes}

    def lines(self) -> Iterator[str]:
        yield f"if {text(self.branch.condition)}"
        yield from (f"  {line}" for item in self.then for line in item.lines())
        if self.orelse:
            yield "else"
            yield from (f"  {line}" for item in self.orelse for line in item.lines())


def view_text(view: View) -> str:
    strides = ", ".join(text(s) for s in view.strides)
    extents = ", ".join(text(s) for s in view.valid)
    return f"{view.buffer}[{text(view.offset)}; {strides}]({extents})"


@dataclass(frozen=True)
class ScalarSlot:
    """Stands for the run-time number ``index`` of a call, inside literals and attributes that go to the reference."""

    index: int


@dataclass(frozen=True)
class Call:
    """What Python needs to carry out one ``CallItem``; picklable, so that it can live in a cache beside the object.

    ``operands``: ``("view", dtype)`` or ``("scalar", value, dtype)``; ``results``: element types.
    """

    name: str
    operands: tuple[tuple[Any, ...], ...]
    attributes: Mapping[str, Any]
    results: tuple[Any, ...]
    span: Span | None
