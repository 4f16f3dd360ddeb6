import pypto

pypto.SymbolicScalar("n") ** 2
