"""Mistakes that only a machine finds: in chip files, and while a tile program runs (races, deadlocks, undefined bytes, bounds)."""

from __future__ import annotations

from pypto.errors.base import UserError


class UnknownChip(UserError, ValueError):
    code = 0xF00002
    message = "no chip is called '{name}'"
    help = "known are {known}; a chip of your own is the path of a .toml file"


class ChipFileMissing(UserError, FileNotFoundError):
    code = 0xF00003
    message = "the chip file {path} does not exist"


class ChipFileSyntax(UserError, ValueError):
    code = 0xF00002
    message = "the chip file {path} cannot be read: {reason}"


class ChipFileEntry(UserError, ValueError):
    code = 0xF00002
    message = "in the chip file {path}, {entry} {reason}"
    help = "the files in pypto/chips show every entry"
