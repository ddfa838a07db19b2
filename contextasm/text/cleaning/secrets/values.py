"""Whether a text with the shape of a secret is one, is a placeholder, or is something else, such as a path or a name.

A shape asks one of these functions for each of its matches.
"""

from __future__ import annotations

import re
from math import log2

# Patterns are texts here: `re` compiles each on first need, and keeps it.

_ORDINARY = (
    r"(?i:^(?:argon|bcrypt|scrypt|pbkdf|scram|sha|md5|base64|utf|oauth|aes|hmac|rfc))|^[$%&<{]|^\w+(?:\.\w+)+$"
    r"|^[a-z]+(?:_[a-z0-9]+)+$|^[A-Z]+(?:_[A-Z0-9]+)+$|[=/]{2}|\$\{|^v?[0-9.]+[a-z]{0,2}$"
)
"""Ways to keep passwords, variables, names with underscores or dots, and sizes."""

_STAND_IN = (
    r"(?i)example|placeholder|changeme|change[-_]me|redacted|x{4}|your[-_]|insert[-_]|dummy|(.)\1{7}|eby8vdm02xno"
    r"|\.\.\.|abcdefgh|12345678"
)
"""Words of manuals, repeated characters, signs in their order, and the key that every Azure emulator shares."""

_BLANK = (
    r"(?i)(?:[a-z]{2,12}[-_]|my|your|the|some|db|user)?(?:pass(?:word|wd|phrase)?|pwd|pw|secret|token|key|credentials?)"
    r"|[a-z]+_pat_[a-z]{1,8}|\$\w+|\$?\{.*\}|\$\(.*\)|%\w+%?|%\(.*\)s|\[.*\]|(.)\1*"
)
"""Texts in a URL in place of a password: a word for it, a variable, a template, one character again and again."""

_NO_HOST = (
    r"(?i)(?:.*\.)?(?:example(?:\.(?:com|org|net))?|test|invalid|localhost)|127\.\d+\.\d+\.\d+|\[::1\]?|host(?:name)?"
    r"|sha(?:256|512)"  # docker://image:tag@sha256:...
)
"""Hosts reserved for examples, and one's own machine."""

_CODE = r"(?a)[A-Za-z_]\w*(?:\.\w+)*"
"""What is before the bracket of a call."""

_PLACE = (
    r"(?:~|\.{1,2}|\$\w+|\$\{\w+\}|[A-Za-z]:)[\\/].*|/[A-Za-z][a-z]{1,9}(?:/[\w.~+@-]+)+/?|[A-Za-z][a-z+]{1,9}://.*"
    r"|.*\.(?:json|ya?ml|toml|env|txt|md|pem|key|crt|cert|p12|pfx|jks|py|[jt]sx?|rs|go|rb|sh|ini|conf|cfg|db|enc|age|gpg)"
)
"""A path, an address, or the name of a file. Keys that begin with a slash have no short word after it."""

_ASSIGNMENT = r"[A-Za-z_][\w.]*=+[^=].*"
"""A name with a value of its own, which is looked at by itself."""

_HUMP = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])"
"""A word in a name of a program's code."""

_NUMBER = r"25519|(?<![A-Za-z0-9])[A-Za-z]?[0-9]{1,4}[A-Za-z]?(?![A-Za-z0-9])"
"""A part of a date, a version, or of a name such as `x509`, `o200k` and `Ed25519`."""

_PAIRS = (
    "ab ac ad ag ai al am an ap ar as at au av ba be bl bo ca ce ch ci ck cl co cr ct da de di do du ea ec ed ee ef eg"
    " el em en ep er es et ev ex fi fo ge gh gi gr ha he hi ho ia ic id ie ig il im in io ir is it iv iz ke la le li ll"
    " lo ly ma me mi mo na nc nd ne ng ni no ns nt nv od of ok ol om on oo op or os ot ou ov pa pe pl po pr pt qu ra rd"
    " re ri rm ro rs rt ry sa sc se sh si so sp ss st su ta te th ti tl to tr ts tt tu ty ub uc ul um un up ur us ut va"
    " ve vi wa we wh wi wo"
)
"""Pairs of letters that words are made of: three quarters of all in a text, and a fifth in random letters."""

_LEAST_PAIRS = 0.5
"""Share of such pairs from which on letters are words."""

_HASH = r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}"
_NAME_OF_HASH = r"(?i)hash|digest|checksum|commit|rev|sha|_id|fingerprint"

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
    """Whether the group `body` is not a placeholder."""
    return not is_stand_in(match["body"])


def is_random_body(match: re.Match[str]) -> bool:
    """Whether the group `body` has digits among its letters, and is neither a placeholder nor made of words."""
    body = match["body"]
    if not has_random_body(match) or is_words(body) or re.fullmatch(_PLACE, body):
        return False
    return len(body) >= 15 and sum(map(str.isdigit, body)) >= 2 and len(set(body)) >= 8


def is_password_of_real_host(match: re.Match[str]) -> bool:
    """Whether the group `secret` may be a password, and `host` is not reserved for examples."""
    # Any word can be a password, so its entropy says nothing.
    blank = re.fullmatch(_BLANK, match["secret"]) or re.search(_STAND_IN, match["secret"])
    return not blank and not re.fullmatch(_NO_HOST, match["host"])


def is_random_value(match: re.Match[str]) -> bool:
    """Whether the characters of the group `secret` differ as much as a key has them, and are not a name."""
    value, groups = match["secret"], match.groupdict("")
    if _is_named(match) or is_words(value):
        return False
    if re.fullmatch(_HASH, value) and re.search(_NAME_OF_HASH, groups.get("rest", "")):
        return False
    # After a name that other things follow, too, words without a digit say nothing.
    certain = groups.get("strong") and not groups.get("other")
    if not certain and not has_digits(match):
        return False
    return len(set(value)) >= 10 and _bits_per_character(value) >= _LEAST_ENTROPY_OF_VALUE


def is_password(match: re.Match[str]) -> bool:
    """Whether the group `secret` has letters and other signs as passwords have them, and is not a name."""
    value = match["secret"]
    is_other = match.groupdict().get("other")
    if is_other or _is_named(match) or re.search(_ORDINARY, value) or not re.search("[A-Za-z]", value):
        return False
    has_sign = re.search(r"[!@#$%^&*?]", value)
    if not has_sign and is_words(value) and not re.search(r"^(?=.*[a-z])(?=.*[A-Z]).*[0-9]{2}", value):
        return len(value) <= 12 and bool(re.fullmatch(r"[A-Za-z]+[0-9]+", value))
    return bool(re.search(r"[0-9]", value) or (has_sign and re.search(r"[a-z]", value) and re.search("[A-Z]", value)))


def _is_named(match: re.Match[str]) -> bool:
    # The value says where something is, or refers to it: a place, a variable, a call, a placeholder.
    value = match["secret"]
    if match["call"] and re.fullmatch(_CODE, value):
        return True
    return bool(re.fullmatch(f"{_PLACE}|{_ASSIGNMENT}", value) or re.search(_STAND_IN, value))


def is_words(value: str) -> bool:
    """Whether a value is made of words, with few digits, as names in code and in prose are."""
    value = re.sub(_NUMBER, "", value)
    words = re.findall(_HUMP, value)
    letters, digits = sum(map(len, words)), sum(map(str.isdigit, value))
    if letters < 3.5 * len(words) or 2 * digits > letters or re.search(r"[0-9]{5}", value):
        return False
    pairs = [word[at : at + 2].lower() for word in words for at in range(len(word) - 1)]
    return sum(pair in _PAIRS for pair in pairs) >= _LEAST_PAIRS * len(pairs)


def has_digits(match: re.Match[str]) -> bool:
    """Whether the group `secret` has letters and digits."""
    return bool(re.search(r"[0-9][^0-9]*[A-Za-z]|[A-Za-z][^0-9]*[0-9]", match["secret"]))


def never(_: re.Match[str]) -> bool:
    """Take no match."""
    return False


def is_jwt(match: re.Match[str]) -> bool:
    """Whether the groups `head` and `claims` are JSON."""
    return _decode_json(match["head"]) is not None and _decode_json(match["claims"]) is not None


def is_real_jwt(match: re.Match[str]) -> bool:
    """Whether the header names an algorithm, and the claims are not from manuals."""
    header = _decode_json(match["head"])
    return isinstance(header, dict) and "alg" in header and b"John Doe" not in _decode_base64url(match["claims"])


def _decode_json(part: str) -> object:
    # None for a part that is not JSON.
    import json

    try:
        return json.loads(_decode_base64url(part))
    except (ValueError, RecursionError):
        return None


def _decode_base64url(part: str) -> bytes:
    """The bytes of a part, which comes without padding; empty if it is not base64url."""
    from base64 import urlsafe_b64decode

    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        return b""
