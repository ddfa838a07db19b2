"""Retrieval: sources, search by words, embeddings and the memory index, which find the fragments of each layer."""
