"""Rules: evaluation of their conditions, and the effects they have on layers and fragments.

Rule files are read in `config/rules/rule_files.py`, and facts are gathered in `config/rules/facts.py`.
"""
