"""A shared store: memories as rows of a PostgreSQL database, and a replica of them as Markdown pages in the workspace.

Reading goes on in the replica; nothing here ranks or selects. A build without a store loads nothing of this.
"""
