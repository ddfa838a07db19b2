"""Imports as a host finds them in a text, by its own rule: a build follows others, too."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from contextasm.config.hosts.loader import ImportRule
from contextasm.text.markdown.imports import blank_code_spans
from contextasm.text.markdown.literals import indent_of, literals


def find_host_imports(text: str, rule: ImportRule) -> Iterator[tuple[int, str]]:
    """The imports of a text in their order: line, counted from 1, and path as written, without the `@`."""
    if "@" not in text:
        return
    lines = text.removeprefix("\ufeff").split("\n")
    for part in [*literals(lines)]:
        if part.kind == "fence" or (part.kind != "doubtful" and not rule.in_html):
            # What follows a comment in its last line is text.
            rest = lines[part.stop - 1].rpartition("-->")[2] if part.kind == "comment" and part.is_closed else ""
            lines[part.first : part.stop] = [*[""] * (part.stop - part.first - 1), rest]
    is_code = not rule.in_indented
    for number, line in enumerate(lines):
        if line.strip():
            is_code = not rule.in_indented and indent_of(line) >= 4 and (is_code or not lines[number - 1].strip())
        if "@" not in line or is_code:
            continue
        for match in re.finditer(rule.pattern, blank_code_spans(line)):
            path = match[1].replace("\\ ", " ")
            ending = posixpath.splitext(path)[1].lower()
            if not (rule.endings and ending) or ending in rule.endings:
                yield number + 1, path
