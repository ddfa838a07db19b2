"""Shapes of secrets that stand in one line, and the search for one of them.

A shape is *common* or *wider*. Everything of a common shape is a secret, and a placeholder among them is marked. A
wider shape also fits other texts, so placeholders of it are no secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from math import log2
from typing import NamedTuple

# Patterns are texts here: `re` compiles each on first need, and keeps it.

_STAND_IN = r"(?i)example|placeholder|changeme|redacted|x{4}|your[-_]|insert[-_]|(.)\1{7}|eby8vdm02xno"
"""Words of manuals, repeated characters, and the key that every Azure emulator shares."""

_BLANK = (
    r"(?i)(?:my|your|the|some|db|user)?[-_]?(?:pass(?:word|wd|phrase)?|pwd|pw|secret|token|key|credentials?)"
    r"|\$\w+|\$?\{.*\}|\$\(.*\)|%\w+%?|%\(.*\)s|\[.*\]|(.)\1*"
)
"""Texts in a URL in place of a password: a word for it, a variable, a template, one character again and again."""

_NO_HOST = (
    r"(?i)(?:.*\.)?(?:example(?:\.(?:com|org|net))?|test|invalid|localhost)|127\.\d+\.\d+\.\d+|\[::1\]?|host(?:name)?"
    r"|sha(?:256|512)"  # docker://image:tag@sha256:...
)
"""Hosts reserved for examples, and one's own machine."""

_NAME = r"[A-Za-z_]+(?:[./][A-Za-z_-]+)+|_?[A-Za-z]+(?:_[A-Za-z]+)+_?"
"""A path, or a name of a program's code: words without a digit between them."""

_IDENTIFIER = r"(?a)[A-Za-z_]\w*(?:\.\w+)*"
"""What stands before the bracket of a call."""

_PATH = r"(?:~|\.{0,2})/[A-Za-z][a-z]{1,9}(?:/[\w.~+-]+)+/?"
"""An absolute or relative path. Keys that begin with a slash have no short word behind it."""

_NUMBERED_WORDS = r"(?:[a-z]{2,14}|[a-z][0-9]{1,3}[a-z]?)(?:[-_.][a-z]{2,14})+(?:[-_.]v?[0-9]{1,4}){1,3}"
"""Words in small letters with a year, a date or a version behind them, as names of things have."""

_HASH = r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}"
_NAME_OF_HASH = r"(?i)hash|digest|checksum|commit|rev|sha"

_LEAST_ENTROPY = 2.5
"""Bits a character. Sixteen random letters have more than three, a pattern of five signs less than this."""

_LEAST_ENTROPY_OF_VALUE = 3.3
"""Bits a character of an assigned value. Ten different characters have 3.3 at most."""


def is_stand_in(body: str) -> bool:
    """Whether a text is one that manuals print in place of a secret."""
    return bool(re.search(_STAND_IN, body)) or _bits_per_character(body) < _LEAST_ENTROPY


def _bits_per_character(body: str) -> float:
    # Shannon's entropy.
    shares = [body.count(character) / len(body) for character in set(body)]
    return -sum(share * log2(share) for share in shares)


def always(_: re.Match[str]) -> bool:
    """Take every match."""
    return True


def has_random_body(match: re.Match[str]) -> bool:
    """Whether the group `body` is no placeholder."""
    return not is_stand_in(match["body"])


def is_password_of_real_host(match: re.Match[str]) -> bool:
    """Whether the group `secret` may be a password, and `host` is not reserved for examples."""
    # Any word can be a password, so its entropy says nothing.
    blank = re.fullmatch(_BLANK, match["secret"]) or re.search(_STAND_IN, match["secret"])
    return not blank and not re.fullmatch(_NO_HOST, match["host"])


def is_random_value(match: re.Match[str]) -> bool:
    """Whether the characters of the group `secret` differ as much as those of a key, and are no name of something."""
    value, groups = match["secret"], match.groupdict("")
    if re.fullmatch(_NAME, value) or (match["call"] and re.fullmatch(_IDENTIFIER, value)):
        return False
    if re.fullmatch(_PATH, value) or re.fullmatch(_NUMBERED_WORDS, value):
        return False
    if re.fullmatch(_HASH, value) and re.search(_NAME_OF_HASH, groups.get("rest", "")):
        return False
    # Behind a name that also stands before other things, words without a digit say nothing.
    certain = groups.get("strong") and not groups.get("other")
    if not certain and not re.search(r"[0-9][^0-9]*[A-Za-z]|[A-Za-z][^0-9]*[0-9]", value):
        return False
    return len(set(value)) >= 10 and _bits_per_character(value) >= _LEAST_ENTROPY_OF_VALUE


def is_real_value(match: re.Match[str]) -> bool:
    """Whether an assigned value is no placeholder."""
    return not re.search(_STAND_IN, match["secret"])


def is_jwt(match: re.Match[str]) -> bool:
    """Whether the groups `head` and `claims` are JSON."""
    return _decode_json(match["head"]) is not None and _decode_json(match["claims"]) is not None


def is_real_jwt(match: re.Match[str]) -> bool:
    """Whether the header names an algorithm, and the claims are not those of manuals."""
    header = _decode_json(match["head"])
    return isinstance(header, dict) and "alg" in header and b"John Doe" not in _decode_base64url(match["claims"])


def _decode_json(part: str) -> object:
    # None for a part that is no JSON.
    import json

    try:
        return json.loads(_decode_base64url(part))
    except (ValueError, RecursionError):
        return None


def _decode_base64url(part: str) -> bytes:
    """The bytes of a part, which comes without padding; empty where it is no base64url."""
    from base64 import urlsafe_b64decode

    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        return b""


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
