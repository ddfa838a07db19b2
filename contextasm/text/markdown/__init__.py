"""The form of Markdown files: blocks, fences, comments, outline, front matter and log entries."""
