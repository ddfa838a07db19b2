"""File formats as pure text: Markdown, front matter, memories, events, managed blocks, patterns of paths."""
