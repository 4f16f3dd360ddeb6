import pypto

pypto.conv
