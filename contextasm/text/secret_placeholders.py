"""Tests of what has the shape of a secret: whether it is one, and whether manuals print it in place of one."""

from __future__ import annotations

import re
from math import log2

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
