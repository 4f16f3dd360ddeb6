import pypto

a, b = pypto.tensor([8, 8], pypto.DT_FP32, "a"), pypto.tensor([8, 8], pypto.DT_FP32, "b")
with pypto.function("MAIN", a, b):
    if pypto.cond(pypto.SymbolicScalar("n") > 3):
        b[:] = a
