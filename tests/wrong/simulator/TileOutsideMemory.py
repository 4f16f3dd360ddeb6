from pypto.cores.enums import CoreType, MemorySpace
from pypto.cores.program import CoreProgram, DeclareTile, TileProgram
from pypto.cores.types import Tile
from pypto.dtypes import DataType
from pypto.sim import simulate

left = DeclareTile("left", Tile((128, 256), DataType.DT_FP32, MemorySpace.Left), 512)
simulate(TileProgram("kernel", (), CoreProgram(CoreType.CUBE, (left,))), {})
