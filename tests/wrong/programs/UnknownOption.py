import pypto

pypto.set_options(runtime_options={"run_mod": 1})
