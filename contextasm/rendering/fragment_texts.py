"""The text of each fragment of a finished context, read off the files behind its decisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from contextasm.model import CLEAN, Context, Decision, Document
from contextasm.text.cleaning import clean_text

_ADDITIONAL = "--additional"
"""Path of the additional text of a request, which no file holds."""


class FragmentTexts:
    """Clean texts of fragments and lines of files, as people may see them."""

    def __init__(self, contexts: Iterable[Context]) -> None:
        """Of several contexts of one workspace, each file is taken as the first that opened it has it."""
        self._documents: dict[str, Document] = {}
        self._additional = ""
        for context in contexts:
            self._additional = self._additional or context.request.additional
            self._documents = {document.path: document for document in context.documents} | self._documents
        self._lines: dict[str, Sequence[str]] = {}

    @property
    def paths(self) -> Sequence[str]:
        """The files that were opened, in their order."""
        return [*self._documents]

    def lines(self, path: str) -> tuple[int, Sequence[str]]:
        """The number of the first line below the front matter of a file, and the lines from there on.

        No lines for a file that was not opened.
        """
        document = self._documents.get(path)
        if document is None:
            return 1, ()
        if path not in self._lines:
            text = document.text if document.cleaning == CLEAN else clean_text(document.text).text
            self._lines[path] = text.rstrip("\n").split("\n")
        return document.line, self._lines[path]

    def text(self, decision: Decision) -> str:
        """The lines of the file that a fragment stands for; empty where it was not opened, or is private."""
        if decision.reason.code == "private":
            return ""
        if decision.path == _ADDITIONAL:
            return clean_text(self._additional).text
        start, lines = self.lines(decision.path)
        first, last = decision.lines
        return "\n".join(lines[max(first - start, 0) : last - start + 1]) if last else ""
