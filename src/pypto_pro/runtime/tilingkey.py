"""Tiling keys: small compile-time integers chosen at launch, packed into one number (tile API section 2.6).

>>> class Key:
...     WIDE = TilingKeyField(bits=1, values=[0, 1])
...     MODE = TilingKeyField(bits=2, values=[0, 1, 2])
>>> TilingKeySchema(Key).pack({"WIDE": 1, "MODE": 2})
5
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from pypto_pro.errors.tiling import (
    KeyBits,
    KeyCandidate,
    KeyCheck,
    KeyClass,
    KeyEmpty,
    KeyInvalid,
    KeyNames,
    KeyNotDict,
    KeyNoValues,
    KeyTooManyValues,
    KeyTooWide,
    KeyValuesUnique,
    KeyValueType,
)

WIDEST = 64  # bits of a packed key


class TilingKeyField:
    """One field: ``bits`` it takes in the packed key, ``values`` it may have. Raises ``ValueError`` for what cannot be packed."""

    def __init__(self, *, bits: int, values: Sequence[int]) -> None:
        if isinstance(bits, bool) or not isinstance(bits, int) or bits <= 0:
            raise KeyBits(got=bits)
        found = tuple(values)
        if not found:
            raise KeyNoValues()
        for value in found:
            if isinstance(value, bool) or not isinstance(value, int):
                raise KeyValueType(got=repr(value))
        if len(set(found)) != len(found):
            raise KeyValuesUnique(got=list(found))
        if len(found) > 2**bits:
            raise KeyTooManyValues(count=len(found), bits=bits)
        self.bits = bits
        self.values = found

    def __repr__(self) -> str:
        return f"TilingKeyField(bits={self.bits}, values={list(self.values)})"


class TilingKeySchema:
    """The fields of a key class, checked. ``pack`` and ``check`` take a dict with one value per field."""

    def __init__(self, cls: Any) -> None:
        if not isinstance(cls, type):
            raise KeyClass(got=repr(cls))
        self.cls = cls
        self.fields = {name: value for name, value in vars(cls).items() if isinstance(value, TilingKeyField)}
        if not self.fields:
            raise KeyEmpty(cls=cls.__name__)
        check = getattr(cls, "is_valid", None)
        if check is not None and not callable(check):
            raise KeyCheck(cls=cls.__name__, got=repr(check))
        total = sum(field.bits for field in self.fields.values())
        if total > WIDEST:
            raise KeyTooWide(cls=cls.__name__, bits=total)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.fields)

    def check(self, key: Any) -> tuple[int, ...]:
        """The values in the order of the fields; raises for unknown names, values and combinations."""
        if not isinstance(key, Mapping):
            raise KeyNotDict(got=type(key).__name__)
        if set(key) != set(self.fields):
            raise KeyNames(expected=sorted(self.fields), got=sorted(map(str, key)))
        for name, field in self.fields.items():
            if key[name] not in field.values or isinstance(key[name], bool):
                raise KeyCandidate(name=name, got=repr(key[name]), candidates=list(field.values))
        values = tuple(key[name] for name in self.fields)
        if not self._is_valid(values):
            raise KeyInvalid(cls=self.cls.__name__, got=dict(key))
        return values

    def _is_valid(self, values: tuple[int, ...]) -> bool:
        check = getattr(self.cls, "is_valid", None)
        return True if check is None else bool(check(self.cls(), values))

    def pack(self, key: Any) -> int:
        """One number: the index of every value, the first field in the lowest bits."""
        packed, shift = 0, 0
        for value, field in zip(self.check(key), self.fields.values(), strict=True):
            packed |= field.values.index(value) << shift
            shift += field.bits
        return packed

    @cached_property
    def valid(self) -> tuple[tuple[int, ...], ...]:
        product = itertools.product(*(field.values for field in self.fields.values()))
        return tuple(values for values in product if self._is_valid(values))

    def enumerate_valid(self) -> tuple[tuple[int, ...], ...]:
        """Every combination that ``is_valid`` accepts."""
        return self.valid
