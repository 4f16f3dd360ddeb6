import pypto

int(pypto.SymbolicScalar("n") + 1)
