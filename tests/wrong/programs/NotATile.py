import pypto

pypto.set_conv_tile_shapes("large")
