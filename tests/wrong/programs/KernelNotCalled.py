from pathlib import Path

from pypto.showing import steps_of

steps_of(f"{Path(__file__).parent / 'parts' / 'silent.py'}::kernel")
