import pypto

pypto.raise_error("OddError", "text")
