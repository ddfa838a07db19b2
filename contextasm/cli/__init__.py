"""The command line: options and words in, text and exit codes out."""
