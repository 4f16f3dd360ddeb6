"""Functions, programs and kernels that are read without a launch, and texts."""

import ast

import pytest

import pypto_pro.language as pl
from pypto.cores.enums import CoreType
from pypto_pro.errors import ParserTypeError, SSAViolationError, UndefinedVariableError
from pypto_pro.language.parser import diagnostics

OUT = pl.Tensor[[16], pl.DT_INT64]


def test_a_function_is_read_at_once():
    @pl.function
    def double(out: OUT, n: pl.DT_INT64):
        out[0] = n * 2

    assert double.name == "double" and double.type is pl.FunctionType.Opaque
    assert [one.name for one in double.program.parameters] == ["out", "n"]
    assert double.program.vector is not None and double.program.cube is None


def test_functions_may_return_values():
    @pl.function(type=pl.FunctionType.InCore)
    def total(tile: pl.Tile[[16, 16], pl.DT_FP32], n: pl.DT_INT32) -> pl.DT_INT32:
        if n > 3:
            return n
        return 0

    assert total.type is pl.FunctionType.InCore
    with pytest.raises(ParserTypeError, match="Return 'bad_return' annotated as"):

        @pl.function
        def bad_return(out: OUT) -> pl.DT_INT32:
            return 0.5


def test_strict_ssa():
    with pytest.raises(SSAViolationError, match="already defined") as caught:

        @pl.function(strict_ssa=True)
        def twice(out: OUT):
            x = 1
            x = 2  # noqa: F841

    assert caught.value.previous_span["line"] == caught.value.span["line"] - 1


def test_programs_collect_methods():
    @pl.program
    class Chain:
        @pl.function
        def step(self, out: OUT, n: pl.DT_INT64):
            out[0] = n

        @pl.function
        def main(self, out: OUT):
            self.step(out, 3)

    assert list(Chain.functions) == ["step", "main"]
    assert "setval(out, [0], 3)" in str(_text(Chain.functions["main"].program))
    with pytest.raises(UndefinedVariableError, match="method 'missing' is not defined"):

        @pl.program
        class Broken:
            @pl.function
            def main(self, out: OUT):
                self.missing(out)


def _text(program):
    from pypto.cores.text import print_program

    return print_program(program)


def test_a_kernel_definition_is_read_for_one_core_at_a_time():
    scale = 7

    @pl.kernel(name="other", auto_mutex=False)
    def kernel(x: pl.Tensor[[pl.STATIC], pl.DT_FP32], out: OUT):
        with pl.section_vector():
            out[0] = scale + x.shape[0]

    assert isinstance(kernel, pl.KernelDef)
    assert (kernel.func_name, kernel.name, kernel.auto_mutex) == ("kernel", "other", False)
    assert isinstance(kernel.func_def, ast.FunctionDef) and kernel.closure_vars["scale"] == 7
    program, has_section = kernel.parse_target_program(CoreType.VECTOR, {"x": (4,)})
    assert has_section and program.body
    program, has_section = kernel.parse_target_program(CoreType.CUBE, {"x": (4,)})
    assert not has_section and not program.body


FUNCTION = """
@pl.function
def store_one(out: pl.Tensor[[16], pl.DT_INT64]):
    out[0] = 1
"""


def test_texts(tmp_path):
    assert pl.parse(FUNCTION).name == "store_one"
    file = tmp_path / "kernel.py"
    file.write_text(FUNCTION)
    assert pl.loads(file).name == "store_one"
    program = (
        "@pl.program\nclass P:\n    @pl.function\n    def main(self, out: pl.Tensor[[16], pl.DT_INT64]):\n        out[0] = 1\n"
    )
    assert pl.parse_program(program).name == "P"
    file.write_text(program)
    assert pl.loads_program(file).name == "P"
    with pytest.raises(ValueError, match="No @pl.function or @pl.program found"):
        pl.parse("x = 1")
    with pytest.raises(ValueError, match="several"):
        pl.parse(FUNCTION + FUNCTION.replace("store_one", "store_two"))
    with pytest.raises(ValueError, match="defines a function, not a program"):
        pl.parse_program(FUNCTION)
    with pytest.raises(SyntaxError, match="Failed to compile code"):
        pl.parse("def (")
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        pl.parse("1 / 0")


def test_errors_in_texts_show_their_line():
    with pytest.raises(diagnostics.UndefinedVariableError) as caught:
        pl.parse("@pl.function\ndef f(out: pl.Tensor[[16], pl.DT_INT64]):\n    out[0] = missing\n", "a_text.py")
    assert " 3 |     out[0] = missing" in str(caught.value) and "a_text.py:3:14" in str(caught.value)
