"""Output formats of a context, markers of omitted text, tables, and the wording of every reason and problem."""
