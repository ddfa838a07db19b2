"""Secrets that are known by the name before them: assignments, headers, options of a command."""

from __future__ import annotations

import re
from functools import cache

from contextasm.text.secret_placeholders import (
    always,
    has_random_body,
    is_random_value,
    is_real_value,
)
from contextasm.text.secret_shapes import ESCAPE, TAIL, Shape, common, has

_NAME = (
    r"(?i:(?P<strong>secret|token|passw(?:or)?d|passphrase|api_?key|access_?key|credential)"
    r"|(?:api|access|private)[-_ ]?key|(?<![a-z])(?:pwd|pass)(?![a-z]))"
)
"""A name of a secret. Those that are no `strong` one stand before other things, too."""

_ANCHORS = (
    *("secret", "token", "pass", "pwd", "credential"),
    *(f"{word}{between}key" for word in ("api", "access", "private") for between in ("", "_", "-", " ")),
)

_BEHIND_NAME = r"[\\'\"`*_\]]{0,6}"
_BEFORE_VALUE = r"[*`]{0,2}\s{0,3}[\\'\"`*]{0,5}"
_SIGN = (
    rf"{_BEHIND_NAME}\s{{0,3}}(?::=|=>|=|:|\uff1a){_BEFORE_VALUE}"
    r"|(?P<other>>(?=[^\s<>]{16,256}</)|['\"],\s{0,3}['\"]"
    r"|['\"]?[ \t]{0,3}\r?\n[ \t]{0,20}['\"]?value['\"]?:[ \t]{0,3}['\"]?)"
)
"""What stands between name and value; other than an assignment: a tag, a default value, a variable of a container."""

_LETTERS = r"(?P<secret>(?:[A-Za-z0-9+/_.~=-]|\\[\"'](?=[A-Za-z0-9+/_.~=-])){16,256}+)"


@cache
def assigned_shapes() -> tuple[Shape, ...]:
    """Values behind a sign that assigns them to a name."""
    return (
        Shape(
            "azure-storage-key",
            ("AccountKey=",),
            re.compile(r"AccountKey=(?P<secret>(?P<body>[A-Za-z0-9+/]{86}==))"),
            always,
            has_random_body,
        ),
        common("telegram-token", "", r"[0-9]{8,10}:AA[\w-]{33}" + TAIL, r":AA[\w-]{33}", rf"(?:(?<![0-9])|{ESCAPE})"),
        Shape(
            "authorization-header",
            ("authorization",),
            re.compile(
                r"(?i:authorization[\\'\"]{0,4}\]?\s{0,3}[:=,]\s{0,3}[\\'\"]{0,4}(?:bearer|token|basic|api-?key)\s{1,3})"
                r"(?P<secret>(?P<body>[A-Za-z0-9_.~+/=-]{20,}+))"
            ),
            always,
            has_random_body,
            folded=True,
        ),
        Shape(
            "assigned-secret",
            _ANCHORS,
            re.compile(rf"{_NAME}(?P<rest>[\w.-]{{0,20}}+)(?:{_SIGN}){_LETTERS}(?P<call>\(?)"),
            is_random_value,
            is_real_value,
            folded=True,
            long=True,
        ),
    )


@cache
def argument_shapes() -> tuple[Shape, ...]:
    """Values behind an option or word of a command, set apart by a blank."""
    return (
        _argument(
            ("--",),
            r"--(?:[a-z0-9]{1,20}-){0,3}(?:secret|token|password|passwd|passphrase|pass|pwd|key)[ \t]{1,3}['\"]?",
        ),
        _argument(("login ",), r"login[ \t]+\S{1,80}+\s{1,8}password[ \t]{1,3}"),
        _argument(("-u", "--user"), r"-(?:u|-user)[ =]{0,2}['\"]?[\w.@-]{1,64}+:"),
    )


def _argument(anchors: tuple[str, ...], pattern: str) -> Shape:
    whole_pattern = re.compile(rf"{pattern}{_LETTERS}(?P<call>\(?)")
    return Shape("assigned-secret", anchors, whole_pattern, is_random_value, is_real_value, long=True)


# --- Tests -----------------------------------------------------------------------------------------------------------

_LONG = r"[A-Za-z0-9+/_.~=\\\"'-]{16}"
_TOKEN = rf"(?i:bearer|token|basic|api-?key)\s{{1,3}}{_LONG}"
_WORD = rf"(?:{_LONG}|{_TOKEN})"
_VALUE = rf"[*`]{{0,2}}+\s{{0,3}}+(?=\S{{5}})[\\'\"`*]{{0,5}}{_WORD}"
"""`_BEFORE_VALUE` and a long word. No word begins with what its first two parts take, so they give nothing back."""
_COLON = rf":(?<![^\w.-]http:)(?<![^\w.-]https:){_VALUE}"
_EQUALS_SIGN = f"=>?{_VALUE}"
_COMMA = rf",(?:(?<=['\"],)\s{{0,3}}['\"]{_LONG}|\s{{0,3}}[\\'\"]{{0,4}}{_TOKEN})"
_TAG = r">[^\s<>]{16,256}</"
_ARGUMENT = r"-(?:(?<=--)(?:[a-z0-9-]{0,60}?(?:secret|token|pass[a-z]{0,6}|pwd|key)[ \t]|user[ =])|u(?<=\s-u))"


def has_assignment(text: str) -> bool:
    """Whether a text may hold an assigned secret."""
    return (
        has(":", _COLON, text)
        or has("=", _EQUALS_SIGN, text)
        or has("\uff1a", rf"\uff1a{_VALUE}", text)
        or has(">", _TAG, text)
        or has(",", _COMMA, text)
    )


def has_argument(text: str) -> bool:
    """Whether a text may hold a secret as an argument of a command."""
    return has("-", _ARGUMENT, text) or ("password" in text and "login " in text)
