"""The text of `ctxasm.lock`: digests of files by path, one line a file, in path order.

A line is the SHA-256 of the file's bytes, two blanks and the path. Which files these are is decided in
`config/approval.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from contextasm.model import ContextasmError, utf8_text

VERSION_LINE = "ctxasm-lock 1"
"""The first line that is not a comment: the name of the format and its version."""

_COMMENT = "# Files that instruct an agent, as they were reviewed. After a review, run: ctxasm lock"
_ENTRY = re.compile(r"([0-9a-f]{64})  (.+)")
_ESCAPE = re.compile(rb"\\(?:x([0-9a-f]{2})|\\)")
_HINT = "correct it, or delete the file and run `ctxasm lock`"


def format_lock(digests: Mapping[str, str]) -> str:
    """The text of a lock, given the SHA-256 of each file by its path."""
    entries = (f"{digests[path]}  {quoted_path(path)}" for path in sorted(digests))
    return "".join(f"{line}\n" for line in (_COMMENT, VERSION_LINE, *entries))


def parse_lock(data: bytes, where: str) -> dict[str, str]:
    """SHA-256 by path, in the bytes of a lock; comments, blank lines and CRLF are allowed, and lines in any order.

    Raises `ContextasmError` at `where`, with the line, for anything else, and for a path that is there twice.
    """
    text = utf8_text(data, where, _HINT)
    lines = [(number, line.removesuffix("\r")) for number, line in enumerate(text.split("\n"), 1)]
    lines = [(number, line) for number, line in lines if line.strip() and not line.startswith("#")]
    if not lines or lines[0][1] != VERSION_LINE:
        first = lines[0][0] if lines else 1
        raise ContextasmError(f"{where}:{first}", f"the first line is not `{VERSION_LINE}`", _HINT)
    digests: dict[str, str] = {}
    for number, line in lines[1:]:
        entry = _ENTRY.fullmatch(line)
        path = _unquoted_path(entry[2]) if entry else None
        if not entry or path is None:
            raise ContextasmError(f"{where}:{number}", "the line is not a SHA-256, two spaces and a path", _HINT)
        if path in digests:
            raise ContextasmError(f"{where}:{number}", f"lists {quoted_path(path)} a second time", _HINT)
        digests[path] = entry[1]
    return digests


def quoted_path(path: str) -> str:
    r"""The path as one printable line: `\\` for a backslash, `\xNN` for each byte of a character that can't be seen."""
    quoted = "".join(
        letter if letter.isprintable() and letter != "\\" else "\\\\" if letter == "\\" else _escaped(letter)
        for letter in path
    )
    # No editor shows a blank at the end of a line, and many take it away.
    return f"{quoted[:-1]}{_escaped(' ')}" if quoted.endswith(" ") else quoted


def _escaped(letter: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))


def _unquoted_path(quoted: str) -> str | None:
    """The path; None if a backslash begins no escape."""
    data = quoted.encode()
    if b"\\" in _ESCAPE.sub(b"", data):
        return None
    data = _ESCAPE.sub(lambda match: bytes.fromhex(match[1].decode()) if match[1] else b"\\", data)
    return data.decode("utf-8", "surrogateescape")
