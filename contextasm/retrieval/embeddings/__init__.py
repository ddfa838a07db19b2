"""Embeddings: vectors by a command, a server or a local model, remembered between builds; cosines to a topic."""
