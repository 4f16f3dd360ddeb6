from pypto.showing import steps_of

steps_of("script.py")
