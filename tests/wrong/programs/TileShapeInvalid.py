import pypto

pypto.set_vec_tile_shapes(4, 0)
