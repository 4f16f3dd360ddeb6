import numpy as np

from pypto.cores.types import Tile
from pypto.dtypes import DataType
from pypto.sim.memory import tile_over

tile = tile_over(np.zeros(1024, np.uint8), Tile((16, 16), DataType.DT_FP32), 0, name="x")
tile.read_block(8, 0, 9, 16)
