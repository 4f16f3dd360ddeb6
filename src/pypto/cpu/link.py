"""LLVM text → object bytes → callable addresses.

In: the text of one LLVM module, the target to compile for, the addresses of what it imports.
Out: a ``Library`` that keeps the machine code alive and knows its addresses.

    object_bytes = compile_text(text, Machine(features="+avx2,+fma"))
    library = load(object_bytes, exports=["kernel"], imports={"pypto_workers": address})
    library["kernel"]                                  # an address for ctypes or for the call guard

Text is compiled without passes (explicit vectors need none; they double the time) at code generation level 2. The object
bytes hold no addresses, so they can be kept on disk. An object that needs a symbol nobody offered is never loaded.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import struct
import sys
import threading
from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import llvmlite.binding as llvm

from pypto import options
from pypto.errors.base import InternalError

CODE_GENERATION_LEVEL = 2
# What LLVM itself may call for copies and fills, on every platform; everything else must be offered by the caller.
PROCESS_SYMBOLS = ("memcpy", "memmove", "memset", "memcmp")


@dataclass(frozen=True)
class Machine:
    """What to compile for: an LLVM triple (empty: this machine) and the full feature list (``"+avx2,+fma"``).

    The processor name stays empty on purpose: the detected one is wrong in virtual machines.
    """

    features: str = ""
    triple: str = ""


class _Compiler:
    """The one LLVM instance of this process; ``lock`` is held across a fork, so that no child inherits it half way."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.jit: llvm.orcjit.LLJIT | None = None
        self.numbers = itertools.count()
        self.native_ready = False
        self.all_ready = False

    def prepare(self, foreign: bool) -> None:
        if not self.native_ready:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            self.native_ready = True
        if foreign and not self.all_ready:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
            self.all_ready = True

    def linker(self) -> llvm.orcjit.LLJIT:
        if self.jit is None:
            self.prepare(foreign=False)
            self.jit = llvm.create_lljit_compiler()
        return self.jit


_compiler = _Compiler()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_compiler.lock.acquire,
        after_in_parent=_compiler.lock.release,
        after_in_child=_compiler.lock.release,
    )


@lru_cache(maxsize=16)
def _target_machine(machine: Machine) -> llvm.TargetMachine:
    _compiler.prepare(foreign=bool(machine.triple))
    triple = machine.triple or llvm.get_process_triple()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu="", features=machine.features, opt=CODE_GENERATION_LEVEL, reloc="pic", codemodel="small", jit=not machine.triple
    )


def _parse(text: str, check: bool) -> llvm.ModuleRef:
    try:
        module = llvm.parse_assembly(text)
        if check:
            module.verify()
    except RuntimeError as error:
        raise InternalError(f"LLVM refused the generated text: {error}", step="code generation") from error
    return module


def checked_mode() -> bool:
    """Whether generated text is verified before use (option ``run.verify_passes``, ``PYPTO_DEBUG``); tests verify always."""
    return bool(options.current().get("run.verify_passes"))


def compile_text(text: str, machine: Machine, *, check: bool | None = None) -> bytes:
    """Object bytes of one module of LLVM text. ``check`` runs LLVM's verifier first (default: in debug mode).

    Raises ``InternalError`` when LLVM refuses the text.
    """
    with _compiler.lock:
        target = _target_machine(machine)
        module = _parse(text, checked_mode() if check is None else check)
        module.triple = target.triple
        module.data_layout = str(target.target_data)
        return target.emit_object(module)


def assembly_of(text: str, machine: Machine) -> str:
    """Assembly of one module of LLVM text, for people and for tests."""
    with _compiler.lock:
        target = _target_machine(machine)
        module = _parse(text, check=True)
        module.triple = target.triple
        module.data_layout = str(target.target_data)
        return target.emit_assembly(module)


class Library:
    """Loaded machine code. ``library["name"]`` is the address of an exported symbol; the code lives as long as this object."""

    def __init__(self, tracker: llvm.orcjit.ResourceTracker, exports: Iterable[str], keep: tuple[object, ...]) -> None:
        self._tracker = tracker
        self._keep = keep
        self.addresses: dict[str, int] = {name: tracker[name] for name in exports}

    def __getitem__(self, name: str) -> int:
        return self.addresses[name]


def load(
    object_bytes: bytes,
    *,
    exports: Iterable[str],
    imports: Mapping[str, int] | None = None,
    keep: tuple[object, ...] = (),
) -> Library:
    """Link object bytes into this process.

    ``imports`` offers addresses by name (only those needed are used); ``keep`` is held alive with the library, usually
    the library the imports come from. Raises ``InternalError`` naming every symbol that nobody offers.
    """
    names = list(exports)
    offered = ChainMap(imports or {}, process_symbols())  # type: ignore[arg-type]
    needed = undefined_symbols(object_bytes)
    found = {name: offered.get(name, 0) for name in (offered if needed is None else needed)}
    missing = sorted(name for name, address in found.items() if not address)
    if missing and needed is not None:
        raise InternalError(f"generated code needs symbols that do not exist: {', '.join(missing)}", step="linking")
    builder = llvm.JITLibraryBuilder().add_object_img(object_bytes)
    for name, address in found.items():
        if address:
            builder.import_symbol(name, address)
    for name in names:
        builder.export_symbol(name)
    with _compiler.lock:
        try:
            tracker = builder.link(_compiler.linker(), f"pypto.{next(_compiler.numbers)}")
        except RuntimeError as error:
            raise InternalError(f"linking failed: {error}", step="linking") from error
    return Library(tracker, names, keep)


@lru_cache(maxsize=1)
def process_symbols() -> dict[str, int]:
    """Addresses of the C functions that generated code may always call."""
    windows = sys.platform == "win32"
    library = ctypes.CDLL("msvcrt" if windows else None)
    found = {name: _address(library, name) for name in PROCESS_SYMBOLS}
    if windows:
        found["__chkstk"] = _address(ctypes.CDLL("ntdll"), "__chkstk")  # stack probe of frames above one page
    return found


def _address(library: ctypes.CDLL, name: str) -> int:
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


# ELF-64 layout (System V ABI, "Object Files"): header fields and the two kinds of sections that are read here.
_SYMBOL_TABLE = 2
_SYMBOL = struct.Struct("<IBBHQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")


def undefined_symbols(object_bytes: bytes) -> list[str] | None:
    """Names an ELF-64 object needs from outside, sorted; None for other formats (there the linker itself reports them)."""
    if object_bytes[:6] != b"\x7fELF\x02\x01":
        return None
    (section_offset,) = struct.unpack_from("<Q", object_bytes, 0x28)
    entry_size, count = struct.unpack_from("<HH", object_bytes, 0x3A)
    sections = [_SECTION.unpack_from(object_bytes, section_offset + index * entry_size) for index in range(count)]
    names: set[str] = set()
    for _, kind, _, _, offset, size, link, *_ in sections:
        if kind == _SYMBOL_TABLE:
            names |= _undefined_in(object_bytes, offset, size, sections[link][4])
    return sorted(names)


def _undefined_in(object_bytes: bytes, offset: int, size: int, strings: int) -> set[str]:
    found = set()
    for name, _, _, section, _, _ in _SYMBOL.iter_unpack(object_bytes[offset : offset + size]):
        if section == 0 and name:
            start = strings + name
            found.add(object_bytes[start : object_bytes.index(b"\0", start)].decode())
    found.discard("_GLOBAL_OFFSET_TABLE_")  # made by the linker
    return found
