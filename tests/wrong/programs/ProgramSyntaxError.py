from pypto.ir.parse import parse_program

parse_program("program broken(")
