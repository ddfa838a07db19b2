"""Secrets in a text: `scanner` finds and masks them, and the other modules serve it."""
