"""Checks of text: hidden characters, secrets, references, and text that the token estimate does not fit."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from contextasm.checks.finding import Finding
from contextasm.checks.inspection import Inspection, error_finding, note_finding, warning_finding
from contextasm.config.input.settings import FILE
from contextasm.model import Document
from contextasm.text.cleaning.clean import hidden_words
from contextasm.text.markdown.blocks import heading, list_mark
from contextasm.text.markdown.literals import closes_fence, fence_opening
from contextasm.text.names.archived_paths import known_paths, list_archived
from contextasm.text.names.matching import list_names

HARMFUL_KINDS = {"tag", "bidi"}
"""Kinds of hidden characters that no plain text has a use for."""


def check_hidden_characters(inspection: Inspection) -> Iterator[Finding]:
    """Report characters that a reader does not see and a model does: an error for hidden or reordered text."""
    for path, document in inspection.documents.items():
        for run in document.hidden:
            make_finding = error_finding if run.kind in HARMFUL_KINDS or run.payload else warning_finding
            hint = f"delete {'them' if run.length > 1 else 'it'}, and find out who wrote this"
            yield make_finding(path, run.line, hidden_words(run), hint)


def check_secrets(inspection: Inspection) -> Iterator[Finding]:
    """Report keys, tokens and passwords by their public prefix alone: errors, and notes for placeholders."""
    hint = (
        "have it revoked where it was issued and delete it here, git's history included; "
        "if it opens nothing, end the line with `<!-- ctxasm: allow-secret -->`"
    )
    placeholder_hint = "shorten it (`ghp_...`), or end the line with `<!-- ctxasm: allow-secret -->`"
    for path, document in inspection.documents.items():
        for secret in document.secrets:
            shown = f"({secret.kind}: {secret.masked})"
            if secret.placeholder:
                message = f"holds a placeholder with the shape of a secret {shown}"
                yield note_finding(path, secret.line, message, placeholder_hint)
            else:
                yield error_finding(path, secret.line, f"holds what looks like a secret {shown}", hint)


MAX_NON_ASCII_SHARE = 0.1
"""Share of characters outside ASCII from which on an estimate of tokens is far off."""


def check_non_ascii(inspection: Inspection) -> Iterator[Finding]:
    """Report, once, that a build reads files whose tokens the estimate may count too low."""
    if not inspection.prepared or inspection.prepared.build.request.tokenizer != "estimate":
        return
    read_paths = {document.path for context in inspection.contexts for document in context.documents}
    paths = [path for path in sorted(read_paths & inspection.documents.keys()) if _is_non_ascii(inspection, path)]
    if paths:
        path, line = inspection.setting_location("tokenizer")
        message = "files are read of which much is not ASCII, and the estimate may count too few tokens for them"
        hint = f"set `tokenizer: o200k_base` in {FILE}, which counts exactly; the files are {list_names(paths, 3)}"
        yield note_finding(path, line, message, hint)


def _is_non_ascii(inspection: Inspection, path: str) -> bool:
    text = inspection.documents[path].text
    if text.isascii():
        return False
    return sum(character > "\x7f" for character in text) >= max(20, MAX_NON_ASCII_SHARE * len(text))


# --- References ------------------------------------------------------------------------------------------------------

_MARKDOWN = (".md", ".md.gz")

_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(<?([^()\s<>]*)>?(?: \"[^\"\n]*\")?\)")
_REFERENCE_IN_CODE = re.compile(r"`([\w./-]+\.md#[^`\n]+)`")
_EXTERNAL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/~]")
_TEMPLATE = re.compile(r"[{}*$]|YYYY|\.\.\.")
"""Marks of a path that stands for others, such as `daily/YYYY-MM-DD.md`."""

_CODE_OR_COMMENT = re.compile(r"(`[^`\n]*`)|<!--.*?(?:-->|$)")


def check_references(inspection: Inspection) -> Iterator[Finding]:
    """Report links to Markdown files and headings of the workspace that do not exist."""
    for path, document in inspection.documents.items():
        if (path.endswith(_MARKDOWN) and "](" in document.text) or ".md#" in document.text:
            for line, reference in _references(document):
                yield from _broken_reference(inspection, document, line, reference)


def _references(document: Document) -> Iterator[tuple[int, str]]:
    # Links, and `file.md#heading` in code.
    for number, line in _prose_lines(document):
        yield from ((number, reference) for reference in _REFERENCE_IN_CODE.findall(line))
        without_code = re.sub(r"`[^`\n]*`", "", line)
        yield from ((number, _decode_percent_escapes(target)) for target in _LINK.findall(without_code))


def _prose_lines(document: Document) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without those of fenced and indented code, and without HTML comments."""
    fence, is_comment, is_list, is_code, is_after_blank = "", False, False, False, True
    for number, whole_line in enumerate(document.text.split("\n"), document.line):
        if fence:
            fence = "" if closes_fence(whole_line, fence) else fence
            continue
        line = whole_line
        if is_comment:
            _, end, line = whole_line.partition("-->")
            is_comment = not end
        elif opening := fence_opening(line):
            fence = opening[1]
            continue
        is_indented = line.startswith(("    ", "\t"))
        is_code = is_indented and not is_list and (is_code or is_after_blank)
        if line.strip():
            is_list = is_list if is_indented else bool(list_mark(line)) or (is_list and line[0] == " ")
        is_after_blank = not line.strip()
        if not is_code:
            without_comments = _CODE_OR_COMMENT.sub(lambda match: match[1] or "", line)
            is_comment = is_comment or _opens_comment(line)
            yield number, without_comments


def _opens_comment(line: str) -> bool:
    comments = [match[0] for match in _CODE_OR_COMMENT.finditer(line) if not match[1]]
    return bool(comments) and not comments[-1].endswith("-->")


def _decode_percent_escapes(target: str) -> str:
    def decode(escapes: re.Match[str]) -> str:
        return bytes.fromhex(escapes[0].replace("%", "")).decode("utf-8", "replace")

    return re.sub("(?:%[0-9A-Fa-f]{2})+", decode, target)


def _broken_reference(inspection: Inspection, document: Document, line: int, reference: str) -> Iterator[Finding]:
    file, _, anchor = reference.partition("#")
    is_path = not (_EXTERNAL.match(reference) or _TEMPLATE.search(file) or "\0" in file)
    if not is_path or not (file.endswith(".md") or (anchor and not file)):
        return
    paths = _referred_paths(document.path, file)
    if not paths:
        return
    places = chain(paths, chain.from_iterable(list_archived(inspection.workspace, path) for path in paths))
    results = map(inspection.workspace.read, places)
    target = next((result for result in results if isinstance(result, Document)), None)
    if not target:
        message = f"refers to {reference}, and there is no file {paths[0]}"
        hint = "correct the path (from this file's folder, or from the workspace), or take the reference out"
        yield warning_finding(document.path, line, message, hint)
    elif anchor and not _has_heading(target, anchor):
        message = f"refers to {reference}, and {target.path} has no such heading"
        yield warning_finding(document.path, line, message, "name a heading that it has, or take the reference out")


def _referred_paths(path: str, file: str) -> Sequence[str]:
    """Inner paths that a reference in a file may mean: from its folder, those before it was archived, and the top."""
    places = known_paths(path)
    relative = [posixpath.join(posixpath.dirname(place), file) if file else path for place in places]
    paths = dict.fromkeys(map(posixpath.normpath, (*relative, file or path)))
    return [each for each in paths if not each.startswith("..")]


def _has_heading(document: Document, anchor: str) -> bool:
    # The anchor is the heading itself, or the one that GitHub makes of it.
    slug_counts: Counter[str] = Counter()
    folded_anchor = anchor.strip().casefold()
    for line in document.text.split("\n"):
        if title := heading(line):
            words = title[1].casefold()
            slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            numbered_slug = f"{slug}-{slug_counts[slug]}" if slug_counts[slug] else slug
            slug_counts[slug] += 1
            if folded_anchor in {words, slug, numbered_slug}:
                return True
    return False
