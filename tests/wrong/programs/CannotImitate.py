import torch

from pypto import compat

compat.install()
torch.npu.NPUGraph()
