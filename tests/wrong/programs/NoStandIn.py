import torch

from pypto import compat

compat.install()
torch.npu.unheard_of()
