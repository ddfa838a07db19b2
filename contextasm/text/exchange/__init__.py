"""Formats in which memories come in and go out: texts in, values out, no file is opened.

`IMPORT_FORMATS` of `cli/commands/import_memories.py` is the table of the formats that come in.
"""
