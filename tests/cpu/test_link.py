"""Linking: text to addresses, and the refusals."""

import ctypes
import gc
from collections.abc import Callable

import numpy as np
import pytest

from pypto.cpu.link import Machine, assembly_of, compile_text, load, process_symbols, undefined_symbols
from pypto.errors.base import InternalError

ADD = """
define i64 @add(i64 %a, i64 %b) {
  %c = add i64 %a, %b
  ret i64 %c
}
"""
CALLS = """
declare i64 @outside(i64, i64)
declare ptr @memcpy(ptr, ptr, i64)
@table = internal constant [2 x i64] [i64 7, i64 9]
define i64 @use(i64 %a, ptr %p) {
  %x = alloca [2 x i64]
  %r = call ptr @memcpy(ptr %x, ptr @table, i64 16)
  %v = load i64, ptr %x
  %c = call i64 @outside(i64 %a, i64 %v)
  ret i64 %c
}
"""


def _function(address: int, *arguments: type) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(address)


def test_text_becomes_a_callable_address() -> None:
    library = load(compile_text(ADD, Machine(), check=True), exports=["add"])
    assert _function(library["add"], ctypes.c_int64, ctypes.c_int64)(40, 2) == 42


def test_imports_come_from_another_library_and_are_kept_alive() -> None:
    first = load(compile_text(ADD.replace("@add", "@outside"), Machine(), check=True), exports=["outside"])
    imports = {"outside": first["outside"]}
    second = load(compile_text(CALLS, Machine(), check=True), exports=["use"], imports=imports, keep=(first,))
    del first
    gc.collect()
    assert _function(second["use"], ctypes.c_int64, ctypes.c_void_p)(1, None) == 8


def test_far_addresses_are_reached() -> None:
    """A callback lives wherever ctypes puts it, possibly more than 2 GB away from the code."""
    callback = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(lambda a, b: a * b)
    address = ctypes.cast(callback, ctypes.c_void_p).value or 0
    library = load(compile_text(CALLS, Machine(), check=True), exports=["use"], imports={"outside": address})
    assert _function(library["use"], ctypes.c_int64, ctypes.c_void_p)(6, None) == 42


def test_undefined_symbols_are_read_from_the_object() -> None:
    assert undefined_symbols(compile_text(CALLS, Machine())) == ["memcpy", "outside"]
    assert undefined_symbols(compile_text(ADD, Machine())) == []
    assert undefined_symbols(b"MZ") is None


def test_an_object_with_unresolved_symbols_is_never_loaded() -> None:
    text = "declare half @strange(float)\ndefine half @f(float %x) {\n %r = call half @strange(float %x)\n ret half %r\n}\n"
    with pytest.raises(InternalError, match="strange"):
        load(compile_text(text, Machine()), exports=["f"])


def test_a_conversion_without_its_feature_is_refused_not_crashed() -> None:
    text = "define bfloat @f(float %x) {\n %r = fptrunc float %x to bfloat\n ret bfloat %r\n}\n"
    machine = Machine(triple="x86_64-unknown-linux-gnu")
    with pytest.raises(InternalError, match="__truncsfbf2"):
        load(compile_text(text, machine), exports=["f"])


def test_bad_text_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="refused"):
        compile_text("define void @f() { nonsense }", Machine())
    with pytest.raises(InternalError, match="refused"):
        compile_text("define i64 @f() {\n %x = add i64 %y, 1\n %y = add i64 1, 1\n ret i64 %x\n}", Machine(), check=True)


def test_a_missing_export_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="linking failed"):
        load(compile_text(ADD, Machine()), exports=["nothing"])


def test_names_do_not_collide_between_libraries() -> None:
    libraries = [load(compile_text(ADD.replace("add i64 %a", f"add i64 {k}"), Machine()), exports=["add"]) for k in range(3)]
    answers = [_function(one["add"], ctypes.c_int64, ctypes.c_int64)(0, 1) for one in libraries]
    assert answers == [1, 2, 3]


def test_other_targets_compile() -> None:
    machine = Machine(features="+neon,+fp-armv8", triple="aarch64-unknown-linux-gnu")
    assert "add\tx0" in assembly_of(ADD, machine)
    assert compile_text(ADD, machine)[:4] == b"\x7fELF"


def test_process_symbols_exist() -> None:
    assert all(np.array(list(process_symbols().values())) != 0)
