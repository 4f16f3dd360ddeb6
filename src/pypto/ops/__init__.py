"""What an operation is: the table, and one file per family. Importing the package fills the table."""
