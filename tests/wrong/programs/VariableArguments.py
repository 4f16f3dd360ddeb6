import numpy as np

import pypto


@pypto.frontend.jit
def kernel(*tensors):
    tensors[0][:] = tensors[1] + 1.0


kernel(np.zeros(4, np.float32), np.ones(4, np.float32))
