"""LLVM IR as text: a builder that appends one SSA line per call.

Values are plain strings (``%t7``, ``@table``, ``42``); types are LLVM's own spelling (``i64``, ``<16 x float>``).
Nothing is checked here: ``Target.compile(text, verify=True)`` does that in tests. Text is the cheapest form there is (half a
microsecond a line). No optimisation passes follow: what is written is what runs, SSA directly, no stack slots but ``scratch``::

    module = Module()
    f = module.function("void", "kernel", [("ptr", "block")])
    x = f.load("ptr", f.gep("ptr", f.arguments[0], 2))
    with f.loop(0, 64, 16, carried=[("<16 x float>", "zeroinitializer")]) as loop:
        v = f.load("<16 x float>", f.gep("float", x, loop.index), align=4)
        loop.next = [f.op("fadd", "<16 x float>", loop.carried[0], v)]
    f.store("<16 x float>", loop.results[0], x, align=4)
    f.ret()
    print(module.text())

Module    ``function`` opens a definition, ``declare`` an external (or intrinsic) once, ``constant`` a read-only array (equal
          ones are one), ``variable`` a writable global, ``require(name, make)`` runs ``make(module)`` the first time only;
          ``externals`` names what a linker must supply.
Function  ``op cast icmp fcmp select load store gep call intrinsic phi`` return the new value (or nothing);
          ``block jump branch ret`` make control flow; ``loop``, ``repeat``, ``when`` and ``either`` are the structured
          forms;
          ``splat`` spreads a scalar, ``scratch`` reserves stack in the entry block, ``comment`` leaves a trace for readers.
Integers given as Python ints are fine wherever a value is expected.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Union

Operand = Union[str, int]

# A 512-bit vector type in a signature needs the second attribute on AVX-512; other targets ignore both strings.
FUNCTION_ATTRIBUTES = 'nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512"'


def double_bits(value: float) -> str:
    """An LLVM ``double`` constant, exact, NaN and infinities included.

    >>> double_bits(1.0)
    '0x3FF0000000000000'
    """
    return "0x" + struct.pack(">d", value).hex().upper()


def float_bits(value: float) -> str:
    """An LLVM ``float`` constant: the nearest fp32 number, written as the double it widens to.

    >>> float_bits(0.1)
    '0x3FB99999A0000000'
    """
    try:
        narrow = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        narrow = float("inf") if value > 0 else float("-inf")
    return double_bits(narrow)


class Loop:
    """What ``loop`` and ``repeat`` yield. Set ``next`` (in the order of ``carried``) inside the block, read ``results`` after."""

    __slots__ = ("again", "carried", "index", "next", "results")

    def __init__(self, index: str, carried: list[str]) -> None:
        self.index = index
        self.carried = carried
        self.next: Sequence[Operand] = ()
        self.again: Operand = "false"  # of ``repeat`` only: an i1, whether to run once more
        self.results: list[str] = []


class Function:
    """One definition being written. ``arguments`` are its parameters' names, ``label`` the open block."""

    __slots__ = ("_labels", "_lines", "_scratch", "_values", "arguments", "facts", "header", "label", "module", "name")

    def __init__(self, module: Module, header: str, name: str, arguments: list[str]) -> None:
        self.module = module
        self.header = header
        self.name = name
        self.arguments = arguments
        self.label = "entry"
        self.facts: Any = None  # what the vector builder knows about values, by name (vector_facts.Facts)
        self._values = 0
        self._labels = 0
        self._lines: list[str] = []
        self._scratch: list[str] = []

    # -- lines -----------------------------------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Append an instruction without a result, as it stands."""
        self._lines.append(text)

    def define(self, text: str) -> str:
        """Append ``%tN = text`` and return ``%tN``."""
        self._values += 1
        name = f"%t{self._values}"
        self._lines.append(f"{name} = {text}")
        return name

    def comment(self, text: str) -> None:
        self._lines.append("; " + text.replace("\n", " "))

    def op(self, code: str, type: str, *operands: Operand) -> str:
        """Any instruction of the form ``code type a, b``: ``op("fadd", "float", a, b)``, ``op("fneg", "float", a)``."""
        return self.define(f"{code} {type} {', '.join(map(str, operands))}")

    def cast(self, code: str, source: str, value: Operand, target: str) -> str:
        """``zext sext trunc bitcast sitofp fptosi fpext fptrunc ptrtoint inttoptr`` …"""
        return self.define(f"{code} {source} {value} to {target}")

    def icmp(self, predicate: str, type: str, a: Operand, b: Operand) -> str:
        return self.define(f"icmp {predicate} {type} {a}, {b}")

    def fcmp(self, predicate: str, type: str, a: Operand, b: Operand) -> str:
        return self.define(f"fcmp {predicate} {type} {a}, {b}")

    def select(self, mask: Operand, type: str, a: Operand, b: Operand, mask_type: str = "i1") -> str:
        return self.define(f"select {mask_type} {mask}, {type} {a}, {type} {b}")

    def load(self, type: str, pointer: str, align: int = 0, suffix: str = "") -> str:
        """``align`` in bytes; 0 means the type's natural alignment. User data is only ever aligned to its element."""
        return self.define(f"load {type}, ptr {pointer}{f', align {align}' if align else ''}{suffix}")

    def store(self, type: str, value: Operand, pointer: str, align: int = 0, suffix: str = "") -> None:
        self._lines.append(f"store {type} {value}, ptr {pointer}{f', align {align}' if align else ''}{suffix}")

    def gep(self, element: str, pointer: str, index: Operand, index_type: str = "i64") -> str:
        """Address of ``pointer[index]``, counted in elements of type ``element`` (``i8``: bytes)."""
        if index == 0 or index == "0":
            return pointer
        return self.define(f"getelementptr inbounds {element}, ptr {pointer}, {index_type} {index}")

    def call(self, result: str, callee: str, *arguments: tuple[str, Operand]) -> str:
        """Call ``callee`` (``@name`` or a pointer value); arguments are ``(type, value)``. Returns ``""`` for ``void``."""
        text = f"call {result} {callee}({', '.join(f'{t} {v}' for t, v in arguments)})"
        if result == "void":
            self._lines.append(text)
            return ""
        return self.define(text)

    def intrinsic(self, result: str, name: str, *arguments: tuple[str, Operand]) -> str:
        """Call ``llvm.…`` and declare it. An operand that must be an immediate has the type ``"immarg i32"``."""
        types = ", ".join(t.removeprefix("immarg ") + (" immarg" if t.startswith("immarg ") else "") for t, _ in arguments)
        self.module.declare(result, name, types)
        return self.call(result, f"@{name}", *((t.removeprefix("immarg "), v) for t, v in arguments))

    def phi(self, type: str, *incoming: tuple[Operand, str]) -> str:
        """``incoming`` are (value, label of the block it comes from)."""
        return self.define(f"phi {type} {', '.join(f'[{v}, %{b}]' for v, b in incoming)}")

    def splat(self, element: str, value: Operand, lanes: int) -> str:
        """The vector that holds a scalar *value* in every lane (constants are written ``splat (float …)`` instead)."""
        type = f"<{lanes} x {element}>"
        first = self.define(f"insertelement {type} poison, {element} {value}, i64 0")
        return self.define(f"shufflevector {type} {first}, {type} poison, <{lanes} x i32> zeroinitializer")

    def scratch(self, type: str, count: int = 1, align: int = 64) -> str:
        """Stack memory for ``count`` elements, reserved in the entry block; returns its address. Keep it below 64 KiB."""
        name = f"%scratch{len(self._scratch)}"  # a number of its own, though not the next one behind a slot
        self._scratch.append(f"{name} = alloca {type}, i64 {count}, align {align}")
        return name

    def slot(self, type: str, value: Operand) -> str:
        """Stack memory for one element that holds ``value`` when the function is entered; returns its address."""
        place = self.scratch(type, 1, 8)
        self._scratch.append(f"store {type} {value}, ptr {place}, align 8")
        return place

    # -- control flow ----------------------------------------------------------------------------------------------------------

    def new_label(self, hint: str = "b") -> str:
        self._labels += 1
        return f"{hint}{self._labels}"

    def block(self, label: str) -> None:
        """Open the block ``label``; the one before must have ended."""
        self._lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        self._lines.append(f"br label %{label}")

    def branch(self, condition: Operand, then: str, orelse: str) -> None:
        self._lines.append(f"br i1 {condition}, label %{then}, label %{orelse}")

    def ret(self, type: str = "void", value: Operand = "") -> None:
        self._lines.append(f"ret {type} {value}" if type != "void" else "ret void")

    @contextmanager
    def loop(
        self,
        low: Operand,
        high: Operand,
        step: Operand = 1,
        carried: Sequence[tuple[str, Operand]] = (),
        *,
        type: str = "i64",
        runs: bool = False,
        hint: str = "loop",
    ) -> Iterator[Loop]:
        """``for index in range(low, high, step)`` with ``step > 0``, ``carried`` = (type, initial value) of each rebound value.

        The test stands at the end, after a guard for zero trips; ``runs=True`` promises one trip at least and saves the guard
        (also saved when both bounds are numbers). Not for ``high`` within ``step`` of the type's maximum.
        """
        head, done = self.new_label(hint), self.new_label("done")
        before = self.label
        guarded = not (runs or (isinstance(low, int) and isinstance(high, int) and low < high))
        if guarded:
            self.branch(self.icmp("slt", type, low, high), head, done)
        else:
            self.jump(head)
        self.block(head)
        phis = self._open_phis(1 + len(carried))
        names = [name for _, name in phis]
        inside = Loop(names[0], names[1:])
        yield inside
        following = self.op("add nsw", type, names[0], step)
        last = self.label
        self.branch(self.icmp("slt", type, following, high), head, done)
        nexts = [following, *inside.next]
        if len(nexts) != len(phis):
            raise ValueError(f"loop carries {len(carried)} value(s), next has {len(inside.next)}")
        starts = [(type, low), *carried]
        for (place, name), (kind, start), after in zip(phis, starts, nexts, strict=True):
            self._lines[place] = f"{name} = phi {kind} [{start}, %{before}], [{after}, %{last}]"
        self.block(done)
        inside.results = [
            self.phi(kind, (start, before), (after, last)) if guarded else str(after)
            for (kind, start), after in zip(carried, inside.next, strict=True)
        ]

    @contextmanager
    def repeat(self, carried: Sequence[tuple[str, Operand]], hint: str = "repeat") -> Iterator[Loop]:
        """Run the block at least once and again while ``loop.again`` holds; ``results`` are the last ``next``."""
        head, done = self.new_label(hint), self.new_label("done")
        before = self.label
        self.jump(head)
        self.block(head)
        phis = self._open_phis(len(carried))
        inside = Loop("", [name for _, name in phis])
        yield inside
        for (place, name), (kind, start), after in zip(phis, carried, inside.next, strict=True):
            self._lines[place] = f"{name} = phi {kind} [{start}, %{before}], [{after}, %{self.label}]"
        self.branch(inside.again, head, done)
        self.block(done)
        inside.results = list(map(str, inside.next))

    def _open_phis(self, count: int) -> list[tuple[int, str]]:
        """Reserve ``count`` lines; they are written when the loop's last values are known."""
        reserved = []
        for _ in range(count):
            self._values += 1
            reserved.append((len(self._lines), f"%t{self._values}"))
            self._lines.append("")
        return reserved

    @contextmanager
    def when(self, condition: Operand, hint: str = "then") -> Iterator[None]:
        """Run the block only if the i1 ``condition`` holds."""
        then, done = self.new_label(hint), self.new_label("done")
        self.branch(condition, then, done)
        self.block(then)
        yield
        self.jump(done)
        self.block(done)

    def either(
        self,
        condition: Operand,
        then: Callable[[], Sequence[Operand]],
        orelse: Callable[[], Sequence[Operand]],
        types: Sequence[str] = (),
    ) -> list[str]:
        """Run one of two callbacks, each returning values of ``types``; the joined values are returned."""
        first, second, done = self.new_label("then"), self.new_label("else"), self.new_label("done")
        self.branch(condition, first, second)
        ends, values = [], []
        for label, body in ((first, then), (second, orelse)):
            self.block(label)
            values.append(tuple(body() or ()))
            ends.append(self.label)
            self.jump(done)
        self.block(done)
        return [self.phi(t, (a, ends[0]), (b, ends[1])) for t, a, b in zip(types, *values, strict=True)]

    def text(self) -> str:
        body = "\n  ".join([*self._scratch, *self._lines])
        return f"{self.header} {{\nentry:\n  {body}\n}}\n"


class Module:
    """A translation unit: constants, declarations, functions."""

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.externals: list[str] = []
        self._declared: dict[str, str] = {}
        self._constants: dict[tuple[str, str, int], str] = {}
        self._globals: list[str] = []
        self._required: set[str] = set()
        self._metadata: list[str] = []

    def function(
        self,
        result: str,
        name: str,
        parameters: Sequence[tuple[str, str]] = (),
        *,
        linkage: str = "",
        attributes: str = "",
    ) -> Function:
        """Open a definition. ``parameters`` are (type with attributes, name); ``linkage`` "" (visible), "internal" …"""
        if name in self.functions:
            raise ValueError(f"function {name} is defined twice")
        listed = ", ".join(f"{type} %{parameter}" for type, parameter in parameters)
        header = " ".join(f"define {linkage} {result} @{name}({listed}) {attributes} #0".split())
        made = Function(self, header, name, [f"%{parameter}" for _, parameter in parameters])
        self.functions[name] = made
        return made

    def declare(self, result: str, name: str, types: str = "", attributes: str = "") -> str:
        """Make an external or intrinsic known, once; returns ``@name``."""
        if name not in self._declared and name not in self.functions:
            self._declared[name] = f"declare {result} @{name}({types}) {attributes}".rstrip()
            if not name.startswith("llvm."):
                self.externals.append(name)
        return f"@{name}"

    def constant(self, type: str, value: str, align: int = 64) -> str:
        """Read-only data, for instance ``constant("[2 x float]", "[float 1.0, float 2.0]")``; equal data share one name."""
        key = (type, value, align)
        if key not in self._constants:
            name = f"@constant{len(self._constants)}"
            self._constants[key] = name
            self._globals.append(f"{name} = private unnamed_addr constant {type} {value}, align {align}")
        return self._constants[key]

    def variable(self, name: str, type: str, value: str = "zeroinitializer", align: int = 64, linkage: str = "internal") -> str:
        """A writable global; returns ``@name``."""
        self._globals.append(f"@{name} = {linkage} global {type} {value}, align {align}")
        return f"@{name}"

    def metadata(self, value: str) -> str:
        """A numbered metadata node, for instance ``!{i32 1}``; returns ``!N``, equal ones are one."""
        if value not in self._metadata:
            self._metadata.append(value)
        return f"!{self._metadata.index(value)}"

    def require(self, name: str, make: Callable[[Module], object]) -> str:
        """``@name``, after running ``make(module)``, which must define that function, if this is the first time."""
        if name not in self._required:
            self._required.add(name)
            make(self)
        return f"@{name}"

    def text(self) -> str:
        declarations = [line for name, line in self._declared.items() if name not in self.functions]
        parts = [*self._globals, *declarations, *(f.text() for f in self.functions.values())]
        parts += [f"!{number} = {value}" for number, value in enumerate(self._metadata)]
        return "\n".join([*parts, f"attributes #0 = {{ {FUNCTION_ATTRIBUTES} }}", ""])
