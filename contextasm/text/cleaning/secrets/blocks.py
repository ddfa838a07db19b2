"""Secrets of several lines: blocks of private keys, and the values of a Kubernetes secret."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contextasm.text.cleaning.secrets.shapes import SecretSpan
from contextasm.text.cleaning.secrets.values import is_stand_in


def block_spans(text: str) -> Iterator[SecretSpan]:
    """The secrets that may have several lines, in the order of each kind."""
    if "-----BEGIN" in text:
        yield from _private_keys(text)
    if "Private-Lines:" in text:
        yield from _putty_keys(text)
    if "Secret" in text and _KUBERNETES_SECRET.search(text):
        yield from _kubernetes_values(text)


# --- Private keys ----------------------------------------------------------------------------------------------------

_HEADER = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BREAK = r"(?:\\[rn]|[\s>|#\"'+])"
_BODY = re.compile(
    rf"{_BREAK}{{1,40}}+(?:[A-Za-z-]{{1,20}}: [^\n\\]{{0,80}}{_BREAK}{{1,40}}+){{0,4}}([A-Za-z0-9+/=]{{16,}})"
)
"""The letters of a key, quoted or escaped as may be, after up to four lines that say how it is kept."""

_LINE_BREAK = re.compile(r"[ \t\"'+,]{0,8}(?:\\{1,2}r)?(?:\\{1,2}n|\n)")
_END = re.compile(r"-----END(?: [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?")
_BLOCK_END = re.compile(r"\n(?=[ \t>|]*+(?:\n|\Z|```|~~~))|\Z")
"""A blank line, a fence, or the end of the text."""

_ESCAPED_BLOCK_END = re.compile(r"[\"'`\n]|\Z")


def _private_keys(text: str) -> Iterator[SecretSpan]:
    # Only a header is prose about keys. It is a key with an end, or with the letters of one after it.
    following = 0
    while header := _HEADER.search(text, following):
        following = header.end()
        next_begin = text.find("-----BEGIN", following)
        footer = text.find("-----END", following, next_begin if next_begin >= 0 else len(text))
        body = _BODY.match(text, following)
        if footer >= 0 and (body or _LINE_BREAK.match(text, following)):
            end = _END.match(text, footer).end()  # type: ignore[union-attr]
        elif body and (len(body[1]) >= 32 or _LINE_BREAK.match(text, following)):
            end = _end_of_block(text, following, body)
        else:
            continue
        is_placeholder = not body or is_stand_in(body[1])
        yield SecretSpan(header.start(), end, "private-key", "----", is_placeholder)
        following = max(following, end)


def _end_of_block(text: str, header_end: int, body: re.Match[str]) -> int:
    if "\n" in text[header_end : body.start(1)]:
        return _BLOCK_END.search(text, body.end()).start()  # type: ignore[union-attr]
    return _ESCAPED_BLOCK_END.search(text, body.end()).start()  # type: ignore[union-attr]


_PUTTY_KEY = re.compile(
    r"^Private-Lines:[ \t]*[0-9]+[ \t]*\r?\n(?P<body>[A-Za-z0-9+/=]{16,}+(?:\r?\n[A-Za-z0-9+/=]++(?![\w:-]))*+)",
    re.MULTILINE,
)
"""The private lines of a key file of PuTTY."""


def _putty_keys(text: str) -> Iterator[SecretSpan]:
    for key in _PUTTY_KEY.finditer(text):
        yield SecretSpan(*key.span("body"), "private-key", "", is_stand_in(key["body"]))


# --- Kubernetes ------------------------------------------------------------------------------------------------------

_KUBERNETES_SECRET = re.compile(r":(?<=kind:)\s*Secret\b")
_LINES_TO_DATA = re.compile(r"(?:.*\n){1,12}?[ \t]*(?:data|stringData):[ \t]*(?=\n)")
_ENTRY = re.compile(
    r"\n(?:[ \t]*\n)*+(?P<indent>[ \t]+)(?P<key>[\w.-]+:)?(?P<mark>[ \t]*[|>][0-9+-]{0,2}[ \t]*(?=\n))?"
)
_VALUE = re.compile(r"\s*['\"]?(?P<secret>[A-Za-z0-9+/=]{8,}[^\n'\"#]*)")


def _kubernetes_values(text: str) -> Iterator[SecretSpan]:
    following = 0
    while kind := _KUBERNETES_SECRET.search(text, following):
        following = kind.end()
        while data := _LINES_TO_DATA.match(text, following):
            following = data.end()
            while entry := _ENTRY.match(text, following):
                span, following = _value(text, entry)
                if span:
                    yield span


def _value(text: str, entry: re.Match[str]) -> tuple[SecretSpan | None, int]:
    """The secret value of an entry, and the end of the entry."""
    line_end = text.find("\n", entry.end())
    line_end = len(text) if line_end < 0 else line_end
    value = _VALUE.match(text, entry.end()) if entry["key"] else None
    if not value:
        return None, line_end
    start, end = value.span("secret")
    if start > line_end:
        # The value is below its key, in lines that are indented deeper.
        lines = re.compile(rf"(?:\n[ \t]*(?=\n)|\n{entry['indent']}[ \t]+\S.*)*+").match(text, line_end)
        end = lines.end() if lines else line_end
    if end <= start:
        return None, line_end
    secret = text[start:end].rstrip()
    return SecretSpan(start, start + len(secret), "kubernetes-secret", "", is_stand_in(secret)), start + len(secret)
