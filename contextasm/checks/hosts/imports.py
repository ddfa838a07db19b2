"""Imports as a host finds them in a text, by its own rule: a build follows others, too."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from contextasm.config.hosts.loader import ImportRule
from contextasm.text.markdown.imports import blank_code_spans, find_imports, is_file_name
from contextasm.text.markdown.literals import indent_of, literals


def find_host_imports(text: str, rule: ImportRule | None) -> Iterator[tuple[int, str, bool]]:
    """The imports of a text by line: line, counted from 1, path without the `@`, and whether the host follows it.

    One that the host does not follow names a file, and a build follows it.
    """
    if not rule or "@" not in text:
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
        found = [match[1].replace("\\ ", " ") for match in re.finditer(rule.pattern, blank_code_spans(line))]
        endings = ("", *rule.endings)
        followed = [path for path in found if not rule.endings or posixpath.splitext(path)[1].lower() in endings]
        others = [path for _, path in find_imports(line) if is_file_name(path) and path not in followed]
        for path in (*followed, *others):
            yield number + 1, path, path in followed
