"""What the passes over a program find wrong with it, and what its text may be wrong with."""

from __future__ import annotations

from pypto.errors.base import UserError


class ProgramSyntaxError(UserError, SyntaxError):
    """Program text that does not follow the grammar of ``pypto.ir.text``."""

    code = 0xF00002
    message = "line {line} of the program text: {reason}: {text}"


class InvalidProgram(UserError, RuntimeError):
    """A program (read from text, or built by hand) that breaks a rule of the form."""

    code = 0xF00003
    message = "not a legal program: {reason}"
