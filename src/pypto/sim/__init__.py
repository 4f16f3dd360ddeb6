"""The simulator: cores, pipes and memories of the machine, with values, time and hazards.

>>> from pypto.sim import simulate  # simulate(program, {"x": x, "out": out}).cycles
"""

from pypto.sim.result import Event, Gap, Simulation
from pypto.sim.run import simulate

__all__ = ["Event", "Gap", "Simulation", "simulate"]
