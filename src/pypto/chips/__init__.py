"""Chips as data: ``chip("950")``, ``chip("a2")``, or a file of the user's own.

>>> chip("a5").name
'950'
"""

from pypto.chips.catalogue import chip, names
from pypto.chips.model import Chip, Memory, Rate

__all__ = ["Chip", "Memory", "Rate", "chip", "names"]
