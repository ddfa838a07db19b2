"""Hosts: a YAML file each, and their loader."""
