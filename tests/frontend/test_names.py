"""Bound names and liveness, on small pieces of Python."""

import ast

import pytest

from pypto.frontend.names import Flow, bound_names, loaded_names, stored_names


def body(text):
    return ast.parse(text).body


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a = b = 1", ("a", "b")),
        ("(a, *b), c.d, e[0] = f()", ("a", "b")),
        ("for i, (j, k) in x: l = 1", ("i", "j", "k", "l")),
        ("with f() as g: h = 1", ("g", "h")),
        ("def f(x):\n    y = 1", ("f",)),
        ("a += 1\nb: int = 2\nc: int", ("a", "b", "c")),
        ("z = [q for q in r if (w := q)]", ("z", "w")),
        ("f = lambda x: (y := x)", ("f",)),
        ("del a", ("a",)),
    ],
)
def test_bound_names(text, expected):
    assert bound_names(body(text)) == expected


def test_stored_names_are_elements_only():
    assert stored_names(body("a[0] = 1\nb[1][2] += 3\nc.d[0] = 1\ne = {}\ne[1] = 2")) == ("a", "b")


def test_loads_include_nested_functions():
    assert loaded_names(body("x = lambda y: y + z")[0]) == {"y", "z"}


def flow(text):
    statements = body(text)
    return statements, Flow(statements)


def test_a_name_read_before_it_is_bound_is_live_into_the_loop():
    (_, loop, _), found = flow("acc = 0\nfor i in loop(n):\n    t = x[i]\n    acc = acc + t\nout = acc")
    assert {"acc", "x", "n"} - {"n"} <= found.live_into(loop)
    assert "t" not in found.live_into(loop) and "i" not in found.live_into(loop)
    assert found.live_after(loop) == {"acc"}


def test_a_name_bound_on_one_path_is_live_into_the_loop_when_it_is_read_after():
    (_, loop, _), found = flow("last = 0\nfor i in loop(n):\n    if i == 3:\n        last = i\nout = last")
    assert "last" in found.live_into(loop)


def test_a_name_rebound_before_its_next_use_is_dead_after_the_loop():
    (loop, *_), found = flow("for i in loop(n):\n    t = x[i]\n    use(t)\nt = 5\nuse(t)")
    assert "t" not in found.live_after(loop) and "t" not in found.live_into(loop)


def test_the_next_iteration_of_an_outer_loop_counts_as_after():
    (_, outer), found = flow("s = 0\nfor i in loop(n):\n    for j in loop(m):\n        s = j\n    s = s + 1\n    use(s)")
    inner = outer.body[0]
    assert "s" in found.live_after(inner)


def test_names_of_nested_functions_are_live_everywhere():
    (_, loop, _), found = flow("def f():\n    return late\nfor i in loop(n):\n    late = i\nlate = 1")
    assert "late" in found.live_after(loop)


def test_break_and_continue_of_python_loops():
    (loop, _), found = flow(
        "for i in r:\n    if c:\n        a = 1\n        break\n    if d:\n        continue\n    a = 2\nuse(a)"
    )
    assert {"a", "c", "d"} <= found.live_into(loop)


def test_a_while_loop_and_return_end_what_is_live():
    (first, *_), found = flow("a = 1\nwhile a < n:\n    a = a + b\nreturn a\nuse(z)")
    assert found.live_after(first) == {"a", "b", "n"}
