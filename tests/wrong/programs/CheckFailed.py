import pypto

pypto.check(1 > 2, "one is not larger than two")
