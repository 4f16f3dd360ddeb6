import pypto

pypto.sofmax
