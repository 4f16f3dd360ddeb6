import pypto

pypto.SymbolicScalar("n") + "1"
