"""Memory index: large pools of entries and their postings, stored in SQLite files of the workspace between builds.

Derived from files, and never the only place of an entry. Small pools are read from their files.
"""
