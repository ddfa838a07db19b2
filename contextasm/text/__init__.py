"""Texts as pure functions: file formats (Markdown, memories, events and others), paths, dates, similarity.

No file is opened and no layer is known here.
"""
