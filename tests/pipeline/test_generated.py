"""``pipeline_generated.py``: readable, complete, runs by itself, and is what ran. Places are those of the user's file."""

import ast
import importlib.util

import attention
import numpy as np
import pytest
import real_kernels as kernels
from pipeline_kernels import demo, kernel_text, transform

import pypto_pro.language as pl
from pypto.errors.simulation import DataRace
from pypto_pro.pipeline import PipelineConfig


def module_of(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("preload", [0, 1, 2])
def test_golden_text(golden, preload):
    """The worked example: what a reader sees."""
    text = kernel_text(transform(demo, preload))
    golden(f"pipeline/demo_preload_{preload}", text[text.index("    _pl_") :] + "\n")


@pytest.mark.parametrize("preload", [0, 1, 2])
def test_the_text_is_the_tree(preload):
    made = transform(demo, preload)
    parsed = ast.parse(made.text)
    (definition,) = [node for node in parsed.body if isinstance(node, ast.FunctionDef) and node.name == "demo"]
    assert ast.dump(definition) == ast.dump(made.node)


def test_the_rest_of_the_module_stays():
    source = open(transform.__code__.co_filename).read()
    made = transform(demo, 2)
    first = source.index("def demo(")
    last = source.index("def transform(")
    assert source[:first].rstrip() in made.text and source[last:] in made.text


def test_it_runs_by_itself(tmp_path):
    """The decorator loses pipeline= and keeps the rest; the file gives the same numbers."""
    file = tmp_path / "user_module.py"
    text = open(demo.__code__.co_filename).read()
    text = text.replace(
        "\ndef demo(", "\n@pl.jit(auto_mutex=True, pipeline=pl.pipeline.PipelineConfig(preload=2), name='mine')\ndef demo("
    )
    file.write_text(text)
    module = module_of(file, "user_module")
    random = np.random.default_rng(0)
    a, b, d = (random.standard_normal((rows, 64)).astype(np.float32) for rows in (256, 64, 64))
    out, again = np.full_like(a, np.nan), np.full_like(a, np.nan)
    module.demo[None, 1](a, b, d, out)
    np.testing.assert_allclose(out, np.maximum(a @ b, 0) @ d, rtol=1e-3, atol=1e-3)
    generated = tmp_path / "pipeline_generated.py"
    generated.write_text(module.demo.generated)
    assert "@pl.jit(auto_mutex=True, name='mine')" in module.demo.generated
    second = module_of(generated, "pipeline_generated")
    second.demo[None, 1](a, b, d, again)
    np.testing.assert_array_equal(out, again)
    assert second.demo.last_report.cycles == module.demo.last_report.cycles


def test_artefacts_hold_the_text():
    kernel = kernels.make_softmax(2, pl.jit(pipeline=PipelineConfig(preload=1)))
    a, b, _, out = kernels.operands(3)
    kernel[None, 1](a, b, out, 3)
    assert (kernel.folder / "pipeline_generated.py").read_text() == kernel.generated


def test_every_statement_has_the_place_of_a_user_statement():
    made = transform(demo, 2)
    lines = {node.lineno for node in ast.walk(made.node) if hasattr(node, "lineno")}
    (original,) = [n for n in ast.parse(open(demo.__code__.co_filename).read()).body if getattr(n, "name", "") == "demo"]
    assert lines <= {node.lineno for node in ast.walk(original) if hasattr(node, "lineno")}
    stages = {stage.name: stage.call.lineno for stage in made.loops[0].loop.stages}
    for node in ast.walk(made.node):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in stages:
            assert node.lineno == stages[ast.unparse(node.func)]


def test_a_race_names_the_lines_of_the_user(tmp_path):
    """Forward ids only and a slow consumer: the producer overwrites what is still being read."""
    text = open(kernels.__file__).read().replace(", bwd_ids=backward)", ")")
    file = tmp_path / "forward_only.py"
    file.write_text(text)
    module = module_of(file, "forward_only")
    kernel = module.make_softmax(2, pl.jit(pipeline=PipelineConfig(preload=1)))
    a, b, _, out = kernels.operands(3)
    with pytest.raises(DataRace) as race:
        kernel[None, 1](a, b, out, 3)
    message = str(race.value)
    assert str(file) in message and "bwd_ids" in message
    assert "pl.move(target, acc" in message


# -- the chain of flash attention (tile API section 5.11.1) --------------------------------------------------------------------


def test_edges_of_flash_attention():
    function = attention.make_attention(2, 3)
    (report,) = transform(function, 2).loops
    assert report.delays == (0, 1, 2, 3)
    found = {(e.kind, e.source.buffer, e.source.pipe.name, e.target.pipe.name, e.offset) for e in report.graph.edges}
    assert found == {
        ("RAW", "qk", "FIX", "V", 0),
        ("WAR", "qk", "V", "FIX", 2),
        ("RAW", "p", "MTE3", "MTE1", 0),
        ("WAR", "p", "MTE1", "MTE3", 2),
        ("RAW", "pv", "FIX", "V", 0),
        ("WAR", "pv", "V", "FIX", 2),
    }
    assert [(core, [s.edge.source.buffer for s in signals]) for core, signals in report.placement.prefire.items()] == [
        ("vector", ["qk", "pv"]),
        ("cube", ["p"]),
    ]
    assert not report.events.silent and not report.events.warnings
