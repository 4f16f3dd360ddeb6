"""Findings of the ``compare`` engine: two engines gave different numbers."""

from __future__ import annotations

from pypto.errors.base import UserError


class EnginesDiffer(UserError, AssertionError):
    code = 0xFB4001
    message = "engines differ in '{tensor}' at {index}: cpu {got}, reference {expected} ({count} of {total} elements differ)"
    help = (
        "this is a defect of openpypto unless the kernel depends on undefined data; run `pypto show` on the kernel and report it"
    )
