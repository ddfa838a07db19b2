"""Checks of a workspace: settings, dates, memories, budgets, text and outputs, with the findings and their formats."""
