"""Real kernels of the tile level, each file one example: the kernel, what it computes in torch, and the cases it is run with.

``CASES`` are all of them. The tests run every case under many schedules, and with every synchronisation deleted once.
"""

from kernels import (
    attention,
    chains,
    elementwise,
    gathering,
    layer_norm,
    matmul,
    matmul_parts,
    quantised,
    softmax,
    top_k,
    transposition,
    two_loops,
)

MODULES = (
    elementwise,
    softmax,
    layer_norm,
    transposition,
    gathering,
    top_k,
    matmul,
    matmul_parts,
    quantised,
    chains,
    two_loops,
    attention,
)
CASES = [case for module in MODULES for case in module.cases()]
