"""The CPU engine: fusion, loop nests, LLVM text, matrix multiplication, threads, linking."""
