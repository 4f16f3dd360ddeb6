"""Mistakes with the names of the language outside kernels, and features that come later."""

from __future__ import annotations

from pypto.errors.base import UserError
from pypto_pro.errors.base import UnsupportedFeatureError


class OutsideKernel(UserError, RuntimeError):
    code = 0xF00003
    message = "pl.{name} is a DSL declaration: it has to be used inside a PyPTO kernel"
    help = "call it in a function decorated with pl.jit, or in a helper that a kernel calls"


class UnknownLanguageName(UserError, AttributeError):
    code = 0xF00004
    message = "pl has no name '{name}'{nearest}"
    help = "dir(pypto_pro.language) lists what there is"


class RegisterLevel(UnsupportedFeatureError):
    message = "register-level functions (pl.vector_function, vf.{name}) come later; this version has tile operations only"
    help = "write the function with tile operations (pl.add, pl.exp, pl.sum, …)"


class SimtLevel(UnsupportedFeatureError):
    message = "SIMT functions (pl.simt.{name}) come later; this version has tile operations only"
    help = "write the function with tile operations, or with scalars: pl.getval and pl.setval"


class InlineDeprecated(DeprecationWarning):
    """``@pl.inline`` has no effect."""


class NoCodegen(UserError, NotImplementedError):
    code = 0xF00005
    message = "pypto_pro.codegen.{name}: kernels are simulated here, no device code is generated"
    help = "the core programs are printed into the artefacts; docs/differences.md"
