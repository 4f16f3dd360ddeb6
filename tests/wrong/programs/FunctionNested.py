import pypto

a = pypto.tensor([4, 8], pypto.DT_FP32, "a")
with pypto.function("OUTER", a):
    with pypto.function("INNER", a):
        pass
