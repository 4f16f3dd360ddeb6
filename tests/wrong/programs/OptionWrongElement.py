import pypto

pypto.set_debug_options(dump_pass_graph=["a", 1])
