"""Content hashes of what a trace depends on, so that a compiled kernel can be found again by another process.

``fingerprint(value)`` gives bytes that are equal exactly when tracing would see the same thing, or raises ``Opaque`` for values
whose meaning cannot be read off (then the kernel is simply not kept on disk). Stable over hash seeds and processes.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import hashlib
import struct
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


class Opaque(Exception):
    """A value without a content hash; ``args[0]`` says which."""


def fingerprint(value: Any) -> bytes:
    """Digest of a value: numbers, strings, containers, enums, dataclasses, functions with source, modules, classes."""
    digest = hashlib.sha256()
    _feed(digest, value, 0)
    return digest.digest()


_DEPTH_LIMIT = 12


def _feed(digest: Any, value: Any, depth: int) -> None:
    if depth > _DEPTH_LIMIT:
        raise Opaque(f"{type(value).__name__} (nested too deeply)")
    digest.update(type(value).__qualname__.encode() + b"\0")
    if value is None or isinstance(value, (bool, int, str, bytes)) and not isinstance(value, enum.Enum):
        digest.update(repr(value).encode() + b"\0")
    elif isinstance(value, float):
        digest.update(struct.pack("<d", value))
    elif isinstance(value, enum.Enum):
        digest.update(f"{type(value).__module__}.{value.name}\0".encode())
    elif isinstance(value, (tuple, list)):
        _feed_all(digest, value, depth)
    elif isinstance(value, (set, frozenset)):
        digest.update(b"".join(sorted(fingerprint(item) for item in value)))
    elif isinstance(value, Mapping):
        for key, item in sorted(((fingerprint(k), v) for k, v in value.items()), key=lambda pair: pair[0]):
            digest.update(key)
            _feed(digest, item, depth + 1)
    else:
        _feed_object(digest, value, depth)


def _feed_all(digest: Any, values: Iterable[Any], depth: int) -> None:
    for value in values:
        _feed(digest, value, depth + 1)
    digest.update(b")")


def _feed_object(digest: Any, value: Any, depth: int) -> None:
    if isinstance(value, types.ModuleType):
        digest.update(value.__name__.encode())
    elif isinstance(value, types.FunctionType):
        _feed_function(digest, value, depth)
    elif isinstance(value, types.BuiltinFunctionType):
        digest.update(f"{value.__module__}.{value.__qualname__}".encode())
    elif isinstance(value, type):
        digest.update(f"{value.__module__}.{value.__qualname__}".encode())
        _feed_file_of(digest, value.__module__)
    elif isinstance(value, functools.partial):
        _feed_all(digest, (value.func, value.args, value.keywords), depth)
    elif isinstance(value, types.MethodType):
        _feed_all(digest, (value.__func__, value.__self__), depth)
    elif dataclasses.is_dataclass(value):
        _feed(digest, type(value), depth + 1)
        _feed_all(digest, [getattr(value, f.name) for f in dataclasses.fields(value)], depth)
    else:
        raise Opaque(f"{type(value).__module__}.{type(value).__qualname__}")


def _feed_function(digest: Any, function: types.FunctionType, depth: int) -> None:
    """A function of this package by name, any other by its syntax tree, defaults and what its cells hold."""
    digest.update(f"{function.__module__}.{function.__qualname__}\0".encode())
    if function.__module__.split(".")[0] == "pypto":
        return
    digest.update(source_digest(function))
    _feed_all(digest, (function.__defaults__, function.__kwdefaults__), depth)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            held = cell.cell_contents
        except ValueError:
            raise Opaque(f"{name} (not bound yet)")
        if held is not function:
            _feed(digest, held, depth + 1)


def source_digest(function: types.FunctionType) -> bytes:
    """Digest of a function's syntax tree with places, so that a cached message still names the right line."""
    from pypto.errors.base import UserError
    from pypto.frontend.python import code_of

    try:
        code = code_of(function)
    except UserError as error:
        raise Opaque(function.__qualname__) from error
    tree = ast.dump(code.node, include_attributes=True)
    return hashlib.sha256(f"{code.file}\0{tree}".encode()).digest()


def _feed_file_of(digest: Any, module: str) -> None:
    import sys

    file = getattr(sys.modules.get(module), "__file__", None)
    if file is not None:
        digest.update(file_digest(file))


@functools.lru_cache(maxsize=512)
def _digest_of(file: str, size: int, modified: int) -> bytes:
    return hashlib.sha256(Path(file).read_bytes()).digest()


def file_digest(file: str) -> bytes:
    """Digest of a file's bytes (read again only when its size or time changed); empty when it cannot be read."""
    try:
        status = Path(file).stat()
        return _digest_of(file, status.st_size, status.st_mtime_ns)
    except OSError:
        return b""
