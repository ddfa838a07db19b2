"""The shorter form of a Markdown file under a policy of retention. Nothing is written here."""

from __future__ import annotations

from collections.abc import Iterator

from contextasm.config.retention import CompressPolicy
from contextasm.model import AS_WRITTEN, Document, Summarizer
from contextasm.selection.detail import detail_levels
from contextasm.text.decode import decode_document
from contextasm.text.private_parts import withhold
from contextasm.workspace.editing.files import EditableFile

SHORTENED_MARK = "<!-- Shortened by ctxasm tidy; the archive beside this file has the full text. -->"
"""Last line of a file that was shortened; a file that has it is not shortened again. Builds leave comments out."""


def shortened_data(document: Document, compress: CompressPolicy, summarizer: Summarizer | None) -> bytes | None:
    """The bytes of a file in a shorter form; None where no form keeps to the ratio of the policy.

    With `summarize`, the summarizer's words go first, if there are any. Else the form is the fullest level of detail
    that is short enough. Front matter stays. No file is shortened twice, and none with a managed block or with private
    parts, since a shorter form could lose the mark that makes them private.
    """
    written = decode_document(document.path, document.data, AS_WRITTEN)
    if not isinstance(written, Document) or not _may_be_shortened(written):
        return None
    file = EditableFile(document.path, document.data)
    most = compress.ratio * len(document.data)
    for text in _forms(document, written, summarizer if compress.summarize else None):
        data = file.mark + file.encoded(f"{written.head}{text.rstrip()}\n\n{SHORTENED_MARK}\n")
        if text.strip() and len(data) <= most:
            return data
    return None


def _may_be_shortened(document: Document) -> bool:
    is_markdown = document.path.endswith((".md", ".markdown"))
    has_private_parts = any(gap.reason == "private" for gap in withhold(document, None).gaps)
    return is_markdown and not document.gaps and not has_private_parts and SHORTENED_MARK not in document.text


def _forms(document: Document, written: Document, summarizer: Summarizer | None) -> Iterator[str]:
    """Shorter texts, the preferred one first. The summarizer is given the text without secrets."""
    if summarizer and document.text.strip():
        summary = summarizer(document.text)
        if isinstance(summary, str):
            yield summary
    yield from (form.text for form in detail_levels(written.text)[1:])
