"""Pools of memories and log lines that a layer draws from, with an index or without."""
