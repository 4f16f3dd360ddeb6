"""``pl.kernel``, ``pl.function`` and ``pl.program``: kernels that are read without being launched (tile API section 2.9)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import FunctionType, MethodType
from typing import Any

from pypto.cores.enums import CoreType
from pypto.cores.program import CoreProgram, TileProgram
from pypto_pro.errors.calls import NoMethod
from pypto_pro.errors.launching import JitArgument, NotAKernelFunction, ProgramEmpty, ProgramNotAClass
from pypto_pro.frontend.entry import Source, parse_kernel, read_core
from pypto_pro.frontend.signature import Signature
from pypto_pro.frontend.state import Unit
from pypto_pro.language.enums import FunctionType as Kind
from pypto_pro.runtime.compilation import Definition, Request, pipelined, source_of
from pypto_pro.runtime.scopes import caller_locals
from pypto_pro.runtime.shape_policy import bind_static
from pypto_pro.runtime.targets import target


@dataclass(frozen=True)
class ParsedFunction:
    """What ``pl.function`` gives: the name, the kind and the program of a function. ``program`` is None for a method of a program class."""

    name: str
    type: Kind
    program: TileProgram | None
    function: FunctionType = field(repr=False)
    strict_ssa: bool = False


@dataclass(frozen=True)
class ParsedProgram:
    """What ``pl.program`` gives: the functions of a class by name."""

    name: str
    functions: Mapping[str, ParsedFunction]


class ProgramSelf:
    """``self`` of a program class: its methods, to be read in place when they are called."""

    def __init__(self, name: str, functions: Mapping[str, FunctionType]) -> None:
        self._name = name
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._functions:
            raise NoMethod(name=name, owner=self._name)
        return MethodType(self._functions[name], self)


def _request(signature: Signature, shapes: Mapping[str, tuple] | None = None) -> Request:
    chip_name, chip = target(None)
    return Request(signature, shapes or bind_static(signature), {}, chip_name, chip)


def _parsed(definition: Definition, *, strict_ssa: bool, owner: ProgramSelf | None = None) -> TileProgram:
    signature = definition.signature({}, lenient=True)
    source = source_of(definition, _request(signature), definition.code)
    return parse_kernel(replace(source, strict_ssa=strict_ssa, values=True, owner=owner))


def function(fn: Any = None, *, type: Kind = Kind.Opaque, strict_ssa: bool = False) -> Any:
    """Reads a function at once; the result holds its core programs. With ``strict_ssa`` every name is bound once.

    Raises the parser classes. Methods of a ``pl.program`` class are read when the class is complete.
    """
    snapshot = caller_locals()

    def read(fn: Any) -> ParsedFunction:
        if not isinstance(fn, FunctionType):
            raise NotAKernelFunction(what="pl.function", got=fn.__class__.__name__)
        first = fn.__code__.co_varnames[:1]
        if first == ("self",) and fn.__code__.co_argcount:
            return ParsedFunction(fn.__name__, type, None, fn, strict_ssa)
        program = _parsed(Definition(fn, snapshot), strict_ssa=strict_ssa)
        return ParsedFunction(fn.__name__, type, program, fn, strict_ssa)

    return read if fn is None else read(fn)


def program(cls: Any = None, *, strict_ssa: bool = False) -> Any:
    """Reads the ``pl.function`` methods of a class (without their ``self``); raises when there is none."""
    snapshot = caller_locals()

    def read(cls: Any) -> ParsedProgram:
        if not isinstance(cls, type):
            raise ProgramNotAClass(got=cls.__class__.__name__)
        found = {name: one for name, one in vars(cls).items() if isinstance(one, ParsedFunction)}
        if not found:
            raise ProgramEmpty(name=cls.__name__)
        owner = ProgramSelf(cls.__name__, {name: one.function for name, one in found.items()})
        return ParsedProgram(cls.__name__, {name: _method(one, snapshot, owner, strict_ssa) for name, one in found.items()})

    return read if cls is None else read(cls)


def _method(one: ParsedFunction, snapshot: Mapping[str, Any], owner: ProgramSelf, strict_ssa: bool) -> ParsedFunction:
    if one.program is not None:
        return one
    definition = Definition(one.function, snapshot)
    return replace(one, program=_parsed(definition, strict_ssa=strict_ssa or one.strict_ssa, owner=owner))


class KernelDef:
    """A kernel that is read, not launched: its syntax tree and the names it sees.

    ``func_name``, ``func_def`` (an ``ast.FunctionDef``), ``closure_vars``, ``meta_data``, ``auto_mutex``, ``pipeline``.
    """

    def __init__(self, definition: Definition, meta_data: Any, func_type: Kind, strict_ssa: bool) -> None:
        self.definition = definition
        self.meta_data = meta_data
        self.func_type = func_type
        self.strict_ssa = strict_ssa
        self.auto_mutex = definition.auto_mutex
        self.pipeline = definition.pipeline
        functools.update_wrapper(self, definition.function)  # type: ignore[arg-type]

    @property
    def func_name(self) -> str:
        return self.definition.kernel

    @property
    def name(self) -> str:
        return self.definition.name or self.definition.kernel

    @property
    def func_def(self) -> Any:
        return self.definition.code.node

    @property
    def closure_vars(self) -> dict[str, Any]:
        return {**self.definition.function.__globals__, **self.definition.names()}

    def parse_target_program(
        self, target: CoreType, bound_signature: Mapping[str, Any] | None = None
    ) -> tuple[CoreProgram, bool]:
        """The program of one core, and whether the kernel has a section for it. ``bound_signature``: shapes for STATIC axes."""
        source = self._source(bound_signature)
        unit = Unit(target, source.chip, strict_ssa=self.strict_ssa, kernel=self.func_name)
        program = read_core(source, unit)
        return program, target in unit.sections

    def program(self, bound_signature: Mapping[str, Any] | None = None) -> TileProgram:
        """Both cores together."""
        return parse_kernel(self._source(bound_signature))

    def _source(self, bound_signature: Mapping[str, Any] | None) -> Source:
        """What the front end reads: the definition after the pipeline, with the shapes that are given."""
        signature = self.definition.signature({})
        request = _request(signature, bind_static(signature, bound_signature))
        code, _ = pipelined(self.definition, request)
        return source_of(self.definition, request, code)


def kernel(
    func: Any = None,
    meta_data: Any = None,
    *,
    name: str | None = None,
    func_type: Kind = Kind.Opaque,
    strict_ssa: bool = False,
    auto_mutex: bool = True,
    pipeline: Any = None,
) -> Any:
    """Like ``pl.jit`` without launching: keeps the source and the names it sees, to be read for one core at a time."""
    snapshot = caller_locals()
    if not isinstance(auto_mutex, bool):
        raise JitArgument(name="auto_mutex", expected="True or False", got=repr(auto_mutex))

    def define(func: Any) -> KernelDef:
        if not isinstance(func, FunctionType):
            raise NotAKernelFunction(what="pl.kernel", got=type(func).__name__)
        definition = Definition(func, snapshot, auto_mutex, pipeline, name or "")
        return KernelDef(definition, meta_data, func_type, strict_ssa)

    return define if func is None else define(func)
