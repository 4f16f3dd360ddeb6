import torch

import pypto

a, b = pypto.tensor([4, 8], pypto.DT_FP32, "a"), pypto.tensor([4, 8], pypto.DT_FP32, "b")
with pypto.function("MAIN", a, b):
    for i in pypto.loop(4):
        b[i] = a[i]
x = pypto.from_torch(torch.zeros(4, 8))
pypto.runtime._device_run_once_data_from_host(x, pypto.from_torch(torch.tensor(1.0)))
