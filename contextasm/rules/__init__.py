"""Rules: evaluation of their conditions, and the effects they have on layers and fragments.

Rule files are read in `config/rules.py`, and facts are gathered in `config/facts.py`.
"""
