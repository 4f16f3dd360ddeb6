"""Mistakes in kernels as a whole: cores without code."""

from __future__ import annotations

from pypto_pro.errors.base import ParserSyntaxError


class MissingCore(ParserSyntaxError):
    message = "kernel '{kernel}' synchronises cube and vector cores, but its {core} code is missing"
    help = "give it a pl.section_{core}(), or take the cross-core synchronisation out"


class BothCores(ParserSyntaxError):
    message = "kernel '{kernel}' has no sections, but operations of both cores"
    help = "put them into `with pl.section_cube():` and `with pl.section_vector():`"
