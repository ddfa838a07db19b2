"""The command line: options and words in, text and exit codes out.

Options of a request are only typed here; `config` checks and resolves them.
"""
