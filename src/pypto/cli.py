"""The command ``pypto``: run, show, doctor, ops, explain, cache."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from pypto.errors.base import InternalError, UserError
from pypto.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status. A mistake in the command line or in its subject prints without a traceback."""
    parsed = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] | None = getattr(parsed, "command", None)
    if command is None:
        _parser().print_help()
        return 2
    if command is run:  # the script's own exceptions keep their traceback
        return run(parsed)
    try:
        return command(parsed)
    except (UserError, InternalError) as error:
        print(error, file=sys.stderr)
        return 1
    except BrokenPipeError:  # `pypto ops | head`
        sys.stderr.close()
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pypto", description="PyPTO kernels on this machine.")
    parser.add_argument("--version", action="version", version=f"openpypto {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="")

    one = commands.add_parser("run", help="run a script written for an NPU, with stand-ins for torch.npu and torch_npu")
    one.add_argument("-m", dest="module", action="store_true", help="the name is a module, as for python -m")
    one.add_argument("name", help="script, or module with -m")
    one.add_argument("arguments", nargs=argparse.REMAINDER, help="what the script gets")
    one.set_defaults(command=run)

    one = commands.add_parser(
        "profile", help="run a script of pypto_pro kernels: report, timeline and other preloads of every launch"
    )
    one.add_argument("name", metavar="script", help="script to run")
    one.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    one.add_argument("--output", default="profile", metavar="FOLDER", help="where timelines go (default: profile)")
    one.set_defaults(command=profile)

    one = commands.add_parser("show", help="print a kernel's program at each step of compilation")
    one.add_argument("kernel", help="script.py::kernel (the script is run, and must call the kernel), or a saved .program")
    one.add_argument("--step", default="", help="only steps whose name contains this")
    one.add_argument("--full", action="store_true", help="LLVM text too, and programs that a step left as they were")
    one.add_argument("arguments", nargs="*", help="what the script gets (after -- if they begin with a dash)")
    one.set_defaults(command=show)

    commands.add_parser("doctor", help="what this machine has and what will be used").set_defaults(command=doctor)

    one = commands.add_parser("ops", help="operations and the engine that runs each")
    one.add_argument("word", nargs="?", default="", help="only operations whose name contains this")
    one.set_defaults(command=ops)

    one = commands.add_parser("explain", help="what an error code means, with a wrong and a right program")
    one.add_argument("code", nargs="?", default="", help="such as F00003, or a class name; nothing: list all")
    one.set_defaults(command=explain)

    one = commands.add_parser("cache", help="compiled kernels on disk")
    one.add_argument("action", choices=["ls", "clear", "explain"], help="list, drop, or say why each was compiled")
    one.add_argument("kernel", nargs="?", help="only entries of this kernel")
    one.set_defaults(command=cache)
    return parser


def run(parsed: argparse.Namespace) -> int:
    """``pypto run``: what the script does, and its exceptions, are the script's."""
    from pypto.compat import launcher
    from pypto.errors.compat import ModuleNotFound, ScriptNotFound

    start = launcher.run_module if parsed.module else launcher.run_script
    try:
        start(parsed.name, parsed.arguments)
    except (ModuleNotFound, ScriptNotFound) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def profile(parsed: argparse.Namespace) -> int:
    """``pypto profile``: every launch of the script, in words on the screen and as pages in a folder."""
    from pypto_pro.runtime.profiling import profiling, save

    parsed.module = False
    with profiling() as launches:
        status = run(parsed)
    for launched in launches:
        print(f"\n{launched}")
    if not launches:
        print("no pypto_pro kernel was launched")
    for path in save(launches, parsed.output):
        print(f"wrote {path}")
    return status


def show(parsed: argparse.Namespace) -> int:
    from pypto.showing import readable, steps_of

    print(readable([step for step in steps_of(parsed.kernel, parsed.arguments) if parsed.step in step.name], parsed.full))
    return 0


def doctor(parsed: argparse.Namespace) -> int:
    from pypto.doctor import report

    print(report())
    return 0


def ops(parsed: argparse.Namespace) -> int:
    from pypto.coverage import compiled_types, rows

    found = [row for row in rows() if parsed.word in row.name]
    width = max((len(row.name) for row in found), default=4)
    print(f"{'operation':{width}}  {'kind':12}  engine")
    for row in found:
        print(f"{row.name:{width}}  {row.kind:12}  {row.engine}")
    print(f"{sum(r.engine == 'native' for r in found)} native, {sum(r.engine == 'reference' for r in found)} reference")
    print(f"native for the element types {' '.join(compiled_types())}; the reference computes with others")
    return 0


def explain(parsed: argparse.Namespace) -> int:
    from pypto.errors.explain import explanation, index

    print(explanation(parsed.code) if parsed.code else index())
    return 0


def cache(parsed: argparse.Namespace) -> int:
    from pypto.runtime.cache import cache as kept_now

    kept = kept_now()
    if parsed.action == "clear":
        entries = kept.entries(parsed.kernel) if parsed.kernel else []
        for entry in entries:
            kept.forget(entry.key)
        print(f"removed {len(entries) if parsed.kernel else kept.clear()} entries")
        return 0
    entries = kept.entries(parsed.kernel)
    print(f"{kept.directory or 'in memory only'}: {len(entries)} entries, {sum(e.bytes for e in entries) / 1e6:.2f} MB")
    for entry in entries:
        print(_described(entry) if parsed.action == "ls" else _explained(entry, kept.reason(entry, entries)))
    return 0


def _described(entry: Any) -> str:
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
    return f"  {entry.key[:12]}  {entry.about.kernel:24}  {entry.bytes / 1024:8.1f} KB  used {used}"


def _explained(entry: Any, reason: str) -> str:
    made = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.about.created))
    return f"  {entry.about.kernel:24}  {made}  {entry.about.compile_seconds * 1e3:8.1f} ms  {reason}  {entry.about.source_file}"


if __name__ == "__main__":
    sys.exit(main())
