"""Mistakes around the stand-ins, the launcher and the environment."""

from __future__ import annotations

from pypto.errors.base import UserError


class NoStandIn(UserError, AttributeError):
    code = 0xF00005
    message = "{module}.{name} has no stand-in on this machine"
    help = "docs/differences.md lists what the stand-ins imitate; take the call out, or guard it with `if pypto.compat.active():`"


class CannotImitate(UserError, NotImplementedError):
    code = 0xF00005
    message = "{name} needs a real NPU: {reason}"
    help = "docs/differences.md lists what the stand-ins cannot imitate"


class ScriptNotFound(UserError, FileNotFoundError):
    code = 0xF00007
    message = "pypto run: there is no file {path!r}{nearest}"
    help = "give a Python file, or -m and a module's name"


class ModuleNotFound(UserError, ModuleNotFoundError):
    code = 0xF00007
    message = "pypto run -m: there is no module {name!r}"
    help = "the module must be importable from the current directory"


class KernelNotFound(UserError, LookupError):
    code = 0xF00007
    message = "{file} has no kernel {name!r}"
    help = "its kernels: {known}"


class KernelNameMissing(UserError, ValueError):
    code = 0xF00002
    message = "pypto show: which kernel? Got {given!r}"
    help = "write pypto show script.py::kernel"


class KernelNotCalled(UserError, RuntimeError):
    code = 0xF00003
    message = "{file} ran to its end without calling {name}, so there is no program to show"
    help = "a program is made for the arguments of a call: call the kernel in the script, or under if __name__ == '__main__'"


class TorchMissing(UserError, ImportError):
    code = 0xF00003
    message = "{what} needs torch, which is not installed"
    help = "pip install torch"


class UnknownCode(UserError, LookupError):
    code = 0xF00006
    message = "no message has the code {given!r}{nearest}"
    help = "`pypto explain` without a code lists all of them"
