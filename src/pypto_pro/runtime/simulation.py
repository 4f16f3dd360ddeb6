"""``with pl.simulate(...)``: how launches inside are simulated."""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from typing import Any

from pypto_pro.errors.launching import SimulateOption

_UNSET: Any = object()


@dataclass(frozen=True)
class Settings:
    """``chip``: name or chip file, None for the kernel's own. ``check``: look for races. ``seed``: an adversarial schedule, None for the
    natural one. ``timing``: price the work. ``stop_on_assert``: a failing assertion ends the run. ``permissive``: tiles may reach beyond
    their memory."""

    chip: Any = None
    check: bool | str = True
    seed: int | None = None
    timing: bool = True
    stop_on_assert: bool = True
    permissive: bool = False


_DEFAULT = Settings()
_settings: ContextVar[Settings] = ContextVar("pypto_pro_simulate", default=_DEFAULT)


def settings() -> Settings:
    """What holds now."""
    return _settings.get()


class simulate:
    """Sets how launches are simulated, inside a ``with`` block; what is left out stays as it is outside.

    ``chip``: "950", "910B" or the path of a chip file. ``check``: report races (default on); "collect" gathers them in the report's
    ``findings`` and goes on. ``seed``: an adversarial schedule. ``timing``: simulate time as well (default on). ``stop_on_assert``: whether
    a failing ``pl.pto_assert`` ends the run (default on). ``permissive``: tiles may reach beyond their memory (default off).
    Raises ``ValueError`` for values of another kind.

    >>> with simulate(seed=3, timing=False):
    ...     settings().seed
    3
    """

    def __init__(
        self,
        *,
        chip: Any = _UNSET,
        check: bool | str = _UNSET,
        seed: int | None = _UNSET,
        timing: bool = _UNSET,
        stop_on_assert: bool = _UNSET,
        permissive: bool = _UNSET,
    ) -> None:
        given = {"chip": chip, "check": check, "seed": seed, "timing": timing, "stop_on_assert": stop_on_assert}
        given["permissive"] = permissive
        self.given = {name: value for name, value in given.items() if value is not _UNSET}
        for name in ("check", "timing", "stop_on_assert", "permissive"):
            value = self.given.get(name, True)
            if not isinstance(value, bool) and not (name == "check" and value == "collect"):
                raise SimulateOption(name=name, expected="True or False", got=repr(value))
        seed = self.given.get("seed")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
            raise SimulateOption(name="seed", expected="an int or None", got=repr(seed))
        if self.given.get("chip") is not None:
            _check_chip(self.given["chip"])
        self.tokens: list[Token] = []

    def __enter__(self) -> simulate:
        self.tokens.append(_settings.set(replace(settings(), **self.given)))
        return self

    def __exit__(self, *error: Any) -> None:
        _settings.reset(self.tokens.pop())


def _check_chip(name: Any) -> None:
    from pypto.chips import chip

    chip(name)
