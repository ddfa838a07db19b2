"""The workspace: read and write the user's folder, its git revisions, locks, outputs and caches; watch it for changes.

Contents are parsed in `text`. No setting is interpreted here.
"""
