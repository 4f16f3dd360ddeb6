import pypto

pypto.set_pass_options(ooo_sched_mode="FAST")
