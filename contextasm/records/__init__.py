"""Records: builds recorded, replayed and compared, and one line of a file traced through a build.

No record is needed for a build: nothing here changes a context.
"""
