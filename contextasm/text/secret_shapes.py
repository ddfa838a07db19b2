"""Shapes of secrets that stand in one line, and the search for one of them.

A shape is *common* or *wider*. Everything of a common shape is a secret, and a placeholder among them is marked. A
wider shape also fits other texts, so placeholders of it are no secrets.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from contextasm.text.secret_placeholders import always, has_random_body, is_stand_in


class SecretSpan(NamedTuple):
    """Place of a secret in a text."""

    start: int
    end: int
    """Offset behind the last character."""
    kind: str
    prefix: str
    """Public beginning of the secret, four characters at most."""
    placeholder: bool


class Shape(NamedTuple):
    """Shape of a kind of secret."""

    kind: str
    anchors: tuple[str, ...]
    """Texts of which one begins every match; without any, the pattern itself is searched for where `clue` is found."""
    pattern: re.Pattern[str]
    """The group `secret` is the secret, else the whole match. No repeat without a bound gives back what it took."""
    is_secret: Callable[[re.Match[str]], bool]
    """Whether a match is a secret at all."""
    is_real: Callable[[re.Match[str]], bool]
    """Whether a secret is no placeholder."""
    wider: bool = False
    """Placeholders are no secrets."""
    folded: bool = False
    """Anchors are in small letters and stand for any case."""
    long: bool = False
    """The secret goes on behind the bound of the pattern, to the end of the word."""
    clue: re.Pattern[str] | None = None
    """A part of every match that begins with one certain character, which is found faster."""


def shape_spans(text: str, folded_text: str, shape: Shape) -> Iterator[SecretSpan]:
    """The secrets of one shape, in the order of each anchor.

    `folded_text` is the text in small letters, of the same length.
    """
    for anchor in shape.anchors:
        prefix = "" if shape.folded else anchor[:4]
        for start, end, match in _anchored_matches(folded_text if shape.folded else text, text, anchor, shape):
            own_prefix = prefix if text.startswith(prefix, start) else ""
            yield SecretSpan(start, end, shape.kind, own_prefix, not shape.is_real(match))
    if shape.clue and shape.clue.search(text):
        for match in shape.pattern.finditer(text):
            yield SecretSpan(*match.span(), shape.kind, "", not shape.is_real(match))


def _anchored_matches(searched: str, text: str, anchor: str, shape: Shape) -> Iterator[tuple[int, int, re.Match[str]]]:
    """Start, end and match of each secret.

    The search goes on behind it, so that a repeat without a bound reads each character once. What is no secret may
    hide one, and its pattern has bounds: there the search goes on behind the anchor.
    """
    group = "secret" if "secret" in shape.pattern.groupindex else 0
    at = searched.find(anchor)
    while at >= 0:
        following = at + len(anchor)
        match = shape.pattern.match(text, at)
        if match and shape.is_secret(match):
            end = _RUN.match(text, match.end(group)).end() if shape.long else match.end(group)  # type: ignore[union-attr]
            if not shape.wider or shape.is_real(match):
                yield match.start(group), end, match
            following = max(following, match.end(), end)
        at = searched.find(anchor, following)


_RUN = re.compile(r"(?:[A-Za-z0-9+/_.~=-]|\\[\"'](?=[A-Za-z0-9+/_.~=-]))*+")
"""A word, with escaped quotes within it."""


def has(mark: str, pattern: str, text: str) -> bool:
    """Whether the pattern is found in a text; `mark` is a character of all its matches."""
    # Most texts have no such character at all, and to see that takes no time.
    return mark in text and _compiled(pattern).search(text) is not None


_compiled = cache(re.compile)


# --- Makers of shapes ------------------------------------------------------------------------------------------------

ESCAPE = r"(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})"
"""The end of a character that JSON, a URL or a program's code writes with letters."""

EDGE = rf"(?:(?<![A-Za-z])|{ESCAPE})"
"""What may stand before a prefix that says enough: anything but a letter."""

WORD_EDGE = rf"(?:(?<!\w)|(?<=(?<!\w)_)|(?<=(?<!\w)__)|{ESCAPE})"
"""The start of a word, in the emphasis of Markdown as may be."""

TAIL = r"(?![A-Za-z0-9])"
"""The end of a secret of fixed length: an underscore or hyphen behind it is none of it."""


def common(kind: str, anchors: str, pattern: str, clue: str = "", edge: str = EDGE) -> Shape:
    """A common shape; `anchors` are set apart by blanks, and `pattern` begins with one of them, behind `edge`."""

    def is_real(match: re.Match[str]) -> bool:
        prefix = next((anchor for anchor in anchors.split() if match[0].startswith(anchor)), "")
        return not is_stand_in(match[0][len(prefix) :])

    compiled_clue = re.compile(clue, re.ASCII) if clue else None
    whole_pattern = re.compile(rf"{edge}(?:{pattern})", re.ASCII)
    return Shape(kind, tuple(anchors.split()), whole_pattern, always, is_real, clue=compiled_clue)


def wider(kind: str, anchors: str, body: str) -> Shape:
    """A wider shape: one of the anchors, which are set apart by blanks, and the pattern of what follows."""
    either = "|".join(re.escape(anchor) for anchor in anchors.split())
    pattern = rf"{EDGE}(?:{either})(?P<body>{body})"
    return Shape(kind, tuple(anchors.split()), re.compile(pattern, re.ASCII), always, has_random_body, wider=True)
