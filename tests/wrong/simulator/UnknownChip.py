from pypto.chips import chip

chip("911")
