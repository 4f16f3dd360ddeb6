import pypto

a, b = pypto.tensor([8, 8], pypto.DT_FP32, "a"), pypto.tensor([8, 8], pypto.DT_FP32, "b")
with pypto.function("MAIN", a, b):
    for i in pypto.loop(8):
        row = a[i : i + 1, :]
        for bit in range(7):
            if pypto.cond(i > bit):
                row = row + 1.0
        b[i : i + 1, :] = row
