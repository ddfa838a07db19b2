"""Memory index: large memory pools and their postings, stored in SQLite files of the workspace between builds."""
