"""Compiled kernels on disk: a later process finds its kernel without tracing it.

The key is what is known before tracing: the kernel's syntax tree, what its arguments are, its constants, the options, the target, the
versions. The entry says what tracing read besides (globals, cells, followed functions), each by content; it is used only when all of
that is the same now. A trace that did something which cannot be checked (it called a function of the user's natively, it printed) is
never kept: ``Watch.opaque`` says why.
"""

from __future__ import annotations

import dataclasses
import pickle
import sys
import time
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Any

from pypto.diagnostics import Span, warn
from pypto.frontend.frames import MISSING, Watch
from pypto.identity import identity
from pypto.ir.program import Block, Program
from pypto.options import scopes as options
from pypto.runtime.cache import Metadata, cache, fingerprints, key_of
from pypto.runtime.fingerprint import Opaque, fingerprint, source_digest


@dataclasses.dataclass
class Kept:
    """What a process needs to run a kernel that another one compiled. ``program`` has parameters and dimensions but no body."""

    program: Program
    written: frozenset[str]
    names: list[tuple[str, str, bytes]]  # module ("" is the kernel's own), name, digest of what it held
    cells: list[tuple[str, bytes]]  # free variable of the kernel, digest
    functions: list[tuple[str, str, bytes]]  # module, qualified name, digest of source and defaults
    warnings: list[tuple[str, Span | None, str | None, bool]]
    generated: Any
    object_bytes: bytes


def parts_of(
    function: FunctionType, arguments: Mapping[str, Any], signature: Sequence[Any], scope: Any
) -> dict[str, bytes] | None:
    """The parts of the key; None when some argument has no content hash. ``signature`` describes tensors and scalars."""
    from pypto.cpu.target import host
    from pypto.frontend.entry import ScalarArgument, TensorArgument

    constants = {n: a for n, a in arguments.items() if not isinstance(a, (TensorArgument, ScalarArgument))}
    try:
        return {
            "kernel": source_digest(function),
            "arguments": fingerprint([signature, constants, function.__module__, function.__qualname__]),
            "options": fingerprint({k: v for k, v in scope.items() if not k.startswith("run.cache")}),
            "target": str(host().key).encode(),
            "package": identity().encode(),
        }
    except Opaque:
        return None


# -- writing ---------------------------------------------------------------------------------------------------------------------


def keep(function: FunctionType, parts: Mapping[str, bytes], traced: Any, executable: Any, seconds: float) -> None:
    """Put a freshly compiled variant on disk, when everything it depends on has a content hash."""
    watch: Watch = traced.watch
    if watch.opaque or watch.classes:
        return
    program: Program = executable.program
    bare = dataclasses.replace(program, body=Block(), options={})
    generated = dataclasses.replace(executable.kernel.generated, text="", nests="")
    try:
        kept = Kept(
            bare,
            traced.written,
            [_name(function, *entry) for entry in watch.names.values()],
            [_cell(function, *entry) for entry in watch.cells.values()],
            [_function(followed) for followed, *_ in watch.functions.values() if followed is not function],
            list(watch.warnings),
            generated,
            executable.kernel.object_bytes,
        )
        data = pickle.dumps(kept)
    except (Opaque, pickle.PicklingError, TypeError, AttributeError):
        return
    about = Metadata(
        kernel=function.__qualname__,
        source_file=function.__code__.co_filename,
        target=parts["target"].decode(),
        reason=_difference(key_of(parts), kept),
        parts=fingerprints(parts),
        compile_seconds=seconds,
        created=time.time(),
    )
    cache().put(key_of(parts), data, about)


def _difference(key: str, kept: Kept) -> str:
    """What differs from the entry that ``kept`` replaces; empty when there is none."""
    data = cache().get(key)
    try:
        old = _dependencies(pickle.loads(data)) if data else {}
    except (pickle.UnpicklingError, AttributeError, ImportError, TypeError, KeyError, EOFError):
        return ""
    new = _dependencies(kept)
    changed = [thing for thing in {**old, **new} if old and old.get(thing) != new.get(thing)]
    return f"changed: {', '.join(changed)}" if changed else ""


def _dependencies(kept: Kept) -> dict[str, bytes]:
    """What tracing read besides the kernel, in words, with its digest."""
    found = {f"global '{name}'" + (f" of {module}" if module else ""): digest for module, name, digest in kept.names}
    found |= {f"closure value '{name}'": digest for name, digest in kept.cells}
    return found | {f"function '{name}' of {module}": digest for module, name, digest in kept.functions}


def _name(function: FunctionType, space: Mapping[str, Any], name: str, value: Any) -> tuple[str, str, bytes]:
    module = "" if space is function.__globals__ else str(space.get("__name__", ""))
    if module and getattr(sys.modules.get(module), "__dict__", None) is not space:
        raise Opaque(name)
    return module, name, _digest(value)


def _digest(value: Any) -> bytes:
    return b"" if value is MISSING else fingerprint(value)


def _cell(function: FunctionType, cell: Any, value: Any) -> tuple[str, bytes]:
    for name, own in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if own is cell:
            return name, _digest(value)
    raise Opaque("a closure of a helper")


def _function(followed: Any) -> tuple[str, str, bytes]:
    if _resolve(followed.__module__, followed.__qualname__) is not followed:
        raise Opaque(followed.__qualname__)
    return followed.__module__, followed.__qualname__, fingerprint(followed)


def _resolve(module: str, qualified: str) -> Any:
    """The function a module holds under a (dotted) name; a kernel stands for the function it was made of."""
    found: Any = sys.modules.get(module)
    for part in qualified.split("."):
        found = getattr(found, part, None)
    return getattr(found, "__wrapped__", found)


# -- reading ---------------------------------------------------------------------------------------------------------------------


def find(function: FunctionType, parts: Mapping[str, bytes]) -> tuple[Kept, Watch] | None:
    """The kept variant for these parts, when everything it depends on is the same here; with the watch for this process."""
    data = cache().get(key_of(parts))
    if data is None:
        return None
    try:
        kept: Kept = pickle.loads(data)
        watch = _watch(function, kept)
    except (Opaque, pickle.UnpicklingError, AttributeError, ImportError, TypeError, KeyError, EOFError):
        return None
    if watch is None:
        return None
    for headline, span, help, portability in kept.warnings:
        warn(headline, span, help=help, portability=portability)
    return kept, watch


def _watch(function: FunctionType, kept: Kept) -> Watch | None:
    watch = Watch()
    for module, name, digest in kept.names:
        space = vars(sys.modules[module]) if module else function.__globals__
        value = space.get(name, MISSING)
        if _digest(value) != digest:
            return None
        watch.saw_name(space, name, value)
    own = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name, digest in kept.cells:
        value = own[name].cell_contents
        if _digest(value) != digest:
            return None
        watch.saw_cell(own[name], value)
    for module, qualified, digest in kept.functions:
        followed = _resolve(module, qualified)
        if followed is None or fingerprint(followed) != digest:
            return None
        watch.saw_function(followed)
    watch.saw_function(function)
    return watch


def enabled() -> bool:
    """Whether kernels are kept: the cache is on and nothing asks to see the steps of compilation."""
    scope = options.current()
    return bool(scope.get("run.cache")) and not scope.get("run.dump")
