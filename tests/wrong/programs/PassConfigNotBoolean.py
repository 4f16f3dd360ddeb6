import pypto

pypto.set_pass_default_config(pypto.PassConfigKey.KEY_DUMP_GRAPH, 1)
