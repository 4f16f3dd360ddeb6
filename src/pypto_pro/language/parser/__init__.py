"""``pl.parser``: reading kernels from text, and what can be wrong with them."""

from pypto_pro.language.parser import diagnostics
from pypto_pro.runtime.texts import loads, loads_program, parse, parse_program

__all__ = ["diagnostics", "loads", "loads_program", "parse", "parse_program"]
