"""Watches compilations that take long: progress on the error stream, and a line when a limit of the user's is passed.

    with watched("softmax"):
        entered("trace")            # every step says so when it begins
        ...

Options of the family ``host`` (tensor API section 7.2): ``compile_monitor_enable`` (0 off, 1 on, 2 a line for every step),
``compile_monitor_print_interval``, ``compile_timeout`` and ``compile_timeout_stage``, all in seconds, 0 for never.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar

from pypto.options import scopes as options

_current: ContextVar[Monitor | None] = ContextVar("compilation", default=None)


class Monitor:
    """One compilation: which step it is in, and since when."""

    def __init__(self, kernel: str) -> None:
        scope = options.current()
        self.kernel = kernel
        self.detail = scope.get("host.compile_monitor_enable") == 2
        self.interval = float(scope.get("host.compile_monitor_print_interval"))
        self.limits = {"": float(scope.get("host.compile_timeout")), "step": float(scope.get("host.compile_timeout_stage"))}
        self.started = self.entered = time.monotonic()
        self.step = ""
        self.told: set[str] = set()
        self.over = threading.Event()

    def enter(self, step: str) -> None:
        """A step begins, and with it the one before ends."""
        now = time.monotonic()
        if self.detail and self.step:
            self.say(f"'{self.step}' took {now - self.entered:.3f} s")
        self.step, self.entered = step, now

    def run(self) -> None:
        """Body of the watching thread."""
        number = 0
        while not self.over.wait(self.pause()):
            now = time.monotonic()
            if self.interval and now - self.started >= (number + 1) * self.interval:
                number = int((now - self.started) / self.interval)
                self.say(f"{now - self.started:.0f} s so far, in step '{self.step}' (Ctrl-C stops it)")
            self.look("", "the compilation", now - self.started, "compile_timeout")
            self.look("step", f"step '{self.step}'", now - self.entered, "compile_timeout_stage")

    def pause(self) -> float | None:
        """Seconds until the next look; None: nothing will ever be said."""
        least = min((x for x in (self.interval, *self.limits.values()) if x), default=0.0)
        return min(least, 1.0) / 4 if least else None

    def look(self, which: str, what: str, seconds: float, option: str) -> None:
        limit = self.limits[which]
        if limit and seconds >= limit and what not in self.told:
            self.told.add(what)
            self.say(f"{what} takes longer than host.{option} = {limit:.0f} s")

    def say(self, text: str) -> None:
        print(f"pypto: compiling '{self.kernel}': {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def watched(kernel: str) -> Iterator[None]:
    """Watch what happens in the block, unless the option says otherwise."""
    if not options.current().get("host.compile_monitor_enable"):
        yield
        return
    monitor = Monitor(kernel)
    token = _current.set(monitor)
    threading.Thread(target=monitor.run, name="pypto compile monitor", daemon=True).start()
    try:
        yield
        monitor.enter("")
    finally:
        monitor.over.set()
        _current.reset(token)


def entered(step: str) -> None:
    """Tell the monitor of this compilation, if there is one, that a step begins."""
    monitor = _current.get()
    if monitor is not None:
        monitor.enter(step)
