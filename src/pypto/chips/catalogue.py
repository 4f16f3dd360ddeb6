"""Finding and checking chip files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pypto.chips.model import Chip, Memory, Rate
from pypto.chips.reader import read
from pypto.cores.enums import CoreType, MemorySpace, PipeType
from pypto.errors.simulation import ChipFileEntry, ChipFileMissing, UnknownChip

_HERE = Path(__file__).parent


@cache
def _own() -> dict[str, Chip]:
    """Chips of this package by every name they have, lower case."""
    found: dict[str, Chip] = {}
    for path in sorted(_HERE.glob("*.toml")):
        one = load(path)
        found |= {name.lower(): one for name in (one.name, *one.aliases)}
    return found


def names() -> tuple[str, ...]:
    """Names of the chips that this package knows, without aliases."""
    return tuple(dict.fromkeys(one.name for one in _own().values()))


def chip(name: str | Path | Chip | None = None) -> Chip:
    """A chip by name or alias (``"950"``, ``"a5"``, ``"910B"``, ``"a2"``, ``"a3"``), or by the path of a TOML file; None is the 950.

    Raises ``UnknownChip``, and ``ChipFileMissing``, ``ChipFileSyntax``, ``ChipFileEntry`` for a bad file.

    >>> chip("910B").memories[MemorySpace.Vec].bytes
    196608
    """
    if isinstance(name, Chip):
        return name
    text = str("950" if name is None else name)
    if text.lower() in _own():
        return _own()[text.lower()]
    if not text.endswith(".toml"):
        raise UnknownChip(name=text, known=", ".join(sorted(_own())))
    path = Path(text)
    if not path.is_file():
        raise ChipFileMissing(path=path)
    return _loaded(path, path.resolve(), path.stat().st_mtime_ns)


@cache
def _loaded(path: Path, absolute: Path, changed: int) -> Chip:
    """One reading of a file as it is now, under the name that the user gave it."""
    return load(path)


def load(path: Path) -> Chip:
    """Reads one file; a key that is missing, of the wrong kind or unknown is an error that names it."""
    table = _Table(read(path), path, "")
    memories = {_space(name, table): _memory(_space(name, table), one) for name, one in table.tables("memories")}
    cores, pipes = table.table("cores"), table.table("pipes")
    found = Chip(
        name=table.text("name"),
        architecture=table.text("architecture"),
        aliases=tuple(table.get("aliases", list, [])),
        clock_hertz=table.positive("clock_hertz"),
        queue_depth=int(table.positive("queue_depth")),
        cube_cores=int(cores.positive("cube")),
        vector_cores=int(cores.positive("vector")),
        vector_per_cube=int(cores.positive("vector_per_cube")),
        identifiers=table.numbers("identifiers", ("mutex", "flags", "cross_core", "outstanding")),
        cycles=table.numbers("cycles", ("issue", "scalar", "cross_core", "barrier")),
        memories=memories,
        paths=frozenset(_path(text, table) for text in table.table("paths").get("existing", list)),
        pipes={kind: _pipes(pipes.get(kind.name.lower(), list), table) for kind in (CoreType.CUBE, CoreType.VECTOR)},
        rates={name: _rate(name, one) for name, one in table.tables("rates")},
        file=str(path),
    )
    if "default" not in found.rates:
        raise ChipFileEntry(path=path, entry="rates.default", reason="is missing: it prices what the file has no rate for")
    table.finish()
    return found


class _Table:
    """A table of the file that remembers what was asked of it."""

    def __init__(self, values: Mapping[str, Any], path: Path, prefix: str) -> None:
        self.values, self.path, self.prefix = values, path, prefix
        self.seen: set[str] = {"source"}
        self.parts: list[_Table] = []

    def fail(self, key: str, reason: str) -> ChipFileEntry:
        return ChipFileEntry(path=self.path, entry=f"{self.prefix}{key}", reason=reason)

    def get(self, key: str, kind: type | tuple[type, ...], default: Any = None) -> Any:
        self.seen.add(key)
        value = self.values.get(key, default)
        if value is None:
            raise self.fail(key, "is missing")
        if not isinstance(value, kind) or isinstance(value, bool):
            wanted = kind.__name__ if isinstance(kind, type) else "number"
            raise self.fail(key, f"must be a {wanted}, got {value!r}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        return self.get(key, str, default)

    def number(self, key: str, default: float | None = None) -> float:
        value = self.get(key, (int, float), default)
        if value < 0:
            raise self.fail(key, f"must not be negative, got {value!r}")
        return value

    def positive(self, key: str) -> float:
        value = self.number(key)
        if value == 0:
            raise self.fail(key, "must be positive, got 0")
        return value

    def table(self, key: str) -> _Table:
        part = _Table(self.get(key, dict), self.path, f"{self.prefix}{key}.")
        self.parts.append(part)
        return part

    def tables(self, key: str) -> list[tuple[str, _Table]]:
        outer = self.table(key)
        return [(name, outer.table(name)) for name in outer.values if name != "source"]

    def numbers(self, key: str, expected: tuple[str, ...]) -> dict[str, Any]:
        part = self.table(key)
        return {name: part.number(name) for name in expected}

    def finish(self) -> None:
        """Names that mean nothing are mistakes of spelling."""
        for key in self.values:
            if key not in self.seen:
                raise self.fail(key, f"is not known here (known: {', '.join(sorted(self.seen))})")
        for part in self.parts:
            part.finish()


def _memory(space: MemorySpace, table: _Table) -> Memory:
    return Memory(
        space,
        table.text("name", space.name),
        int(table.positive("bytes")),
        int(table.positive("alignment")),
        table.text("source", ""),
    )


def _rate(name: str, table: _Table) -> Rate:
    types = table.get("types", dict, {})
    first = table.number("first") if "first" in table.values else None
    return Rate(
        name,
        start=table.number("start"),
        per_cycle=table.positive("per_cycle"),
        latency=table.number("latency", 0.0),
        first=first,
        types=types,
        unit=table.text("unit", "bytes"),
        source=table.text("source", ""),
    )


def _member(kind: Callable[[str], Any], name: str, table: _Table, what: str) -> Any:
    try:
        return kind(name)
    except KeyError:
        raise table.fail(what, f"names {name!r}, which does not exist") from None


def _space(name: str, table: _Table) -> MemorySpace:
    return _member(lambda text: MemorySpace[text], name, table, "memories")


def _path(text: str, table: _Table) -> tuple[MemorySpace, MemorySpace]:
    words = str(text).split()
    if len(words) != 2:
        raise table.fail("paths.existing", f'holds pairs such as "DDR Vec", got {text!r}')
    source, destination = (_member(lambda one: MemorySpace[one], word, table, "paths.existing") for word in words)
    return source, destination


def _pipes(listed: list[str], table: _Table) -> tuple[PipeType, ...]:
    return tuple(_member(lambda text: PipeType[text], name, table, "pipes") for name in listed)
