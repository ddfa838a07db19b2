"""Keys, tokens and passwords in a text, known by their shape.

It knows the best-known shapes only, asks nobody whether a key works, and never hands a secret on: what it tells
is the kind, the place, the public prefix and the length. Placeholders as manuals print them are not finds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from math import log2
from typing import NamedTuple


class Secret(NamedTuple):
    """One find, fit to be shown to anybody."""

    kind: str
    """Such as `github-token`."""
    line: int
    column: int
    """Counted from 1, in code points."""
    masked: str
    """The prefix that all secrets of the kind share, four characters of it at most, and the length."""


def find_secrets(text: str) -> Iterator[Secret]:
    """Every secret in the order of the text, but for lines that end in the comment `ctxasm: allow-secret`."""
    line, at, begin, stop, allowed = 1, 0, 0, -1, False
    for start, end, shape in _apart(text):
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
    """Nothing but the prefix is shown, since four characters of a password may be half of it."""
    prefix = next((each[:4] for each in shape.prefixes if text.startswith(each, start)), "")
    return f"{prefix}... ({end - start} characters)"


def _apart(text: str) -> Iterator[tuple[int, int, _Shape]]:
    """Start, end and shape of each find; where two overlap the earlier one, then the earlier in the table."""
    rank = {shape.kind: place for place, shape in enumerate(_SHAPES)}
    found = [(*span, shape) for shape in _SHAPES for prefix in shape.prefixes for span in _spans(text, prefix, shape)]
    free = 0
    for start, end, shape in sorted(found, key=lambda each: (each[0], rank[each[2].kind])):
        if start >= free:
            free = end
            yield start, end, shape


def _spans(text: str, prefix: str, shape: _Shape) -> Iterator[tuple[int, int]]:
    """Start and end of what has the shape and is no placeholder.

    Whatever stands at the prefix is read once: after a match the search goes on behind it, and without one no
    more was read than the shortest match, or than an edge that no later prefix has.
    """
    at = text.find(prefix)
    while at >= 0:
        match = shape.pattern.match(text, at)
        if match and shape.real(match):
            yield match.span("secret" if "secret" in shape.pattern.groupindex else 0)
        at = text.find(prefix, max(match.end() if match else 0, at + len(prefix)))


# --- What is a placeholder -------------------------------------------------------------------------------------------

_STAND_IN = re.compile(
    r"example|placeholder|changeme|redacted|x{4}|your[-_]|insert[-_]|(.)\1{7}|eby8vdm02xno", re.IGNORECASE
)
"""Words of manuals, repeated characters, and the key that every Azure emulator shares."""

_BLANK = re.compile(
    r"(?:my|your|the|some|db|user)?[-_]?(?:pass(?:word|wd|phrase)?|pwd|pw|secret|token|key|credentials?)"
    r"|\$\w+|\$?\{.*\}|\$\(.*\)|%\w+%?|%\(.*\)s|\[.*\]|(.)\1*",
    re.IGNORECASE,
)
"""What stands in a URL where a password goes: a word for it, a variable, a template, one character again and again."""

_NO_HOST = re.compile(
    r"(?:.*\.)?(?:example(?:\.(?:com|org|net))?|test|invalid|localhost)|127\.\d+\.\d+\.\d+|\[::1\]?|host(?:name)?"
    r"|sha(?:256|512)",  # docker://image:tag@sha256:...
    re.IGNORECASE,
)
"""Hosts reserved for examples, and one's own machine."""

_LEAST_ENTROPY = 2.5
"""Bits a character. Sixteen random letters have more than three, a pattern of five signs less than this."""


def _token(match: re.Match[str]) -> bool:
    """Whether the part after the prefix looks drawn at random."""
    body = match["body"]
    return not _STAND_IN.search(body) and _entropy(body) >= _LEAST_ENTROPY


def _entropy(body: str) -> float:
    """Shannon's, in bits a character."""
    shares = [body.count(each) / len(body) for each in set(body)]
    return -sum(share * log2(share) for share in shares)


def _password(match: re.Match[str]) -> bool:
    """Whether a URL holds a password for a host that may exist; any word can be one, so chance is no measure."""
    blank = _BLANK.fullmatch(match["secret"]) or _STAND_IN.search(match["secret"])
    return not blank and not _NO_HOST.fullmatch(match["host"])


def _signed(match: re.Match[str]) -> bool:
    """Whether the first part is the header of a JWT, and the second not the one that every tutorial shows."""
    try:
        header = json.loads(_unpacked(match["head"]))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header and b"John Doe" not in _unpacked(match["claims"])


def _unpacked(part: str) -> bytes:
    """The bytes of a base64url part, which comes without padding; empty where it is not one."""
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
    """Its group `secret`, if it has one, is the find. No repeat in it gives back what it took."""
    real: Callable[[re.Match[str]], bool]


def _shape(kind: str, prefixes: str, pattern: str, real: Callable[[re.Match[str]], bool]) -> _Shape:
    """A row of the table, compiled."""
    return _Shape(kind, tuple(prefixes.split()), re.compile(pattern, re.ASCII), real)


_EDGE = r"(?:(?<!\w)|(?<=\\[nrt]))"
"""Where a word starts; also after `\\n` as JSON writes a line break, since sessions are JSON."""


def _plain(kind: str, prefixes: str, body: str) -> _Shape:
    """A row of the commonest form: a prefix at the start of a word, then the body."""
    either = "|".join(re.escape(each) for each in prefixes.split())
    return _shape(kind, prefixes, rf"{_EDGE}(?:{either})(?P<body>{body})", _token)


# In order of preference: an Anthropic key also begins as an OpenAI key does.
_SHAPES = (
    _plain("aws-access-key-id", "AKIA ASIA", r"[A-Z0-9]{16}(?!\w)"),
    _plain("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\w{36,}+"),
    _plain("github-token", "github_pat_", r"\w{36,}+"),
    _plain("gitlab-token", "glpat-", r"[\w-]{20,}+"),
    _plain("slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-", r"[A-Za-z0-9.-]{10,}+"),
    _plain("slack-webhook", "hooks.slack.com/services/", r"T\w{8,}+/B\w{8,}+/\w{20,}+"),
    _plain("stripe-key", "sk_live_ rk_live_", r"[A-Za-z0-9]{16,}+"),
    _plain("anthropic-key", "sk-ant-", r"[\w-]{20,}+"),
    _plain("openai-key", "sk-proj- sk-svcacct- sk-admin-", r"[\w-]{20,}+"),
    _plain("openai-key", "sk-", r"[A-Za-z0-9]{32,}+"),
    _plain("google-api-key", "AIza", r"[\w-]{35}(?![\w-])"),
    _plain("npm-token", "npm_", r"[A-Za-z0-9]{36}(?!\w)"),
    _plain("pypi-token", "pypi-AgEI", r"[\w-]{50,}+"),
    _plain("sendgrid-key", "SG.", r"[\w-]{22}\.[\w-]{43}(?![\w-])"),
    _plain("twilio-key", "SK", r"[0-9a-f]{32}(?!\w)"),
    _plain("huggingface-token", "hf_", r"[A-Za-z0-9]{34,}+"),
    _plain("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}(?!\w)"),
    _shape("azure-storage-key", "AccountKey=", r"AccountKey=(?P<secret>(?P<body>[A-Za-z0-9+/]{86}==))", _token),
    _shape(
        "private-key",
        "-----BEGIN",
        # A header alone is prose about keys; with letters of a key below it, quoted or escaped as may be, it is one.
        r"-----BEGIN (?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?=(?:\\[rn]|[\s>|#\"'+]){1,40}+(?:[A-Za-z-]{1,20}: [^\n\\]{0,80}(?:\\[rn]|[\s>|#\"'+]){1,40}+){0,4}"
        r"(?P<body>[A-Za-z0-9+/=]{32}))",
        _token,
    ),
    _shape(
        "jwt",
        "eyJ",
        # No hyphen before it, either: a long run of them would be read anew from each place on.
        rf"(?<!-){_EDGE}(?P<head>eyJ[\w-]{{10,}}+)\.(?P<claims>[\w-]{{4,}}+)\.[\w-]{{10,}}+",
        _signed,
    ),
    _shape(
        "url-password",
        "://",
        r"(?<=[A-Za-z0-9])://[^\s:@/\"'<>`]*+:(?P<secret>[^\s@/\"'<>`]++)@(?P<host>\[[0-9A-Fa-f:.]*+\]|[\w.${%-]++)",
        _password,
    ),
)
