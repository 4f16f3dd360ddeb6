"""``//`` and ``%`` of doubles as LLVM text, to the last bit what Python gives.

The rest of a division is exact: the divisor, scaled by powers of two, is subtracted from the largest to the smallest. Rounding the
quotient instead would be off by one whenever it rounds up to an integer: ``1.0 / 0.1`` is 10.0, but ``1.0 // 0.1`` is 9.0.
"""

from __future__ import annotations

from pypto.cpu.text import Function, Module, double_bits

_ZERO, _ONE, _HALF = (double_bits(number) for number in (0.0, 1.0, 0.5))


def call(f: Function, name: str, a: str, b: str) -> str:
    """``a // b`` (``"floordiv"``) or ``a % b`` (``"mod"``); NaN where ``b`` is 0."""
    callee = f.module.require(f"float_{name}", {"floordiv": _floor_quotient, "mod": _modulus}[name])
    return f.call("double", callee, ("double", a), ("double", b))


def _magnitude(f: Function, a: str) -> str:
    return f.intrinsic("double", "llvm.fabs.f64", ("double", a))


def _with_sign(f: Function, a: str, sign: str) -> str:
    return f.intrinsic("double", "llvm.copysign.f64", ("double", a), ("double", sign))


def _floor(f: Function, a: str) -> str:
    """Not the intrinsic, which calls the C library on processors without SSE 4.1. From 2**52 on every double is whole."""
    whole = f.cast("sitofp", "i64", f.intrinsic("i64", "llvm.fptosi.sat.i64.f64", ("double", a)), "double")
    whole = f.select(f.fcmp("ogt", "double", whole, a), "double", f.op("fsub", "double", whole, _ONE), whole)
    return f.select(f.fcmp("olt", "double", _magnitude(f, a), double_bits(2.0**52)), "double", whole, a)


def _open(module: Module, name: str) -> Function:
    return module.function("double", name, [("double", "a"), ("double", "b")], linkage="internal", attributes="noinline")


def _remainder(module: Module) -> None:
    """``fmod``: what is left of ``a``, with its sign."""
    f = _open(module, "float_remainder")
    a, b = f.arguments
    left, divisor = _magnitude(f, a), _magnitude(f, b)
    easy, odd, small, work = (f.new_label(n) for n in ("easy", "odd", "small", "work"))
    infinite = f.fcmp("oeq", "double", left, double_bits(float("inf")))
    none = f.op("or", "i1", infinite, f.fcmp("ueq", "double", divisor, _ZERO))
    f.branch(f.op("or", "i1", none, f.fcmp("uno", "double", a, b)), odd, easy)
    f.block(odd)
    f.ret("double", double_bits(float("nan")))
    f.block(easy)
    f.branch(f.fcmp("olt", "double", left, divisor), small, work)
    f.block(small)
    f.ret("double", a)
    f.block(work)
    with f.repeat([("double", divisor)], "scale") as up:
        (step,) = up.carried
        twice = f.op("fadd", "double", step, step)
        up.again = f.fcmp("ole", "double", twice, left)
        up.next = [f.select(up.again, "double", twice, step)]
    with f.repeat([("double", left), ("double", up.results[0])], "subtract") as down:
        rest, step = down.carried
        fits = f.fcmp("oge", "double", rest, step)
        rest = f.select(fits, "double", f.op("fsub", "double", rest, step), rest)
        down.again = f.fcmp("ogt", "double", step, divisor)
        down.next = [rest, f.op("fmul", "double", step, _HALF)]
    f.ret("double", _with_sign(f, down.results[0], a))


def _rest(f: Function) -> tuple[str, str]:
    """The remainder, and whether the divisor must be added to give it the divisor's sign."""
    a, b = f.arguments
    rest = f.call("double", f.module.require("float_remainder", _remainder), ("double", a), ("double", b))
    opposite = f.op("xor", "i1", f.fcmp("olt", "double", rest, _ZERO), f.fcmp("olt", "double", b, _ZERO))
    return rest, f.op("and", "i1", opposite, f.fcmp("une", "double", rest, _ZERO))


def _modulus(module: Module) -> None:
    f = _open(module, "float_mod")
    b = f.arguments[1]
    rest, adjust = _rest(f)
    moved = f.select(adjust, "double", f.op("fadd", "double", rest, b), rest)
    f.ret("double", f.select(f.fcmp("oeq", "double", rest, _ZERO), "double", _with_sign(f, rest, b), moved))


def _floor_quotient(module: Module) -> None:
    f = _open(module, "float_floordiv")
    a, b = f.arguments
    rest, adjust = _rest(f)
    quotient = f.op("fdiv", "double", f.op("fsub", "double", a, rest), b)
    quotient = f.select(adjust, "double", f.op("fsub", "double", quotient, _ONE), quotient)
    floor = _floor(f, quotient)
    above = f.fcmp("ogt", "double", f.op("fsub", "double", quotient, floor), _HALF)
    floor = f.select(above, "double", f.op("fadd", "double", floor, _ONE), floor)
    zero = _with_sign(f, _ZERO, f.op("fdiv", "double", a, b))
    f.ret("double", f.select(f.fcmp("oeq", "double", quotient, _ZERO), "double", zero, floor))
