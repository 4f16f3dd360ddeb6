
import pypto

pypto.conv
