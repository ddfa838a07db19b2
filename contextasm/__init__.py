"""ctxasm: assembles the context an LLM agent starts from, out of a folder of Markdown files."""

__version__ = "0.1.0"
