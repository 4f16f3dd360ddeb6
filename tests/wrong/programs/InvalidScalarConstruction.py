import pypto

pypto.SymbolicScalar([1])
