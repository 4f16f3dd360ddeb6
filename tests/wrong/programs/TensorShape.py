import pypto

pypto.Tensor([4, "rows"], pypto.DT_FP32)
