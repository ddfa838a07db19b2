"""Revisions and the index of a git repository."""
