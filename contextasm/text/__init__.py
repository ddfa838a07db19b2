"""Text in, text out: front matter, blocks, memories, cuts. Positions are kept, nothing is rewritten."""
