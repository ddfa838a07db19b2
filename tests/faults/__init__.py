"""Faults: workspaces, disks and files that fail at a step of a build or of a write."""
