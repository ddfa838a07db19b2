"""Memory index: large pools of entries and their postings, stored in the person's cache folder between builds.

Derived from files, and never the only place of an entry. Small pools are read from their files.
"""
