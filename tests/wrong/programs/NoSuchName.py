
import pypto

pypto.sofmax
