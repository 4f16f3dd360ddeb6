"""Object cache: compiled kernels by content, in memory and on disk.

A key is the sha256 of everything the machine code depends on, given as named parts::

    parts = {"source": source, "options": "...", "target": features, "versions": "..."}
    key = key_of(parts)
    code = cache().get(key)
    if code is None:
        about = Metadata(kernel="softmax", parts=fingerprints(parts))  # ``reason`` is found when somebody asks
        cache().put(key, compile_it(), about)

One file per entry, written under another name and renamed, so that readers in other processes see all of it or nothing. A
checksum drops damaged entries. The directory is bounded; the entries unused for longest go first. Trouble with the disk
(full, read-only, no home) is never an error: the cache then lives in memory only.

Options: ``run.cache_dir`` (``PYPTO_CACHE_DIR``), ``run.cache`` (``PYPTO_CACHE=0``: nothing is read from or written to disk),
``run.cache_limit_mb`` (``PYPTO_CACHE_LIMIT_MB``).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from pypto import options

MAGIC = b"PYPTO-OBJECT-1\n"
_HEAD = struct.Struct(f"<{len(MAGIC)}s32sQ")  # magic, sha256 of what follows the head, bytes of metadata
SUFFIX = ".object"
DEFAULT_LIMIT = 512 << 20  # bytes on disk, as in the option table: some ten thousand kernels of 50 KB
MEMORY_LIMIT = 64 << 20
TOUCH_SECONDS = 3600  # a hit refreshes the entry's age at most this often
STALE_SECONDS = 3600  # temporary files older than this belong to a process that died


@dataclass(frozen=True)
class Metadata:
    """What an entry says about itself. ``parts`` maps each key part to its fingerprint, ``reason`` is why it was compiled."""

    kernel: str
    source_file: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    target: str = ""
    reason: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)
    created: float = 0.0
    compile_seconds: float = 0.0


@dataclass(frozen=True)
class Entry:
    """One cached object on disk: ``key``, ``path``, ``bytes``, seconds of last use (epoch), ``about``."""

    key: str
    path: Path
    bytes: int
    used: float
    about: Metadata


def key_of(parts: Mapping[str, str | bytes]) -> str:
    """Content key: sha256 over names and values, independent of order.

    >>> key_of({"a": "1", "b": "2"}) == key_of({"b": b"2", "a": b"1"})
    True
    >>> key_of({"a": "12"}) == key_of({"a1": "2"})
    False
    """
    total = hashlib.sha256()
    for name in sorted(parts):
        value = _as_bytes(parts[name])
        for piece in (name.encode(), value):
            total.update(struct.pack("<Q", len(piece)))
            total.update(piece)
    return total.hexdigest()


def fingerprints(parts: Mapping[str, str | bytes]) -> dict[str, str]:
    """Short hash of each part, kept with the entry so that a later miss can say which part changed."""
    return {name: hashlib.sha256(_as_bytes(value)).hexdigest()[:16] for name, value in parts.items()}


def _as_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


class ObjectCache:
    """Cache in ``directory`` (None: memory only) holding at most ``limit`` bytes on disk."""

    def __init__(self, directory: Path | None, limit: int = DEFAULT_LIMIT) -> None:
        self.directory = directory
        self.limit = limit
        self.dropped = 0  # damaged entries found
        self._memory: dict[str, bytes] = {}
        self._memory_bytes = 0
        self._disk_bytes: int | None = None  # running estimate, None until the directory was looked at

    def get(self, key: str) -> bytes | None:
        """Object bytes of ``key`` or None."""
        code = self._memory.get(key)
        if code is not None:
            return code
        found = self._read(self._path(key)) if self.directory else None
        if found is None:
            return None
        self._touch(self._path(key))
        self._remember(key, found[1])
        return found[1]

    def put(self, key: str, code: bytes, about: Metadata) -> None:
        """Keep ``code``. The entry appears on disk whole or not at all."""
        self._remember(key, code)
        if self.directory is None:
            return
        described = json.dumps(asdict(about) | {"created": about.created or time.time()}, default=str).encode()
        rest = described + code
        image = _HEAD.pack(MAGIC, hashlib.sha256(rest).digest(), len(described)) + rest
        if len(image) <= self.limit and self._write(self._path(key), image):
            self._account(len(image))

    def forget(self, key: str) -> None:
        """Drop one entry everywhere."""
        self._memory_bytes -= len(self._memory.pop(key, b""))
        if self.directory:
            _unlink(self._path(key))

    def entries(self, kernel: str | None = None) -> list[Entry]:
        """Readable entries on disk, last used first; of one kernel when named. Damaged ones are dropped."""
        found = []
        for file, status in self._files():
            path = Path(file)
            content = self._read(path)
            if content is not None and kernel in (None, content[0].kernel):
                found.append(Entry(path.name[: -len(SUFFIX)], path, status.st_size, status.st_mtime, content[0]))
        return sorted(found, key=lambda entry: (-entry.used, entry.key))

    def clear(self) -> int:
        """Drop everything, in memory and on disk; the number of entries that were on disk."""
        self._memory.clear()
        self._memory_bytes = 0
        removed = sum(_unlink(path) for path, _ in self._files())
        self._sweep()
        self._disk_bytes = None
        return removed

    def why(self, kernel: str, parts: Mapping[str, str | bytes]) -> str:
        """Why ``kernel`` has no entry for these parts: ``first compilation`` or the parts that differ from the nearest entry."""
        now = fingerprints(parts)
        return _reason([_changed(entry.about.parts, now) for entry in self.entries(kernel)])

    @staticmethod
    def reason(entry: Entry, entries: Sequence[Entry]) -> str:
        """Why ``entry`` was compiled, found by comparing it with the older ones of its kernel among ``entries``.

        Storing an entry looks at no other one: the directory may hold thousands.
        """
        if entry.about.reason:
            return entry.about.reason
        same = [
            one.about for one in entries if one.about.kernel == entry.about.kernel and one.about.created < entry.about.created
        ]
        return _reason([_changed(about.parts, entry.about.parts) for about in same])

    def _path(self, key: str) -> Path:
        assert self.directory is not None
        return self.directory / f"{key}{SUFFIX}"

    def _remember(self, key: str, code: bytes) -> None:
        self._memory_bytes += len(code) - len(self._memory.pop(key, b""))
        self._memory[key] = code
        for oldest in list(self._memory):
            if self._memory_bytes <= MEMORY_LIMIT:
                break
            self._memory_bytes -= len(self._memory.pop(oldest, b""))

    def _read(self, path: Path) -> tuple[Metadata, bytes] | None:
        try:
            image = path.read_bytes()
        except OSError:
            return None
        content = _decode(image)
        if content is None:
            self.dropped += 1
            _unlink(path)
        return content

    def _write(self, path: Path, image: bytes) -> bool:
        temporary = path.with_name(f"{uuid.uuid4().hex}.part")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_bytes(image)
            os.replace(temporary, path)
        except OSError:
            _unlink(temporary)
            return False
        return True

    def _touch(self, path: Path) -> None:
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > TOUCH_SECONDS:
                os.utime(path)

    def _files(self, suffix: str = SUFFIX) -> list[tuple[str, os.stat_result]]:
        """Paths and facts of the files with this ending. No ``Path`` objects: there may be ten thousand of them."""
        if self.directory is None:
            return []
        found = []
        with contextlib.suppress(OSError), os.scandir(self.directory) as listing:
            for file in listing:
                if file.name.endswith(suffix):
                    with contextlib.suppress(OSError):
                        found.append((file.path, file.stat()))
        return found

    def _account(self, added: int) -> None:
        """Adds to the running total; looks at the directory the first time and whenever the limit seems passed."""
        if self._disk_bytes is not None:
            self._disk_bytes += added
        if self._disk_bytes is None or self._disk_bytes > self.limit:
            self._disk_bytes = self._evict()

    def _evict(self) -> int:
        """Removes what was unused for longest until the directory is within its limit; what remains, in bytes."""
        self._sweep()
        files = self._files()
        total = sum(status.st_size for _, status in files)
        if total <= self.limit:
            return total
        for path, status in sorted(files, key=lambda item: (item[1].st_mtime, item[0])):
            if total <= self.limit:
                break
            _unlink(path)
            total -= status.st_size
        return total

    def _sweep(self) -> None:
        for path, status in self._files(".part"):
            if time.time() - status.st_mtime > STALE_SECONDS:
                _unlink(path)


def _decode(image: bytes) -> tuple[Metadata, bytes] | None:
    """Metadata and code of one file, or None when it is not an intact entry."""
    if len(image) < _HEAD.size:
        return None
    magic, checksum, described = _HEAD.unpack_from(image)
    rest = image[_HEAD.size :]
    if magic != MAGIC or hashlib.sha256(rest).digest() != checksum:
        return None
    known = {one.name for one in fields(Metadata)}
    about = {name: value for name, value in json.loads(rest[:described]).items() if name in known}
    return Metadata(**about), rest[described:]


def _changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def _reason(candidates: list[list[str]]) -> str:
    """``candidates``: for every other entry, the parts that differ."""
    if not candidates:
        return "first compilation"
    nearest = min(candidates, key=len)
    return f"changed: {', '.join(nearest)}" if nearest else "entry was dropped"


def _unlink(path: Path | str) -> int:
    try:
        os.unlink(path)
    except OSError:
        return 0
    return 1


def default_directory() -> Path | None:
    """Where entries live: option ``run.cache_dir``, else the user's cache directory; None without a home."""
    chosen = str(options.current().get("run.cache_dir"))
    if chosen:
        return Path(chosen).expanduser()
    try:
        return _user_cache() / "openpypto"
    except RuntimeError:
        return None


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


_open: dict[tuple[Path | None, int], ObjectCache] = {}


def cache() -> ObjectCache:
    """The cache the options ask for now; the same object as long as they do not change."""
    directory = default_directory() if options.current().get("run.cache") else None
    settings = (directory, int(options.current().get("run.cache_limit_mb")) << 20)
    return _open.setdefault(settings, ObjectCache(*settings))
