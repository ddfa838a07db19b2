"""Names of files: patterns, templates, dates and what a mistyped name may have meant."""
