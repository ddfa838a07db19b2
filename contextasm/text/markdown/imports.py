"""Imports in instruction files: lines such as `See @docs/style.md`, and the globs that say which files a rule is for.

Parsing only. Coding agents read `@path` in running text as the text of that file; code is not searched.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from contextasm.text.markdown.literals import literal_at
from contextasm.text.names.glob import glob_matches

_IMPORT = re.compile(r"(?<![^\s(\[*_\"'])@((?:\\ |[^\s`@()\[\]\"'<>])+)")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
_BRACES = re.compile(r"\{([^{}]*)\}")
_END_MARKS = ".,;:!?*_"
SCOPES = ("globs", "applyTo", "paths", "fileMatchPattern")
_MOST_FORMS = 64
"""Patterns that the braces of one glob may mean; the others are left out."""
_MOST_BRACES = 8
_LONGEST_LINE = 10_000
"""Characters of the longest line that is searched: no sentence is that long, and a code span may end anywhere in it."""


def find_imports(text: str) -> Iterator[tuple[int, str]]:
    """The imports of a Markdown text in their order: line, counted from 0, and path as written, without the `@`.

    Code spans, fences, comments and other HTML have none.
    """
    if "@" not in text:
        return
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        part = literal_at(lines, at)
        if part and part.kind != "doubtful":
            at = max(part.stop, at + 1)
            continue
        line = lines[at] if "@" in lines[at] and len(lines[at]) <= _LONGEST_LINE else ""
        for match in _IMPORT.finditer(blank_code_spans(line)):
            if path := match[1].rstrip(_END_MARKS).replace("\\ ", " "):
                yield at, path
        at += 1


def blank_code_spans(line: str) -> str:
    """The line with blanks in place of its code spans."""
    return _CODE_SPAN.sub(lambda match: " " * len(match[0]), line)


def imported_path(importing: str, written: str) -> str | None:
    """The path in the workspace of an import as written in the file `importing`; None for one that leads out."""
    if written.startswith(("/", "~", "\\")) or "\0" in written:
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(importing), written))
    return None if path == ".." or path.startswith("../") else path


def no_file_words(written: str, path: str) -> str:
    """The words that an import leads to no file, with the path that it means if that is another one."""
    return f"@{written} names no file" if path == written else f"@{written} leads to {path}, which is not a file"


def is_file_name(written: str) -> bool:
    """Whether what follows an `@` is meant as a file: `./x`, `~/x` and `docs/style.md` are, names of people are not."""
    return written.startswith(("./", "../", "~/", "/")) or bool(re.search(r"\.(?:md|mdc|mdx|txt)$", written))


def scope_globs(front: Mapping[str, str | Sequence[str]]) -> tuple[str, ...] | None:
    """The globs of the files that a rule is for, as its front matter names them; None if it names none."""
    written = next((front[key] for key in SCOPES if key in front), None)
    if written is None:
        return None
    texts = _outside_braces(written) if isinstance(written, str) else list(written)
    return tuple(text.strip().strip("\"'") for text in texts if text.strip())


def _outside_braces(text: str) -> list[str]:
    """The parts of a text between commas outside braces."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "{") - (letter == "}" and depth > 0)
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def is_for(glob: str, path: str) -> bool:
    """Whether a rule's glob fits a path of the workspace; one without a `/` fits a name in any folder."""
    forms, _ = _brace_forms(glob.removeprefix("./"))
    return any(glob_matches(form if "/" in form else f"**/{form}", path) for form in forms)


def glob_fault(glob: str) -> str:
    """The reason why a rule's glob fits less than it says; empty for none."""
    if _brace_forms(glob)[1]:
        return ""
    return f"its braces make more than {_MOST_FORMS} patterns, or it has more than {_MOST_BRACES} braces"


def _brace_forms(glob: str) -> tuple[Sequence[str], bool]:
    """The patterns that a glob with braces means, `*.{ts,tsx}` for two; and whether these are all of them.

    They are `_MOST_FORMS` at most, made of `_MOST_BRACES` braces.
    """
    forms, is_whole = [glob], True
    for _ in range(_MOST_BRACES):
        if not (match := _BRACES.search(forms[0])):
            break
        inner = match[1].split(",")
        is_whole = is_whole and len(forms) * len(inner) <= _MOST_FORMS
        forms = [form.replace(match[0], one, 1) for form in forms for one in inner][:_MOST_FORMS]
    return forms, is_whole and not _BRACES.search(forms[0])
