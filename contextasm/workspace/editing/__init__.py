"""Editing of files of a workspace: one process at a time, each file whole or not at all.

A build never comes here, except for `--touch`.
"""
