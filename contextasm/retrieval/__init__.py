"""Retrieval: sources, search by words, embeddings and the memory index, which find the fragments of each layer.

Files come from the workspace of the build. Fragments that a source rules out stay, with their reason; no fragment is
ranked or shortened here.
"""
