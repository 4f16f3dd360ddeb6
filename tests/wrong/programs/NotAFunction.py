import pypto

pypto.frontend.jit(3)
