"""Formats in which memories come in and go out: texts in, values out, no file is opened.

`formats.py` is the table of the formats.
"""
