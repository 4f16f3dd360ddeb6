"""From a function to a program ready to run, step by step: pipeline → parse → lock → memory → artefacts.

``Definition`` is what a decorator keeps of a kernel; ``compile_kernel`` makes a ``Compiled`` for given shapes, types and keys.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

from pypto.chips.model import Chip
from pypto.cores.program import TileProgram
from pypto.cores.text import print_program
from pypto.diagnostics import warn
from pypto.errors.frontend import NoSource
from pypto.frontend.python import Code, cells_of, code_of, new_code
from pypto_pro.errors.calls import SourceMissing
from pypto_pro.frontend.entry import Source, parse_kernel
from pypto_pro.frontend.locking import lock
from pypto_pro.frontend.memory_map import MemoryMap, check_memory, memory_map
from pypto_pro.frontend.signature import Signature, read_signature, scope_of
from pypto_pro.language.tiles import for_architecture
from pypto_pro.runtime import artefacts
from pypto_pro.runtime.simulation import settings


@dataclass(eq=False)
class Definition:
    """A kernel as it was decorated. ``snapshot``: local names of the decorator's frame; globals stay live."""

    function: FunctionType
    snapshot: Mapping[str, Any]
    auto_mutex: bool = True
    pipeline: Any = None
    name: str = ""

    @property
    def kernel(self) -> str:
        return self.function.__name__

    @cached_property
    def code(self) -> Code:
        try:
            return code_of(self.function)
        except NoSource as error:
            raise SourceMissing(name=self.kernel, reason=error.facts["reason"])

    def scope(self, constants: Mapping[str, Any]) -> Mapping[str, Any]:
        return scope_of(self.function, {**cells_of(self.function), **constants}, self.snapshot)

    def signature(self, constants: Mapping[str, Any], *, lenient: bool = False) -> Signature:
        """The parameters; ``constants`` are dtype symbols and key fields. ``lenient``: as ``pl.function`` takes them."""
        return read_signature(self.code, self.scope(constants), lenient=lenient)

    def names(self) -> dict[str, Any]:
        """Closure cells over the decorator's locals."""
        return {**self.snapshot, **cells_of(self.function)}


@dataclass(frozen=True)
class Request:
    """What to compile for: shapes by tensor parameter, constants by name, the chip, and what the folder is called by."""

    signature: Signature
    shapes: Mapping[str, tuple]
    constants: Mapping[str, Any]
    chip_name: str
    chip: Chip
    keys: Mapping[str, str] = field(default_factory=dict)
    preload: Any = None  # replaces that of the pipeline configuration


@dataclass(eq=False)
class Compiled:
    """A kernel ready to run.

    ``memory``: the map of its tiles; ``generated``: text of the pipelined module, "" without a pipeline; ``transformed``: what the pipeline
    transform decided; ``folder``: the artefacts, or None.
    """

    program: TileProgram
    signature: Signature
    shapes: Mapping[str, tuple]
    memory: MemoryMap
    generated: str = ""
    transformed: Any = None
    folder: Path | None = None

    @property
    def text(self) -> str:
        """The core programs as they run."""
        return print_program(self.program)


def compile_kernel(definition: Definition, request: Request) -> Compiled:
    """Every step in order."""
    with for_architecture(request.chip.architecture):
        code, transformed = pipelined(definition, request)
        program = parse_kernel(source_of(definition, request, code))
    if definition.auto_mutex:
        program = lock(program)
    memory = memory_map(program, request.chip) if settings().permissive else check_memory(program, request.chip)
    made = Compiled(program, request.signature, request.shapes, memory, getattr(transformed, "text", ""), transformed)
    made.folder = saved(definition, request, made)
    return made


def source_of(definition: Definition, request: Request, code: Code) -> Source:
    return Source(
        code,
        definition.function.__globals__,
        definition.names(),
        request.signature,
        request.shapes,
        request.constants,
        request.chip,
        request.chip_name,
    )


def pipelined(definition: Definition, request: Request) -> tuple[Code, Any]:
    """The definition with its loops pipelined, where the decorator asked for it."""
    code = definition.code
    if definition.pipeline is None or not isinstance(code.node, ast.FunctionDef):
        return code, None
    from pypto_pro.pipeline import PipelineConfig, transform_pipeline

    config = definition.pipeline if request.preload is None else PipelineConfig(preload=request.preload)
    namespace = {**definition.function.__globals__, **definition.names(), **request.constants}
    made = transform_pipeline(
        code.node,
        config,
        namespace,
        constants={**request.constants, **_extents(request)},
        file=code.file,
        source=_text_of(code.file),
        auto_mutex=definition.auto_mutex,
    )
    for text in made.warnings:
        warn(text, code.span(code.node))
    return new_code(code.name, code.file, made.node, code.qualified), made


def _extents(request: Request) -> dict[str, Any]:
    """Constant extents by the text that kernels write: ``x.shape[0]``."""
    return {
        f"{name}.shape[{axis}]": size
        for name, shape in request.shapes.items()
        for axis, size in enumerate(shape)
        if isinstance(size, int)
    }


def _text_of(file: str) -> str | None:
    return "".join(linecache.getlines(file)) or None


def saved(definition: Definition, request: Request, made: Compiled) -> Path | None:
    """Writes the artefacts."""
    folder = artefacts.kernel_directory(
        definition.code.file, definition.name or definition.kernel, request.chip_name, request.keys
    )
    files = {"core_programs.txt": made.text, "memory.txt": str(made.memory)}
    if made.generated:
        files["pipeline_generated.py"] = made.generated
    return artefacts.write(folder, files)
