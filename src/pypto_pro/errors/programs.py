"""Mistakes in kernels as a whole: cores without code, memory that does not fit."""

from __future__ import annotations

from pypto.errors.base import UserError
from pypto_pro.errors.base import ParserSyntaxError


class MissingCore(ParserSyntaxError):
    message = "kernel '{kernel}' synchronises cube and vector cores, but its {core} code is missing"
    help = "give it a pl.section_{core}(), or take the cross-core synchronisation out"


class BothCores(ParserSyntaxError):
    message = "kernel '{kernel}' has no sections, but operations of both cores"
    help = "put them into `with pl.section_cube():` and `with pl.section_vector():`"


class ProgramValueError(UserError, ValueError):
    code = 0xF00002


class MemoryFull(ProgramValueError):
    message = "kernel '{kernel}' does not fit: its tiles in {space} ({name}) end at byte {end}, the memory has {capacity}"
