"""``pypto explain CODE``: the messages behind a code (or class name), at length where the mistake is a classic."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache

from pypto.errors.base import UserError, builtin_of
from pypto.errors.compat import UnknownCode
from pypto.errors.explained import Explanation, elsewhere, explanations

FAMILIES = ("pypto.errors", "pypto_pro.errors")  # packages whose modules make up the catalogue


@cache
def catalogue() -> tuple[type[UserError], ...]:
    """All classes of the catalogue, by code, then name."""
    found: set[type[UserError]] = set()
    for name in FAMILIES:
        package = importlib.import_module(name)
        modules = [importlib.import_module(f"{name}.{one.name}") for one in pkgutil.iter_modules(package.__path__)]
        for module in modules:
            found |= {c for c in vars(module).values() if isinstance(c, type) and issubclass(c, UserError) and c.message}
    return tuple(sorted(found, key=lambda cls: (cls.code, cls.__name__, cls.__module__)))


def family(cls: type[UserError]) -> str:
    """The module of the catalogue that declares ``cls``; those of the tile language's front end begin with ``kernel text:``."""
    package, _, module = cls.__module__.rpartition(".")
    return module if package == FAMILIES[0] else f"kernel text: {module}"


def index() -> str:
    """Every code with its classes, one line each."""
    return "\n".join(f"{cls.code:X}  {cls.__name__:26}  {plain(cls.message)}" for cls in catalogue())


def plain(template: str) -> str:
    """A message template for reading: ``{name}`` becomes ``<name>``."""
    return re.sub(r"\{([^{}!:]*)[^{}]*\}", r"<\1>", template).replace("{{", "{").replace("}}", "}")


def explanation(given: str) -> str:
    """What ``given``, a code or a class name, means; raises ``UnknownCode`` with the nearest."""
    wanted = re.sub(r"^(errcode:?\s*)?(0x)?", "", given.strip(), flags=re.IGNORECASE)
    classes = [cls for cls in catalogue() if wanted.upper() == f"{cls.code:X}" or wanted.lower() == cls.__name__.lower()]
    longer = [
        one for one in explanations() if {cls.__name__ for cls in classes} & set(one.classes) or wanted.upper() in one.related
    ]
    note = elsewhere().get(wanted.upper())
    if not classes and not longer and not note:
        raise UnknownCode(given=given, nearest=_nearest(wanted))
    parts = [*map(_short, classes), *([f"{wanted.upper()}: {note}"] if note else []), *map(_long, longer)]
    return "\n\n".join(parts)


def _nearest(wanted: str) -> str:
    names = {name.lower(): name for cls in catalogue() for name in (f"{cls.code:X}", cls.__name__)}
    near = difflib.get_close_matches(wanted.lower(), names, n=1)
    return f", did you mean {names[near[0]]}?" if near else ""


def _short(cls: type[UserError]) -> str:
    lines = [f"{cls.code:X} {cls.__name__} ({builtin_of(cls)})", f"  {plain(cls.message)}"]
    return "\n".join(lines + ([f"  help: {plain(cls.help)}"] if cls.help else []))


def _long(one: Explanation) -> str:
    return "\n".join(
        [
            f"== {', '.join(one.classes)}",
            one.text,
            "",
            "Wrong:",
            *_indented(one.wrong),
            "",
            "Right:",
            *_indented(one.right),
        ]
    )


def _indented(program: str) -> Iterator[str]:
    return (f"    {line}".rstrip() for line in program.strip().splitlines())
