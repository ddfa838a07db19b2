"""Keys, tokens and passwords in a text, recognized by their shape.

Only well-known shapes; nobody is asked whether a key works. A secret is never handed on: a result holds the kind, the
place, the public prefix and the length. Placeholders as manuals print them are not reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from math import log2
from typing import NamedTuple


class Secret(NamedTuple):
    """A secret in a text, fit to be shown to anybody."""

    kind: str
    """Kind of secret, such as `github-token`."""
    line: int
    column: int
    """Counted from 1, in code points."""
    masked: str
    """The prefix that all secrets of the kind share, four characters of it at most, and the length."""


def find_secrets(text: str) -> Iterator[Secret]:
    """The secrets in the order of the text, but for lines that end in the comment `ctxasm: allow-secret`."""
    line, at, begin, stop, allowed = 1, 0, 0, -1, False
    for start, end, shape in _non_overlapping(text):
        line += text.count("\n", at, start)
        at = start
        # Bounds once for each line: a line may be as long as the file and full of secrets.
        if start > stop:
            begin = text.rfind("\n", 0, start) + 1
            stop = text.find("\n", start)
            stop = len(text) if stop < 0 else stop
            allowed = bool(_ALLOWED.search(text, max(begin, stop - 80), stop))
        if not allowed:
            yield Secret(shape.kind, line, start - begin + 1, _masked(text, start, end, shape))


_ALLOWED = re.compile(r"(?:<!--\s*ctxasm: allow-secret\s*-->|#\s*ctxasm: allow-secret)\s*\Z")


def _masked(text: str, start: int, end: int, shape: _Shape) -> str:
    # Nothing but the prefix is shown, since four characters of a password may be half of it.
    prefix = next((prefix[:4] for prefix in shape.prefixes if text.startswith(prefix, start)), "")
    return f"{prefix}... ({end - start} characters)"


def _non_overlapping(text: str) -> Iterator[tuple[int, int, _Shape]]:
    """Start, end and shape of each secret; where two overlap the earlier one, then the earlier in the table."""
    rank = {shape.kind: place for place, shape in enumerate(_SHAPES)}
    matches = [(*span, shape) for shape in _SHAPES for prefix in shape.prefixes for span in _spans(text, prefix, shape)]
    free = 0
    for start, end, shape in sorted(matches, key=lambda match: (match[0], rank[match[2].kind])):
        if start >= free:
            free = end
            yield start, end, shape


def _spans(text: str, prefix: str, shape: _Shape) -> Iterator[tuple[int, int]]:
    """Start and end of each text that has the shape and is no placeholder.

    Text behind a prefix is read once: after a match the search goes on behind it, and without one no more was read
    than the shortest match, or than an edge that no later prefix has.
    """
    at = text.find(prefix)
    while at >= 0:
        match = shape.pattern.match(text, at)
        if match and shape.is_real(match):
            yield match.span("secret" if "secret" in shape.pattern.groupindex else 0)
        at = text.find(prefix, max(match.end() if match else 0, at + len(prefix)))


# --- Placeholders ----------------------------------------------------------------------------------------------------

_STAND_IN = re.compile(
    r"example|placeholder|changeme|redacted|x{4}|your[-_]|insert[-_]|(.)\1{7}|eby8vdm02xno", re.IGNORECASE
)
"""Words of manuals, repeated characters, and the key that every Azure emulator shares."""

_BLANK = re.compile(
    r"(?:my|your|the|some|db|user)?[-_]?(?:pass(?:word|wd|phrase)?|pwd|pw|secret|token|key|credentials?)"
    r"|\$\w+|\$?\{.*\}|\$\(.*\)|%\w+%?|%\(.*\)s|\[.*\]|(.)\1*",
    re.IGNORECASE,
)
"""Texts in a URL in place of a password: a word for it, a variable, a template, one character again and again."""

_NO_HOST = re.compile(
    r"(?:.*\.)?(?:example(?:\.(?:com|org|net))?|test|invalid|localhost)|127\.\d+\.\d+\.\d+|\[::1\]?|host(?:name)?"
    r"|sha(?:256|512)",  # docker://image:tag@sha256:...
    re.IGNORECASE,
)
"""Hosts reserved for examples, and one's own machine."""

_LEAST_ENTROPY = 2.5
"""Bits a character. Sixteen random letters have more than three, a pattern of five signs less than this."""


def _has_random_body(match: re.Match[str]) -> bool:
    body = match["body"]
    return not _STAND_IN.search(body) and _bits_per_character(body) >= _LEAST_ENTROPY


def _bits_per_character(body: str) -> float:
    # Shannon's entropy.
    shares = [body.count(character) / len(body) for character in set(body)]
    return -sum(share * log2(share) for share in shares)


def _is_password_of_real_host(match: re.Match[str]) -> bool:
    # Any word can be a password, so its entropy says nothing.
    blank = _BLANK.fullmatch(match["secret"]) or _STAND_IN.search(match["secret"])
    return not blank and not _NO_HOST.fullmatch(match["host"])


def _is_real_jwt(match: re.Match[str]) -> bool:
    # The claims of John Doe are those that every tutorial shows.
    try:
        header = json.loads(_decode_base64url(match["head"]))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header and b"John Doe" not in _decode_base64url(match["claims"])


def _decode_base64url(part: str) -> bytes:
    """The bytes of a part, which comes without padding; empty where it is no base64url."""
    from base64 import urlsafe_b64decode

    try:
        return urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        return b""


# --- The table -------------------------------------------------------------------------------------------------------


class _Shape(NamedTuple):
    """A kind of secret."""

    kind: str
    prefixes: tuple[str, ...]
    """The pattern is tried only where one of these stands, which is found many times faster than any pattern."""
    pattern: re.Pattern[str]
    """The group `secret` is the secret, else the whole match. No repeat gives back characters that it took."""
    is_real: Callable[[re.Match[str]], bool]


def _shape(kind: str, prefixes: str, pattern: str, is_real: Callable[[re.Match[str]], bool]) -> _Shape:
    return _Shape(kind, tuple(prefixes.split()), re.compile(pattern, re.ASCII), is_real)


_EDGE = r"(?:(?<!\w)|(?<=\\[nrt]))"
"""The start of a word; also after `\\n` as JSON writes a line break, since sessions are JSON."""


def _prefixed_shape(kind: str, prefixes: str, body: str) -> _Shape:
    either = "|".join(re.escape(prefix) for prefix in prefixes.split())
    return _shape(kind, prefixes, rf"{_EDGE}(?:{either})(?P<body>{body})", _has_random_body)


# In order of preference: an Anthropic key also begins as an OpenAI key does.
_SHAPES = (
    _prefixed_shape("aws-access-key-id", "AKIA ASIA", r"[A-Z0-9]{16}(?!\w)"),
    _prefixed_shape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\w{36,}+"),
    _prefixed_shape("github-token", "github_pat_", r"\w{36,}+"),
    _prefixed_shape("gitlab-token", "glpat-", r"[\w-]{20,}+"),
    _prefixed_shape(
        "slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9.-]{10,}+"
    ),
    _prefixed_shape("slack-webhook", "hooks.slack.com/services/", r"T\w{8,}+/B\w{8,}+/\w{20,}+"),
    _prefixed_shape("stripe-key", "sk_live_ rk_live_", r"[A-Za-z0-9]{16,}+"),
    _prefixed_shape("anthropic-key", "sk-ant-", r"[\w-]{20,}+"),
    _prefixed_shape("openai-key", "sk-proj- sk-svcacct- sk-admin-", r"[\w-]{20,}+"),
    _prefixed_shape("openai-key", "sk-", r"[A-Za-z0-9]{32,}+"),
    _prefixed_shape("google-api-key", "AIza", r"[\w-]{35}(?![\w-])"),
    _prefixed_shape("npm-token", "npm_", r"[A-Za-z0-9]{36}(?!\w)"),
    _prefixed_shape("pypi-token", "pypi-AgEI", r"[\w-]{50,}+"),
    _prefixed_shape("sendgrid-key", "SG.", r"[\w-]{22}\.[\w-]{43}(?![\w-])"),
    _prefixed_shape("twilio-key", "SK", r"[0-9a-f]{32}(?!\w)"),
    _prefixed_shape("huggingface-token", "hf_", r"[A-Za-z0-9]{34,}+"),
    _prefixed_shape("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}(?!\w)"),
    _shape(
        "azure-storage-key", "AccountKey=", r"AccountKey=(?P<secret>(?P<body>[A-Za-z0-9+/]{86}==))", _has_random_body
    ),
    _shape(
        "private-key",
        "-----BEGIN",
        # A header alone is prose about keys; with letters of a key below it, quoted or escaped as may be, it is one.
        r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?=(?:\\[rn]|[\s>|#\"'+]){1,40}+(?:[A-Za-z-]{1,20}: [^\n\\]{0,80}(?:\\[rn]|[\s>|#\"'+]){1,40}+){0,4}"
        r"(?P<body>[A-Za-z0-9+/=]{32}))",
        _has_random_body,
    ),
    _shape(
        "jwt",
        "eyJ",
        # No hyphen before it, either: a long run of them would be read anew from each place on.
        rf"(?<!-){_EDGE}(?P<head>eyJ[\w-]{{10,}}+)\.(?P<claims>[\w-]{{4,}}+)\.[\w-]{{10,}}+",
        _is_real_jwt,
    ),
    _shape(
        "url-password",
        "://",
        r"(?<=[A-Za-z0-9])://[^\s:@/\"'<>`]*+:(?P<secret>[^\s@/\"'<>`]++)@(?P<host>\[[0-9A-Fa-f:.]*+\]|[\w.${%-]++)",
        _is_password_of_real_host,
    ),
)
