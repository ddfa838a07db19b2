"""Embeddings: vectors by a command, a server or a local model, remembered between builds; cosines to a topic.

Whether an embedder may run at all is decided in `config/keys/trust.py`.
"""
