"""``python -m pypto`` is the command ``pypto``."""

import sys

from pypto.cli import main

if __name__ == "__main__":
    sys.exit(main())
