"""Keeping: what writes into a workspace that is there. One at a time, each file whole or not at all."""
