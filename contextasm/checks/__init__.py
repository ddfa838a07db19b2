"""Checks of a workspace: settings, dates, memories, budgets, text and outputs, with the findings and their formats.

Nothing is corrected here, and only a baseline is compared with findings. Problems of one build come from the steps.
"""
