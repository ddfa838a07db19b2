"""Plans of retention policies."""
