"""Mistakes in calling an operation: types, shapes, axes, valid shapes (codes FC…, F0… of tensor API section 3.3)."""

from __future__ import annotations

from pypto.errors.base import UserError


class OutsideKernel(UserError, RuntimeError):
    code = 0xF00003
    message = "operations can only be called inside a kernel"
    help = "decorate the function with @pypto.frontend.jit, or open a block with pypto.function(...)"
