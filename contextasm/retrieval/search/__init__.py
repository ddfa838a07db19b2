"""Search by words: text analysis, the inverted index, BM25 similarity, and its fusion with similarity by embeddings.

Texts in, figures out: no memory and no file is known here.
"""
