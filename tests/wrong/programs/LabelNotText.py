import pypto

pypto.set_semantic_label(3)
