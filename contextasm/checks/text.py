"""Checks of the text itself: what a reader does not see, what nobody should, references, and how it is counted."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection, error_finding, note_finding, warning_finding, whole_text
from contextasm.model import Document
from contextasm.text.hidden_characters import find_hidden as hidden_runs
from contextasm.text.markdown import closes_fence, fence_opening, heading
from contextasm.text.secret_scanner import find_secrets

GRAVE = {"tag", "bidi"}
"""Hidden characters that no plain text has a use for."""

QUOTED_LENGTH = 200
"""Characters of a payload that are shown."""


def check_hidden_characters(scene: Inspection) -> Iterator[Finding]:
    """Characters that a reader does not see and a model does: an error where they say or reorder something."""
    for path, document in scene.documents.items():
        for run in hidden_runs(whole_text(document)):
            tell = error_finding if run.kind in GRAVE or run.payload else warning_finding
            said = run.payload if len(run.payload) <= QUOTED_LENGTH else run.payload[:QUOTED_LENGTH] + "..."
            count = f"{run.length} hidden characters" if run.length > 1 else "a hidden character"
            message = f"{count} ({run.kind}: {run.codes})" + (f' that say "{said}"' if said else "")
            hint = f"delete them from column {run.column} on" if run.length > 1 else f"delete it at column {run.column}"
            yield tell(path, run.line, message, hint + ", and find out who wrote this")


def check_secrets(scene: Inspection) -> Iterator[Finding]:
    """Keys, tokens and passwords; never shown beyond their public prefix."""
    for path, document in scene.documents.items():
        for found in find_secrets(whole_text(document)):
            hint = (
                "have it revoked where it was issued and delete it here, git's history included; "
                "if it opens nothing, end the line with `<!-- ctxasm: allow-secret -->`"
            )
            yield error_finding(
                path, found.line, f"holds what looks like a secret ({found.kind}: {found.masked})", hint
            )


NON_ASCII = 0.1
"""The share of characters outside ASCII from which on an estimate is far off."""


def check_non_ascii(scene: Inspection) -> Iterator[Finding]:
    """Files that are shown and that a quarter of the length is no measure of."""
    if not scene.job or scene.job.build.request.tokenizer != "estimate":
        return
    read = {document.path for context in scene.contexts for document in context.documents}
    for path in sorted(read & scene.documents.keys()):
        text = scene.documents[path].text
        if not text.isascii() and sum(letter > "\x7f" for letter in text) >= max(20, NON_ASCII * len(text)):
            hint = "set `tokenizer: o200k_base` in ctxasm.yaml, which counts exactly"
            yield note_finding(
                path, 0, "much of it is not ASCII, and the estimate may count too few tokens for it", hint
            )


# --- References ------------------------------------------------------------------------------------------------------

_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(<?([^()\s<>]*)>?(?: \"[^\"\n]*\")?\)")
_CODE = re.compile(r"`([\w./-]+\.md#[^`\n]+)`")
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/")


def check_references(scene: Inspection) -> Iterator[Finding]:
    """Links to Markdown files and headings of the workspace that are not there."""
    for path, document in scene.documents.items():
        if (path.endswith(".md") and "](" in document.text) or ".md#" in document.text:
            for line, written in _references(document):
                yield from _broken(scene, document, line, written)


def _references(document: Document) -> Iterator[tuple[int, str]]:
    """Every link, and every `file.md#heading` in code, with its line; fenced code is left aside."""
    fence = ""
    for number, line in enumerate(document.text.split("\n"), document.line):
        if fence:
            fence = "" if closes_fence(line, fence) else fence
        elif found := fence_opening(line):
            fence = found[1]
        else:
            yield from ((number, written) for written in _CODE.findall(line))
            bare = re.sub(r"`[^`\n]*`", "", line)
            yield from ((number, _plain(written)) for written in _LINK.findall(bare))


def _plain(written: str) -> str:
    """A link's target with its per cent escapes undone."""

    def plain(found: re.Match[str]) -> str:
        return bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace")

    return re.sub("(?:%[0-9A-Fa-f]{2})+", plain, written)


def _broken(scene: Inspection, document: Document, line: int, written: str) -> Iterator[Finding]:
    """The finding of a reference that leads nowhere."""
    file, _, anchor = written.partition("#")
    if _ELSEWHERE.match(written) or "\0" in file or not (file.endswith(".md") or (anchor and not file)):
        return
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(document.path), file)) if file else document.path
    paths = [path for path in dict.fromkeys((beside, posixpath.normpath(file or beside))) if not path.startswith("..")]
    if not paths:
        return
    read = next((each for path in paths if isinstance(each := scene.workspace.read(path), Document)), None)
    if not read:
        hint = "correct the path (from this file's folder, or from the workspace), or take the reference out"
        yield warning_finding(document.path, line, f"refers to {written}, and there is no file {paths[0]}", hint)
    elif anchor and not _has_heading(read, anchor):
        hint = "name a heading that it has, or take the reference out"
        yield warning_finding(document.path, line, f"refers to {written}, and {read.path} has no such heading", hint)


def _has_heading(document: Document, anchor: str) -> bool:
    """Whether a text has a heading of these words, or of this anchor as GitHub makes it of the words."""
    seen: Counter[str] = Counter()
    wanted = anchor.strip().casefold()
    for line in document.text.split("\n"):
        if title := heading(line):
            words = title[1].casefold()
            made = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            numbered = f"{made}-{seen[made]}" if seen[made] else made
            seen[made] += 1
            if wanted in {words, made, numbered}:
                return True
    return False
