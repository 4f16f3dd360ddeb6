"""``PipelineConfig`` and ``stage`` as users hold them."""

import dataclasses

import pytest

import pypto_pro.language as pl
from pypto.errors.pipeline import PreloadInvalid


def test_defaults_and_lists():
    assert pl.pipeline.PipelineConfig().preload == 2
    assert pl.pipeline.PipelineConfig(preload=[0, 2]).preload == (0, 2)
    assert pl.pipeline.PipelineConfig(preload=(1,)).preload == (1,)
    assert hash(pl.pipeline.PipelineConfig(preload=[1, 2])) == hash(pl.pipeline.PipelineConfig(preload=(1, 2)))
    assert pl.pipeline.PipelineConfig(preload=[1, 2]) == pl.pipeline.PipelineConfig(preload=(1, 2))


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        pl.pipeline.PipelineConfig().preload = 3


def test_sync_only_is_preload_zero():
    assert pl.pipeline.PipelineConfig(sync_only=True).preload == 0


def test_automatic():
    assert pl.pipeline.PipelineConfig(preload="auto").automatic
    assert not pl.pipeline.PipelineConfig(preload=0).automatic


@pytest.mark.parametrize("preload", [-1, True, 1.0, "2", None, [], (), [1, -1], [True], [1, 2.5], ["auto"], [[1]]])
def test_refused(preload):
    with pytest.raises(PreloadInvalid, match="pipeline: preload must be"):
        pl.pipeline.PipelineConfig(preload=preload)


def test_stage_leaves_the_function_alone():
    def work(x):
        return x + 1

    assert pl.pipeline.stage(work) is work
    assert work.pipeline_stage is True and work(1) == 2
