"""``torch.npu``: the functions that scripts call, on the host.

Device numbers are remembered and mean nothing: ``npu:N`` is the host for every N. Work is done when a call returns, so
streams and events are always ready; an event knows when it was recorded.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

from pypto.errors.compat import CannotImitate, NoStandIn

DEVICE_NAME = (
    "Ascend910B2 (stand-in: this machine's CPU)"  # scripts look for the chip's name in it; the default chip of the options
)
DEVICE_NAMES = {"DAV_3510": "Ascend950 (stand-in: this machine's CPU)"}

_current = 0


def _index(device: Any) -> int:
    if device is None:
        return _current
    if isinstance(device, int):
        return device
    index = getattr(device, "index", None)
    if isinstance(index, int):
        return index
    number = str(device).partition(":")[2]
    return int(number) if number.isdigit() else 0


def is_available() -> bool:
    return True


def device_count() -> int:
    """1, or as many as scripts have named."""
    return max(1, _current + 1)


def set_device(device: Any) -> None:
    global _current
    _current = _index(device)


def current_device() -> int:
    return _current


def synchronize(device: Any = None) -> None:
    """Nothing to wait for: kernels and torch run to their end before they return."""


def get_device_name(device: Any = None) -> str:
    from pypto.platforms import platform

    tile_level = "pypto_pro" in sys.modules and os.environ.get("PYPTOPRO_JIT_ARCH", "a5") == "a5"  # its kernels are for the 950
    return DEVICE_NAMES["DAV_3510"] if tile_level else DEVICE_NAMES.get(platform.npuarch, DEVICE_NAME)


def _memory() -> tuple[int, int]:
    """(free, total) bytes of the host, as far as the system tells."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        return os.sysconf("SC_AVPHYS_PAGES") * page, os.sysconf("SC_PHYS_PAGES") * page
    except (AttributeError, ValueError, OSError):
        return 0, 0


def mem_get_info(device: Any = None) -> tuple[int, int]:
    return _memory()


def get_device_properties(device: Any = None) -> SimpleNamespace:
    return SimpleNamespace(name=get_device_name(device), total_memory=_memory()[1], major=0, minor=0)


def get_device_capability(device: Any = None) -> None:
    return None


def is_bf16_supported() -> bool:
    return True


def is_initialized() -> bool:
    return True


def _nothing(*arguments: Any, **named: Any) -> None:
    """Accepted; there is nothing to do on the host."""


def _zero(*arguments: Any, **named: Any) -> int:
    """Memory counters: the host's allocator keeps none."""
    return 0


def _seed(value: int) -> None:
    """The host's generator is the device's; ``torch.manual_seed`` itself comes here, so it is not called again."""
    sys.modules["torch"].default_generator.manual_seed(int(value))


def _is_in_bad_fork() -> bool:
    """``torch.manual_seed`` asks before it seeds a device."""
    return False


class Stream:
    """A stream that has always finished."""

    def __init__(self, device: Any = None, priority: int = 0, **named: Any) -> None:
        self.device_index = _index(device)
        self.npu_stream = 0

    def synchronize(self) -> None: ...

    def wait_event(self, event: Any) -> None: ...

    def wait_stream(self, stream: Any) -> None: ...

    def query(self) -> bool:
        return True

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event(enable_timing=True)
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: Any) -> None: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.device_index == self.device_index

    def __hash__(self) -> int:
        return hash(self.device_index)


class Event:
    """An event that remembers when it was recorded."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.recorded: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        self.recorded = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None: ...

    def query(self) -> bool:
        return True

    def synchronize(self) -> None: ...

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds between two recorded events."""
        if self.recorded is None or end.recorded is None:
            raise CannotImitate(name="Event.elapsed_time", reason="both events must be recorded first")
        return (end.recorded - self.recorded) * 1e3


class NPUGraph:
    """Graph capture has no counterpart: calls run at once."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        raise CannotImitate(name="torch.npu.NPUGraph", reason="a captured graph is replayed by the device's driver")


def current_stream(device: Any = None) -> Stream:
    return Stream(device)


@contextlib.contextmanager
def stream(stream: Stream | None) -> Iterator[Stream | None]:
    yield stream


class device:
    """``with torch.npu.device(1):`` makes 1 the current device inside."""

    def __init__(self, device: Any) -> None:
        self.index = _index(device)
        self.before = 0

    def __enter__(self) -> device:
        self.before = _current
        set_device(self.index)
        return self

    def __exit__(self, *error: Any) -> None:
        set_device(self.before)


_NAMES = {
    name: value
    for name, value in globals().items()
    if not name.startswith("_") and getattr(value, "__module__", "") == __name__ and name != "attach"
}
_NAMES.update(
    default_stream=current_stream,
    set_stream=_nothing,
    graph=NPUGraph,
    init=_nothing,
    finalize=_nothing,
    empty_cache=_nothing,
    ipc_collect=_nothing,
    set_compile_mode=_nothing,
    set_option=_nothing,
    reset_peak_memory_stats=_nothing,
    reset_max_memory_allocated=_nothing,
    memory_allocated=_zero,
    max_memory_allocated=_zero,
    memory_reserved=_zero,
    max_memory_reserved=_zero,
    manual_seed=_seed,
    manual_seed_all=_seed,
    _is_in_bad_fork=_is_in_bad_fork,
)


def attach(torch: ModuleType) -> None:
    """Make ``torch.npu``."""
    module = ModuleType("torch.npu", __doc__)
    module.__dict__.update(_NAMES)
    module.__dict__.update(Generator=torch.Generator, amp=torch.amp, random=torch.random, __getattr__=_missing)
    sys.modules["torch.npu"] = module
    torch.npu = module  # type: ignore[attr-defined]


def _missing(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NoStandIn(module="torch.npu", name=name)
