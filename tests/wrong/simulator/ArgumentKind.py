from pypto.cores.enums import CoreType
from pypto.cores.program import CoreProgram, Parameter, TileProgram
from pypto.cores.types import Scalar
from pypto.dtypes import DataType
from pypto.sim import simulate

program = TileProgram("kernel", (Parameter("n", Scalar(DataType.DT_INT32)),), None, CoreProgram(CoreType.VECTOR, ()))
simulate(program, {"n": "three"})
