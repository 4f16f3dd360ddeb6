"""What one core of the machine knows: memory spaces, pipes, tile types, and the program it is told to run."""
