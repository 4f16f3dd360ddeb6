"""Program text: readable, unique names, parses back to the same program; the verifier accepts what is legal and nothing else."""

import subprocess
import sys

import numpy as np
import pytest

import handmade
from handmade import FP32, INT32, Builder, fp32, number, zeros
from pypto.errors.graph import ProgramSyntaxError
from pypto.ir import symbols as ir
from pypto.ir.parse import parse_program
from pypto.ir.program import Block, Carried, If, Literal, Loop, Op, Program, Storage, TensorType, Value, walk
from pypto.ir.rewrite import Rewriter
from pypto.ir.rules import IllegalProgram, verify, violations
from pypto.ir.text import program_text, statement_text

every = pytest.mark.parametrize("make", handmade.PROGRAMS, ids=[p.__name__ for p in handmade.PROGRAMS])


@every
def test_text_is_as_recorded(make, golden):
    golden(f"text_{make.__name__}", program_text(make(), spans=True))


@every
def test_text_parses_back(make):
    text = program_text(make(), spans=True)
    again = parse_program(text)
    assert program_text(again, spans=True) == text
    verify(again)
    assert [type(s) for s in walk(again.body)] == [type(s) for s in walk(make().body)]


@every
def test_legal(make):
    assert violations(make()) == []


@every
def test_rewriting_nothing_keeps_the_objects(make):
    program = make()
    assert Rewriter().program(program) is program


def test_text_does_not_depend_on_the_hash_seed():
    code = "import handmade; from pypto.ir.text import program_text; print(program_text(handmade.paged()))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_awkward_things_survive():
    b = Builder("awkward name: 1")
    x = b.parameter("for", TensorType(FP32, (4, 8), (3, 8)))
    k = b.scalar_parameter("min", "float")
    y = b.parameter("y", TensorType(INT32, (1,)))
    v = b.load(x, hint="été")
    v = b.op("mul", v, Literal(ir.add(k, 0.5), FP32), hint="3rd")
    flag = ir.logical_and(ir.compare("lt", k, 2.0), ir.logical_not(ir.compare("eq", k, 0.0)))
    with handmade.branch(b, flag) as (then, orelse):
        with then:
            pass
        with orelse:
            b.effect("print", v, text=("a, 'b' = (", ")  # c:3"), limit=float("inf"), table={"a": [1, None]})
    with b.loop(10, -1, -3, name="rows: (all), 'x'", parallel=True) as i:
        b.effect("write", y, ir.select(ir.compare("lt", i, 3), ir.neg(i), ir.mod(i, 5)), indices=(0,))
    program = b.finish({"mode": "fast", "depth": 3})
    text = program_text(program)
    again = parse_program(text)
    assert program_text(again) == text and violations(again) == []
    assert again.options == {"mode": "fast", "depth": 3}
    (printed,) = (s for s in walk(again.body) if isinstance(s, Op) and s.name == "print")
    assert printed.attributes["text"] == ("a, 'b' = (", ")  # c:3") and printed.attributes["table"] == {"a": [1, None]}
    assert printed.attributes["limit"] == np.inf


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "program p(x: fp99[4]):\n    pass\n",
        "program p(x: fp32[4]):\n    v: fp32[4] = load(y, offsets=(0,))\n",
        "program p(x: fp32[4]):\n        pass\n",
        "program p(x: fp32[4]):\n    for i in 3:\n        pass\n",
        "program p(x: fp32[4]):\n    v: fp32[4] = 3\n",
    ],
)
def test_wrong_text_names_the_line(text):
    with pytest.raises(ProgramSyntaxError, match="line [0-9]"):
        parse_program(text)


def _program(*statements, parameters=(), dimensions=None):
    return Program("p", tuple(parameters), Block(tuple(statements)), dimensions or {})


def test_illegal_programs():
    x, v, w, s = Storage("x", fp32(4), "parameter"), Value(fp32(4)), Value(fp32(4)), ir.Symbol("s")
    load = Op("load", (x,), {"offsets": (0,)}, (v,))
    other = Value(TensorType(INT32, (4,)))
    illegal = {
        "defined twice": [load, load],
        "before it is defined": [Op("add", (v, v), {}, (w,))],
        "uses symbol s": [Op("load", (x,), {"offsets": (s,)}, (v,))],
        "type uses symbol s": [Op("load", (x,), {"offsets": (0,)}, (Value(fp32(s)),))],
        "not storages": [Op("add", (x, x), {}, (v,))],
        "wrong operands": [load, Op("store", (v, v), {"offsets": (0,)})],
        "offsets": [Op("load", (x,), {"offsets": (0, 0)}, (v,))],
        "int32 of rank 1 where fp32": [Op("load", (x,), {"offsets": (0,)}, (other,))],
        "carries 1 and yields 0": [load, Loop(s, 0, 4, 1, Block(), (Carried(w, v, Value(fp32(4))),))],
        r"shape \[4\] where \[8\]": [load, Loop(s, 0, 4, 1, Block((), (v,)), (Carried(Value(fp32(8)), v, w),))],
        "yields 0 and results in 1": [If(True, Block(), Block(), (w,))],
        "step 0": [Loop(s, 0, 4, 0, Block())],
        "exceeds": [Op("load", (x,), {"offsets": (0,)}, (Value(TensorType(FP32, (4,), (5,))),))],
    }
    for words, statements in illegal.items():
        with pytest.raises(IllegalProgram, match=words):
            verify(_program(*statements, parameters=[x]))


def test_one_statement_as_text():
    b = Builder("p")
    assert (
        statement_text(Op("full", (number(1.0),), {"shape": (2,)}, (Value(fp32(2)),)))
        == "v0: fp32[2] = full(fp32(1.0), shape=(2,))"
    )
    zeros(b, 2)
