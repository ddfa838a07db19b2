"""Texts as pure functions: file formats (Markdown, memories, events, managed blocks and others), paths, dates, similarity.

No file is opened and no layer is known here.
"""
