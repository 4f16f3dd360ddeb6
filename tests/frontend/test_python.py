"""Finding the source of functions."""

import functools
import linecache
import sys

import pytest

from pypto.errors.frontend import NoSource, UnsupportedStatement
from pypto.frontend.python import code_of, refuse_variable_arguments


def decorated(function):
    return function


@decorated
def with_decorator(a, b=1, *, c=2):
    return a


class Holder:
    """Has a method and a name that Python mangles."""

    def method(self, __hidden=1):
        return __hidden


def test_a_function_is_found_with_its_names():
    code = code_of(with_decorator)
    assert code.node.name == "with_decorator" and code.bound == {"a", "b", "c"}
    assert code.span(code.node.body[0]).text.strip() == "return a"


def test_a_method_is_found():
    assert code_of(Holder.method).node.name == "method"


def test_lambdas_are_told_apart_by_column():
    first, second = (lambda x: x + 1), (lambda x: x * 2)
    if sys.version_info < (3, 11):  # code objects do not know columns yet
        with pytest.raises(NoSource, match="several lambdas stand on one line"):
            code_of(first)
        return
    assert [type(code_of(f).node.body.op).__name__ for f in (first, second)] == ["Add", "Mult"]


def test_functions_of_one_name_are_told_apart_by_line():
    def make(flag):
        if flag:

            def inner(a):
                return a
        else:

            def inner(b):
                return b

        return inner

    assert [code_of(make(flag)).node.args.args[0].arg for flag in (True, False)] == ["a", "b"]


def test_code_is_kept():
    assert code_of(with_decorator) is code_of(with_decorator)


def test_text_known_to_linecache_is_enough():
    text = "def f(x):\n    return x\n"
    linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(keepends=True), "<cell 1>")
    space = {}
    exec(compile(text, "<cell 1>", "exec"), space)
    assert code_of(space["f"]).node.name == "f"


def test_without_text_the_reason_is_given():
    space = {}
    exec("def f(x):\n    return x\n", space)
    with pytest.raises(NoSource, match="does not keep"):
        code_of(space["f"])


def test_a_file_that_changed_is_noticed(tmp_path):
    file = tmp_path / "changes.py"
    file.write_text("def f(a):\n    return a\n")
    space = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    file.write_text("# another line\ndef f(a, b):\n    return a\n")
    with pytest.raises(NoSource, match="changed"):
        code_of(space["f"])


def test_unsupported_statements_are_found_but_not_in_nested_functions():
    def fine():
        def generator():
            yield 1

        return generator

    def bad():
        import os  # noqa: F401

    assert code_of(fine).problem is None
    assert isinstance(code_of(bad).problem, UnsupportedStatement)


def test_variable_arguments_are_refused():
    def kernel(*tensors):
        pass

    with pytest.raises(SyntaxError, match="Variable-length arguments"):
        refuse_variable_arguments(code_of(kernel))


def test_a_wrapped_function_keeps_its_own_source():
    @functools.wraps(with_decorator)
    def wrapper(*args):
        return with_decorator(*args)

    assert code_of(wrapper).node.name == "wrapper"
