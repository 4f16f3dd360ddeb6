"""``datatype``: element types of parameters that are chosen at launch (tile API section 2.7)."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

from pypto.dtypes import DataType
from pypto_pro.errors.launching import (
    DatatypeClash,
    DatatypeDict,
    DatatypeDisagree,
    DatatypeKeys,
    DatatypeName,
    DatatypeUnknown,
    DatatypeValue,
    LaunchDict,
)


def check_datatype(function: FunctionType, datatype: Any, schema: Any) -> dict[str, str]:
    """The declaration ``{parameter: symbol}``, checked against the function."""
    if not isinstance(datatype, Mapping) or not datatype:
        raise DatatypeDict(got=repr(datatype))
    parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
    for name, symbol in datatype.items():
        for text, what in ((name, "a parameter"), (symbol, "a symbol")):
            if not isinstance(text, str) or not text.isidentifier():
                raise DatatypeName(got=text, what=what)
    unknown = sorted(set(datatype) - set(parameters))
    if unknown:
        raise DatatypeUnknown(names=", ".join(unknown), kernel=function.__name__)
    for symbol in datatype.values():
        if symbol in parameters:
            raise DatatypeClash(name=symbol, what="kernel parameter")
        if schema is not None and symbol in schema.names:
            raise DatatypeClash(name=symbol, what="tiling key field")
    return dict(datatype)


def bind_datatypes(symbols: Mapping[str, str], given: Any) -> dict[str, DataType]:
    """Element type by symbol, from the launch's ``{parameter: DT_…}``."""
    if not isinstance(given, Mapping):
        raise LaunchDict(what="datatype", got=type(given).__name__)
    if set(given) != set(symbols):
        raise DatatypeKeys(expected=sorted(symbols), got=sorted(map(str, given)))
    found: dict[str, DataType] = {}
    owner: dict[str, str] = {}
    for name, symbol in symbols.items():
        dtype = given[name]
        if not isinstance(dtype, DataType):
            raise DatatypeValue(name=name, got=repr(dtype))
        if found.setdefault(symbol, dtype) is not dtype:
            one, other = found[symbol].name, dtype.name
            raise DatatypeDisagree(first=owner[symbol], second=name, symbol=symbol, one=one, other=other)
        owner.setdefault(symbol, name)
    return found
