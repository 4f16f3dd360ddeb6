"""Arguments of a kernel as the scalar unit sees them, and global memory as far as they reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pypto.cores.program import Parameter, TileProgram
from pypto.cores.types import Pointer, Scalar, Struct, Tensor
from pypto.dtypes import DataType
from pypto.errors.simulation import ArgumentKind, ArgumentMissing
from pypto.sim.hazards import Domain
from pypto.sim.memory import TensorMemory, stored
from pypto.sim.values import Record, converted


def copied(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with arrays of their own, for a run that must not write into the caller's."""
    return {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


class GlobalMemory:
    """What the arguments are. Arrays that share bytes share one watched memory, whatever they are called."""

    def __init__(self, program: TileProgram, arguments: Mapping[str, Any], report: Any, *, watched: bool) -> None:
        self.kernel = program.name
        self.domains: list[Domain] = []
        self.made: dict[str, Any] = {}
        arrays: list[TensorMemory] = []
        for parameter in program.parameters:
            value = self._value(parameter, arguments)
            self.made[parameter.name] = value
            if isinstance(value, TensorMemory):
                arrays.append(value)
        self.made |= self._axes(program, arguments)
        if watched:
            self._watch([one for one in arrays if len(one.flat)], report)

    def values(self) -> dict[str, Any]:
        """Fresh handles for one core: descriptors can be changed, so each has its own."""
        return {
            name: one.another(one.shape, one.strides) if isinstance(one, TensorMemory) else _fresh(one)
            for name, one in self.made.items()
        }

    def end_block(self) -> None:
        for domain in self.domains:
            domain.end_block()

    # -- one argument ---------------------------------------------------------------------------------------------------------

    def _value(self, parameter: Parameter, arguments: Mapping[str, Any]) -> Any:
        if parameter.name not in arguments:
            raise ArgumentMissing(kernel=self.kernel, name=parameter.name)
        value, type = arguments[parameter.name], parameter.type
        if isinstance(type, Tensor):
            return self._tensor(parameter.name, value, type.dtype, type)
        if isinstance(type, Pointer):
            return self._tensor(parameter.name, value, type.dtype, None)
        if isinstance(type, Scalar):
            return self._number(parameter.name, value, type.dtype)
        if isinstance(type, Struct):
            return self._struct(parameter.name, value, type)
        raise ArgumentKind(kernel=self.kernel, name=parameter.name, expected="a tensor, pointer, scalar or struct", got=type)

    def _tensor(self, name: str, value: Any, dtype: DataType, type: Tensor | None) -> TensorMemory:
        if value is None:
            shape = tuple(0 for _ in type.shape) if type is not None else ()
            found = TensorMemory(np.empty(0, stored(dtype)), shape, dtype)
            found.null = True
        elif not isinstance(value, np.ndarray):
            raise ArgumentKind(kernel=self.kernel, name=name, expected="an array or None", got=value.__class__.__name__)
        else:
            found = self._array(name, value, dtype, pointer=type is None)
        found.name = name
        if type is not None:
            found.layout = type.layout
        return found

    def _array(self, name: str, value: np.ndarray, dtype: DataType, *, pointer: bool) -> TensorMemory:
        element = stored(dtype)
        if value.dtype.itemsize != element.itemsize or (not pointer and value.ndim == 0):
            raise ArgumentKind(
                kernel=self.kernel, name=name, expected=f"an array of {dtype.label}", got=f"{value.dtype}{list(value.shape)}"
            )
        if value.flags.c_contiguous:
            return TensorMemory(value.reshape(-1).view(element), () if pointer else value.shape, dtype)
        strides = [stride // value.dtype.itemsize for stride in value.strides]
        if pointer or any(stride < 0 for stride in strides):
            raise ArgumentKind(kernel=self.kernel, name=name, expected="a contiguous array", got=f"strides {list(value.strides)}")
        span = 1 + sum((extent - 1) * stride for extent, stride in zip(value.shape, strides, strict=True))
        flat = np.lib.stride_tricks.as_strided(value, (span if value.size else 0,), (value.dtype.itemsize,))
        return TensorMemory(flat.view(element), value.shape, dtype, strides)

    def _number(self, name: str, value: Any, dtype: DataType) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if not isinstance(value, (bool, int, float)):
            raise ArgumentKind(kernel=self.kernel, name=name, expected="a number", got=value.__class__.__name__)
        return converted(value, dtype)

    def _struct(self, name: str, value: Any, type: Struct) -> Record:
        if isinstance(value, Record):
            return value
        if not isinstance(value, Mapping):
            raise ArgumentKind(kernel=self.kernel, name=name, expected=f"a mapping of {type.name}", got=value.__class__.__name__)
        missing = [field for field, _, _ in type.fields if field not in value]
        if missing:
            raise ArgumentMissing(kernel=self.kernel, name=f"{name}.{missing[0]}")
        return Record(type.name, {field: _field(value[field], dtype) for field, dtype, _ in type.fields})

    def _axes(self, program: TileProgram, arguments: Mapping[str, Any]) -> dict[str, int]:
        """Extents with a name are scalars of that name."""
        found: dict[str, int] = {}
        for parameter in program.parameters:
            if isinstance(parameter.type, Tensor):
                for axis, extent in enumerate(parameter.type.shape):
                    if isinstance(extent, str) and extent not in arguments:
                        found.setdefault(extent, self.made[parameter.name].shape[axis])
        return found

    # -- which bytes ----------------------------------------------------------------------------------------------------------

    def _watch(self, arrays: Sequence[TensorMemory], report: Any) -> None:
        """One domain for every stretch of memory that arguments share."""
        stretches: list[list[TensorMemory]] = []
        end = 0
        for one in sorted(arrays, key=_address):
            if stretches and _address(one) < end:
                stretches[-1].append(one)
            else:
                stretches.append([one])
            end = max(end, _address(one) + one.flat.nbytes)
        for shared in stretches:
            first = _address(shared[0])
            size = max(_address(one) + one.flat.nbytes for one in shared) - first
            names = " and ".join(f"'{one.name}'" for one in shared)
            domain = Domain(f"{names} in global memory", size, report, on_chip=False)
            self.domains.append(domain)
            for one in shared:
                one.domain, one.origin = domain, _address(one) - first


def _address(one: TensorMemory) -> int:
    return one.flat.__array_interface__["data"][0]


def _field(value: Any, dtype: DataType) -> Any:
    if isinstance(value, (tuple, list, np.ndarray)):
        return [converted(getattr(one, "item", lambda one=one: one)(), dtype) for one in value]
    return converted(value.item() if isinstance(value, np.generic) else value, dtype)


def _fresh(one: Any) -> Any:
    if not isinstance(one, Record):
        return one
    return Record(one._kind, {name: value for name, value in vars(one).items() if name != "_kind"})
