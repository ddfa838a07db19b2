"""The shorter form of a Markdown file under a policy of retention. Nothing is written here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from contextasm.config.retention import CompressPolicy
from contextasm.model import AS_WRITTEN, Document, Summarizer
from contextasm.selection.detail import detail_levels
from contextasm.text.dates import day_of_name
from contextasm.text.decode import decode_document
from contextasm.text.glob import glob_matches
from contextasm.text.private_parts import withhold
from contextasm.upkeep.logs import LOG_FOLDERS
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


def is_shortenable_path(path: str) -> bool:
    """Whether a file of this path may be shortened: Markdown but logs, in which a topic finds what it found before."""
    return path.endswith((".md", ".markdown")) and dated_log_day(path) is None


def dated_log_day(path: str) -> date | None:
    """The day of a dated log, in whose archive a topic still finds it; None for any other file."""
    folder = path.rpartition("/")[0]
    return day_of_name(path) if any(glob_matches(place, folder) for place in LOG_FOLDERS) else None


def _may_be_shortened(document: Document) -> bool:
    if not is_shortenable_path(document.path) or document.gaps or SHORTENED_MARK in document.text:
        return False
    return not any(gap.reason == "private" for gap in withhold(document, None).gaps)


def _forms(document: Document, written: Document, summarizer: Summarizer | None) -> Iterator[str]:
    """Shorter texts, the preferred one first. The summarizer is given the text without secrets."""
    if summarizer and document.text.strip():
        summary = summarizer(document.text)
        if isinstance(summary, str):
            yield summary
    yield from (form.text for form in detail_levels(written.text)[1:])
