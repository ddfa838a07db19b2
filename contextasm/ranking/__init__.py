"""Ranking: filters, order, deduplication and conflicts of the fragments that were retrieved.

The budget is not known here; `selection` fits the best fragments into it.
"""
