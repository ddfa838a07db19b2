"""Archives of memories and logs."""
