"""Sources: one module for each kind of file or value that fragments come from.

Their table is in `retrieval/retrieve.py`. No source knows another.
"""
