"""Profiles: the shipped ones, and how layers are loaded, overridden and chosen for a folder."""
