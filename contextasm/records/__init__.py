"""Say in one sentence what this room holds."""
