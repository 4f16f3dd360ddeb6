import os
import tempfile
from pathlib import Path

from pypto.chips import chip

os.chdir(tempfile.mkdtemp())
Path("own.toml").write_text("speed = 3")
chip("own.toml")
