"""The input of upkeep and the actions that it plans."""
