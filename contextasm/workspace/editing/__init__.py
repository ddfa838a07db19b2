"""Edit files of a workspace: one process at a time, each file whole or not at all."""
