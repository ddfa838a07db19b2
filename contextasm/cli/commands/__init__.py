"""The commands: one module each, with a function `run`.

A command calls other rooms and writes their results. Parts that several share are in `cli/options.py` and others.
"""
