"""The automatic cube/vector pipeline: ``pl.pipeline``.

``stage`` marks the functions of a pipeline, ``PipelineConfig`` says how far it runs ahead, ``transform_pipeline`` rewrites the kernel.
"""

from pypto_pro.pipeline.config import PipelineConfig, stage
from pypto_pro.pipeline.transform import LoopReport, Transformed, transform_pipeline

__all__ = ["LoopReport", "PipelineConfig", "Transformed", "stage", "transform_pipeline"]
