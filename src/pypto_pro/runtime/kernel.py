"""A kernel that can be launched: ``k(...)``, ``k[block_dim](...)``, ``k[stream, block_dim](...)`` with keys and element types.

The first launch for given shapes, types and keys compiles; later ones find the program by a tuple of what the arguments are.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pypto.errors.base import UserError
from pypto_pro.errors.launching import ArgumentBinding, ArgumentCount, BlockDim, LaunchArity, NeedsSpecialisation
from pypto_pro.frontend.signature import KernelParameter, Signature
from pypto_pro.runtime.arguments import host_tensor, pointer_memory, scalar_value, tiling_values
from pypto_pro.runtime.compilation import Compiled, Definition, Request, compile_kernel
from pypto_pro.runtime.datatypes import bind_datatypes
from pypto_pro.runtime.fingerprint import Seen
from pypto_pro.runtime.profiling import note, predictions
from pypto_pro.runtime.running import fastest_preload, run
from pypto_pro.runtime.shape_policy import bind_shape, bind_static, static_signature
from pypto_pro.runtime.targets import target
from pypto_pro.runtime.tilingkey import TilingKeySchema


@dataclass(frozen=True)
class Launch:
    """How often and with which constants: ``stream`` is accepted and means nothing here."""

    stream: Any = None
    block_dim: int = 1
    key: Mapping[str, int] | None = None
    datatypes: Mapping[str, Any] | None = None


@dataclass(eq=False)
class Specialisation:
    """What a key and element types make of a kernel: its constants and its signature, and programs by shapes."""

    constants: Mapping[str, Any]
    signature: Signature
    packed: int | None
    dtypes: str
    seen: Seen
    programs: dict[tuple, Compiled] = field(default_factory=dict)
    preloads: dict[tuple, Any] = field(default_factory=dict)  # chosen by the simulator


class TileKernel:
    """What ``pl.jit`` makes of a function. ``last_report`` is that of the last launch, None before the first."""

    __name__: str
    __doc__: str | None

    def __init__(self, definition: Definition, arch: Any, schema: TilingKeySchema | None, symbols: Mapping[str, str]) -> None:
        self.definition = definition
        self.arch = arch
        self.schema = schema
        self.symbols = symbols
        self.last_report: Any = None
        self.last_compiled: Compiled | None = None
        self.pypto_function = definition.function
        self._specialisations: dict[tuple, Specialisation] = {}

    def __repr__(self) -> str:
        return f"<pypto_pro kernel {self.definition.kernel}>"

    # -- launch forms ---------------------------------------------------------------------------------------------------------

    def __call__(self, *arguments: Any, **named: Any) -> None:
        """Runs one block."""
        if self.schema is not None or self.symbols:
            raise NeedsSpecialisation(kernel=self.definition.kernel, expected=self._form)
        self.launch(Launch(), arguments, named)

    def __getitem__(self, given: Any) -> BoundLaunch:
        """``k[block_dim]``, ``k[stream, block_dim]``, and behind them the tiling key and the element types that are declared."""
        return BoundLaunch(self, self._launch(given))

    @property
    def _form(self) -> str:
        extra = (["tilingkey"] if self.schema is not None else []) + (["datatype"] if self.symbols else [])
        return ", ".join(["stream", "block_dim", *extra])

    def _launch(self, given: Any) -> Launch:
        items = list(given) if isinstance(given, tuple) else [given]
        wanted = (self.schema is not None) + bool(self.symbols)
        if wanted == 0 and len(items) == 1:
            items.insert(0, None)
        if len(items) != 2 + wanted:
            got = ", ".join(type(item).__name__ for item in items)
            expected = "stream, block_dim, tilingkey, datatype" if wanted == 2 else self._form
            raise LaunchArity(expected=expected, got=f"[{got}]")
        block_dim = items[1]
        if isinstance(block_dim, bool) or not isinstance(block_dim, int) or block_dim <= 0:
            raise BlockDim(got=repr(block_dim))
        key = items[2] if self.schema is not None else None
        datatypes = items[-1] if self.symbols else None
        return Launch(items[0], block_dim, key, datatypes)

    # -- running --------------------------------------------------------------------------------------------------------------

    def launch(self, launch: Launch, arguments: tuple, named: Mapping[str, Any]) -> None:
        """Checks, compiles where needed, runs to the end."""
        specialisation = self.specialise(launch.key, launch.datatypes)
        signature = specialisation.signature
        given = self._given(arguments, named)
        values, shapes = self._values(signature, given)
        compiled = self._chosen(specialisation, shapes, values, launch.block_dim)
        self.last_compiled = compiled
        others: dict[int | str, float] = {}
        if self.definition.pipeline is not None:
            others = predictions(functools.partial(self.compiled_for, specialisation, shapes), values, launch.block_dim)
        try:
            self.last_report = run(compiled, values, launch.block_dim)
        except UserError as error:
            self.last_report = getattr(error, "simulation", None)
            raise
        note(self.definition.kernel, self.last_report, others)

    def _chosen(
        self, specialisation: Specialisation, shapes: Mapping[str, tuple], values: Mapping[str, Any], blocks: int
    ) -> Compiled:
        """The program; with ``preload="auto"`` the fastest one, found once for these shapes."""
        if not getattr(self.definition.pipeline, "automatic", False):
            return self.compiled_for(specialisation, shapes)
        handle = (target(self.arch)[0], tuple(shapes.values()))
        if handle not in specialisation.preloads:
            compile_for = functools.partial(self.compiled_for, specialisation, shapes)
            specialisation.preloads[handle] = fastest_preload(compile_for, values, blocks)
        return self.compiled_for(specialisation, shapes, specialisation.preloads[handle])

    @cached_property
    def _python_signature(self) -> inspect.Signature:
        return inspect.signature(self.definition.function)

    def _given(self, arguments: tuple, named: Mapping[str, Any]) -> tuple:
        """Arguments in the order of the parameters; Python's defaults and keywords work."""
        count = self.definition.function.__code__.co_argcount
        if not named and len(arguments) == count:
            return arguments
        try:
            bound = self._python_signature.bind(*arguments, **named)
        except TypeError as error:
            if not named:
                raise ArgumentCount(kernel=self.definition.kernel, expected=count, got=len(arguments)) from error
            raise ArgumentBinding(kernel=self.definition.kernel, reason=error) from error
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def _values(self, signature: Signature, given: tuple) -> tuple[dict[str, Any], dict[str, tuple]]:
        """Argument values by name, and the shapes that they make the kernel compiled for."""
        kernel = self.definition.kernel
        values: dict[str, Any] = {}
        shapes: dict[str, tuple] = {}
        for parameter, argument in zip(signature.parameters, given, strict=True):
            if parameter.kind == "tensor":
                host = host_tensor(kernel, parameter, argument)
                shapes[parameter.name] = bind_shape(kernel, parameter, None if host is None else host.shape)
                values[parameter.name] = None if host is None else host.array
            else:
                values[parameter.name] = self._plain_value(parameter, argument)
        return values, shapes

    def _plain_value(self, parameter: KernelParameter, argument: Any) -> Any:
        kernel = self.definition.kernel
        if parameter.kind == "scalar":
            return scalar_value(kernel, parameter, argument)
        if parameter.kind == "tiling":
            return tiling_values(kernel, parameter, argument)
        host = pointer_memory(kernel, parameter, argument)
        return None if host is None else host.array

    # -- compiling ------------------------------------------------------------------------------------------------------------

    def specialise(self, key: Any = None, datatypes: Any = None) -> Specialisation:
        """The kernel for a tiling key and element types."""
        values = self.schema.check(key) if self.schema is not None else None
        dtypes = bind_datatypes(self.symbols, datatypes) if self.symbols else {}
        handle = (values, tuple(dtypes.items()))
        found = self._specialisations.get(handle)
        if found is not None and found.seen.unchanged():
            return found
        constants: dict[str, Any] = dict(dtypes)
        packed = None
        if self.schema is not None and values is not None:
            constants |= dict(zip(self.schema.names, values, strict=True))
            packed = self.schema.pack(key)
        text = ", ".join(f"{name}={dtype.name}" for name, dtype in dtypes.items())
        found = Specialisation(constants, self.definition.signature(constants), packed, text, Seen(self.definition))
        self._specialisations[handle] = found
        return found

    def compiled_for(self, specialisation: Specialisation, shapes: Mapping[str, tuple], preload: Any = None) -> Compiled:
        """The program for these shapes on the chip at hand."""
        chip_name, chip = target(self.arch)
        handle = (chip_name, tuple(shapes.values()), preload)
        found = specialisation.programs.get(handle)
        if found is None:
            found = compile_kernel(self.definition, self._request(specialisation, shapes, chip_name, chip, preload))
            specialisation.programs[handle] = found
        return found

    def _request(
        self, specialisation: Specialisation, shapes: Mapping[str, tuple], chip_name: str, chip: Any, preload: Any
    ) -> Request:
        static = static_signature(specialisation.signature, shapes)
        keys = {
            "shape": repr(static) if static else "",
            "dtypes": specialisation.dtypes,
            "key": f"{specialisation.packed:x}" if specialisation.packed is not None else "",
        }
        return Request(specialisation.signature, shapes, specialisation.constants, chip_name, chip, keys, preload)

    def compile(
        self, static_shapes: Mapping[str, Any] | None = None, *, key: Any = None, datatypes: Any = None, preload: Any = None
    ) -> Compiled:
        """Compiles without a launch; ``static_shapes`` gives the shapes of parameters with STATIC axes."""
        specialisation = self.specialise(key, datatypes)
        shapes = bind_static(specialisation.signature, static_shapes)
        self.last_compiled = self.compiled_for(specialisation, shapes, preload)
        return self.last_compiled

    @property
    def generated(self) -> str:
        """Text of ``pipeline_generated.py`` of the last compilation; "" without a pipeline."""
        return self.last_compiled.generated if self.last_compiled is not None else ""

    @property
    def folder(self) -> Path | None:
        """Where the artefacts of the last compilation are."""
        return self.last_compiled.folder if self.last_compiled is not None else None


@dataclass(frozen=True)
class BoundLaunch:
    """``k[stream, block_dim]``, ready to be called with the arguments."""

    kernel: TileKernel
    form: Launch

    def __call__(self, *arguments: Any, **named: Any) -> None:
        self.kernel.launch(self.form, arguments, named)
