import numpy as np

import pypto

import torch

pypto.from_torch(torch.zeros(4, 8).T)
