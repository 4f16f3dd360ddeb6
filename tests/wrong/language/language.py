import pypto_pro
import pypto_pro.language as pl

OUT = pl.Tensor[[16], pl.DT_INT64]
VEC = pl.TileType([16, 64], pl.DT_FP32)


def OutsideKernel():
    pl.add(1, 2, 3)


def OutsideKernel__system():
    pl.system.bar_all()


def UnknownLanguageName():
    pl.lod


def RegisterLevel(out: OUT):
    register = vf.load_align(out)


@pl.vector_function
def scale(tile):
    pass


def RegisterLevel__function(out: OUT):
    tile = pl.make_tile(VEC, addr=0)
    scale(tile)


def RegisterLevel__class():
    pl.Vf.add


def SimtLevel(out: OUT):
    pl.simt.launch(out)


@pl.simt.function
def threads(out):
    pass


def SimtLevel__function(out: OUT):
    threads(out)


def NoCodegen():
    pypto_pro.codegen.generate
