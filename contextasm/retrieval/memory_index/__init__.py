"""Memory index: large memory pools and their postings, stored in SQLite files of the workspace between builds.

Derived from files, and never the only place of a memory. Small pools are read from their files.
"""
