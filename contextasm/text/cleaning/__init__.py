"""Texts as anybody may see them: decoded, without hidden characters, secrets and private parts."""
