import torch

import pypto

pypto.from_torch(torch.zeros(4, dtype=torch.complex64))
