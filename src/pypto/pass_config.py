"""Per-pass switches under the reference's names (tensor API section 7.5), kept and checked; the CPU engine has no such passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pypto.enums import PassConfigKey
from pypto.errors.options import PassConfigKeyInvalid, PassConfigNotBoolean
from pypto.options import current, update

__all__ = [
    "PassConfigKey",
    "PassConfigs",
    "get_pass_config",
    "get_pass_configs",
    "get_pass_default_config",
    "set_pass_config",
    "set_pass_default_config",
]

_DEFAULT = ("", "")  # the place of settings that hold for every pass


@dataclass(frozen=True)
class PassConfigs:
    """The switches of one pass."""

    printGraph: bool = False
    dumpGraph: bool = False
    dumpPassTimeCost: bool = True
    preCheck: bool = False
    postCheck: bool = False
    disablePass: bool = False
    healthCheck: bool = False


def _key(key: Any) -> PassConfigKey:
    if not isinstance(key, PassConfigKey):
        raise PassConfigKeyInvalid(value=key)
    return key


def _store(place: tuple[str, str], key: Any, value: Any) -> None:
    if not isinstance(value, bool):
        raise PassConfigNotBoolean(got=type(value).__name__)
    settings = current().get("pass_configs")
    update({"pass_configs": {**settings, (*place, _key(key)): value}})


def _fetch(place: tuple[str, str], key: Any, default: Any) -> Any:
    return current().get("pass_configs").get((*place, _key(key)), default)


def get_pass_default_config(key: PassConfigKey, default_value: bool) -> bool:
    """The setting for all passes, ``default_value`` when there is none."""
    return _fetch(_DEFAULT, key, default_value)


def set_pass_default_config(key: PassConfigKey, value: bool) -> None:
    """Set a switch for all passes."""
    _store(_DEFAULT, key, value)


def get_pass_config(strategy: str, identifier: str, key: PassConfigKey, default_value: bool) -> bool:
    """The setting of one pass, ``default_value`` when it has none of its own."""
    return _fetch((strategy, identifier), key, default_value)


def set_pass_config(strategy: str, identifier: str, key: PassConfigKey, value: bool) -> None:
    """Set a switch of one pass, for instance ``("PVC2_OOO", "ExpandFunction", PassConfigKey.KEY_DUMP_GRAPH, True)``."""
    _store((strategy, identifier), key, value)


def get_pass_configs(strategy: str, identifier: str) -> PassConfigs:
    """All switches of one pass; what it does not set itself comes from the default."""
    key = PassConfigKey.KEY_DUMP_GRAPH
    return PassConfigs(dumpGraph=get_pass_config(strategy, identifier, key, get_pass_default_config(key, False)))
