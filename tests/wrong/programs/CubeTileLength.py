import pypto

pypto.set_cube_tile_shapes([16], [16, 16], [16, 16])
