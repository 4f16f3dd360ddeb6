import pypto

pypto.set_cube_tile_shapes([32, 48], [16, 16], [16, 16])
