import pypto

pypto.SymbolicScalar("n") // 0
