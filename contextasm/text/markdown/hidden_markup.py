"""Parts of a Markdown text that no page shows and a model reads: comments, hidden elements, links as comments."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from contextasm.text.markdown.blocks import blank_code, comments

_LINK_COMMENT = re.compile(
    r"^ {0,3}\[[^\]\n]{1,80}\]:[ \t]*(?:\#|<\#?>)[ \t]+(?:\([^\n]*\)|\"[^\n]*\"|'[^\n]*')[ \t]*$", re.MULTILINE
)
"""The definition of a link to nowhere, such as `[//]: # (words)` and `[comment]: <> (words)`."""

_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][\w-]*)(?P<attributes>(?:\s[^<>]*)?)>")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_HIDDEN = re.compile(r"\shidden(?=[\s=/]|$)", re.IGNORECASE)
_HIDDEN_STYLE = re.compile(
    r"\sstyle\s*=\s*[\"']?[^\"']{0,200}?(?:display\s*:\s*none|visibility\s*:\s*hidden|(?:opacity|font-size)\s*:\s*0(?![.\d]*[1-9]))",
    re.IGNORECASE,
)
_EMPTY = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"}
"""Elements without an end."""

_CODE = re.compile(r"\\[^\w\s]|(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")
"""Code within a line, or an escaped sign."""


def hidden_markup(text: str) -> list[tuple[int, int]]:
    """Start and end, in characters, of each comment, hidden element and comment in the form of a link.

    They are in the order of the text, none within another. An element that is never closed is text, as such a comment
    is.
    """
    found = [*comments(text)]
    if "]:" in text or "hidden" in text.lower() or "style" in text.lower():
        # Code, escapes and comments are blanked, so that nothing in them is taken for markup.
        code_blanked = _CODE.sub(lambda span: " " * len(span[0]), blank_code(text))
        pieces, at = list[str](), 0
        for start, end in found:
            pieces += code_blanked[at:start], re.sub(r"[^\n]", " ", code_blanked[start:end])
            at = end
        blanked = "".join([*pieces, code_blanked[at:]])
        links = (match.span() for match in _LINK_COMMENT.finditer(blanked))
        found = _outer([*found, *links, *_hidden_elements(blanked)])
    return found


def _hidden_elements(text: str) -> Iterator[tuple[int, int]]:
    open_tags: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for tag in _TAG.finditer(text):
        name, attributes = tag["name"].lower(), tag["attributes"]
        if tag["close"]:
            start, is_hidden = open_tags[name].pop() if open_tags[name] else (0, False)
            if is_hidden:
                yield start, tag.end()
        elif name in _EMPTY or attributes.endswith("/"):
            if _is_hidden(attributes):
                yield tag.span()
        else:
            open_tags[name].append((tag.start(), _is_hidden(attributes)))


def _is_hidden(attributes: str) -> bool:
    return bool(attributes and (_HIDDEN.search(_QUOTED.sub("''", attributes)) or _HIDDEN_STYLE.search(attributes)))


def _outer(found: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts that are not within another one."""
    outer: list[tuple[int, int]] = []
    for start, end in sorted(found, key=lambda part: (part[0], -part[1])):
        if not outer or start >= outer[-1][1]:
            outer.append((start, end))
    return outer
