"""Data files of a workspace: tables of rows, tasks, events of a session, feedback and the approval lock."""
