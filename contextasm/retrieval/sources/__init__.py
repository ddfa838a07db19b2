"""Sources: one module for each kind of file or value that fragments come from."""
