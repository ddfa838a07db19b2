"""Upkeep: what is to be done so that memories and logs stay worth reading, how it is done, and how it is taken back."""
