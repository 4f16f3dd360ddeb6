from pypto.cores.enums import CoreType, MemorySpace
from pypto.cores.program import CoreProgram, DeclareTile, TileProgram
from pypto.cores.types import Tile
from pypto.dtypes import DataType
from pypto.sim import simulate

left = DeclareTile("left", Tile((16, 16), DataType.DT_FP16, MemorySpace.Left), 256)
simulate(TileProgram("kernel", (), CoreProgram(CoreType.CUBE, (left,))), {})
