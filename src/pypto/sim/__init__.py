"""The simulator: cores, pipes and memories of the machine, with values, time and hazards."""
