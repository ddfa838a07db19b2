"""Ranking: filters, order, deduplication and conflicts of the fragments that were retrieved."""
