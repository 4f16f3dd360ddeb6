from pypto.chips import chip

chip("no_such_file.toml")
