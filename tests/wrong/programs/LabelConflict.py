import pypto

pypto.set_semantic_label("func1_2")
