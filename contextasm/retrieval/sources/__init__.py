"""Sources: one module for each kind of file or value that fragments come from.

Their table is in `retrieval/registry.py`. No source knows another.
"""
