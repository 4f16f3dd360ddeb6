"""The tile language: ``import pypto_pro.language as pl``.

Names are looked up when first used: enumerations and types here, operations in the table of tile operations, decorators in the runtime.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Any

from pypto_pro.errors.language import UnknownLanguageName
from pypto_pro.language.declarations import SPECIAL, operation_declaration
from pypto_pro.language.dtypes import DTYPES, UNUSED
from pypto_pro.language.enums import CORE_ENUMS, DN, ND, NN, NZ, REGISTER_ENUMS, ZN, ZZ
from pypto_pro.language.names import DECORATORS, OPERATIONS, SHOWN
from pypto_pro.language.plain import inline, make_tuple, range, section_cube, section_vector, struct, struct_array
from pypto_pro.language.registers import Vf, simt, vector_function
from pypto_pro.language.tiles import TileType
from pypto_pro.language.typing import DYNAMIC, STATIC, MemRef, Ptr, Scalar, Tensor, Tile
from pypto_pro.language.unused import UnusedType

globals().update(CORE_ENUMS)
globals().update(REGISTER_ENUMS)
globals().update(DTYPES)
globals().update({name: UnusedType(name, reason) for name, reason in UNUSED.items()})
globals().update(SPECIAL)

__all__ = list(SHOWN)

_MODULES = {
    "system": "pypto_pro.language.system",
    "mutex": "pypto_pro.language.mutex",
    "parser": "pypto_pro.language.parser",
    "pipeline": "pypto_pro.pipeline",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value: Any = import_module(_MODULES[name])
    elif name in DECORATORS:
        value = getattr(import_module(DECORATORS[name]), name)
    elif name.startswith("__"):
        raise AttributeError(name)
    else:
        value = operation_declaration(name) if name in OPERATIONS else None
    if value is None:
        near = difflib.get_close_matches(name, SHOWN, n=1)
        raise UnknownLanguageName(name=name, nearest=f", did you mean pl.{near[0]}?" if near else "")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(SHOWN)
