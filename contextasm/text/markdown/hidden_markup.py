"""Parts of a Markdown text that no page shows and a model reads: comments, hidden elements, links as comments."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate

from contextasm.text.markdown.blocks import Comment, code_lines, comments

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

_CODE = re.compile(r"(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")


def hidden_markup(text: str) -> list[Comment]:
    """The comments, hidden elements and comments in the form of links of a text in its order, none within another.

    An element that is never closed is text, as such a comment is.
    """
    found = [*comments(text)]
    if "]:" in text or "hidden" in text.lower() or "style" in text.lower():
        lines = text.split("\n")
        starts = [0, *accumulate(len(line) + 1 for line in lines)]
        code = code_lines(lines)
        # Code and comments are blanked, so that nothing in them is taken for markup.
        blank = "\n".join(
            " " * len(line) if number in code else _CODE.sub(lambda span: " " * len(span[0]), line)
            for number, line in enumerate(lines)
        )
        pieces, at = list[str](), 0
        for comment in found:
            start, end = starts[comment.line] + comment.start, starts[comment.last] + comment.end
            pieces += blank[at:start], re.sub(r"[^\n]", " ", blank[start:end])
            at = end
        blank = "".join([*pieces, blank[at:]])
        spans = [*(match.span() for match in _LINK_COMMENT.finditer(blank)), *_hidden_elements(blank)]
        found = _outer([*found, *(_comment(span, starts) for span in spans)])
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


def _comment(span: tuple[int, int], starts: Sequence[int]) -> Comment:
    line, last = bisect_right(starts, span[0]) - 1, bisect_right(starts, span[1] - 1) - 1
    return Comment(line, span[0] - starts[line], last, span[1] - starts[last])


def _outer(found: Sequence[Comment]) -> list[Comment]:
    """The parts that are not within another one."""
    outer: list[Comment] = []
    for part in sorted(found, key=lambda part: (part.line, part.start, -part.last, -part.end)):
        if not outer or (part.line, part.start) >= (outer[-1].last, outer[-1].end):
            outer.append(part)
    return outer
