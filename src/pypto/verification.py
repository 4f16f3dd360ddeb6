"""``pass_verify_print``: printing in a kernel that is silent unless verification is switched on (tensor API section 10)."""

from __future__ import annotations

from typing import Any

from pypto.errors.frontend import WrongCall
from pypto.frontend.structure import current_tracer, number_of
from pypto.frontend.structure import print as print_when_run
from pypto.ir.program import Block, If, Statement
from pypto.ir.symbols import compare
from pypto.options import current


def pass_verify_print(*values: Any, cond: Any = 1) -> None:
    """Print when the kernel runs, if ``cond`` is not zero and ``set_verify_options(enable_pass_verify=True)`` is in force.

    ``cond`` is an int or a symbolic scalar. For printing without such a switch there is ``pypto.print``.
    """
    if not current().get("verify.enable_pass_verify"):
        return
    condition = number_of(cond)
    if condition is None:
        raise WrongCall(
            function="pass_verify_print",
            problem=f"cond is an int or a symbolic scalar, got {type(cond).__name__}",
            signature="pypto.pass_verify_print(*values, cond=1)",
        )
    if isinstance(condition, (int, float)):
        if condition:
            print_when_run(*values)
        return
    tracer = current_tracer()
    statements: list[Statement] = []
    with tracer.block(statements):
        print_when_run(*values)
    tracer.append(If(compare("ne", condition, 0), Block(tuple(statements)), span=tracer.span))
