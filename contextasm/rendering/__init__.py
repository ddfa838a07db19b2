"""Rendering: output formats of a context, markers of omitted text, tables, and the wording of reasons and problems.

Nothing is chosen or shortened here, and nothing is printed.
"""
