import pypto

a = pypto.tensor([4, 8], pypto.DT_FP32, "a")
b = pypto.exp(a)
