"""Plans for memories: states, duplicates and consolidation."""
