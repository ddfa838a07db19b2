"""Tests of the room `upkeep`."""
