"""From a file's bytes to a document: decoded, with LF line ends, its front matter taken off. Opens nothing itself."""

from __future__ import annotations

from contextasm.model import Document, Problem
from contextasm.text.front_matter import front_matter

_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


def decode_document(path: str, data: bytes) -> Document | Problem:
    """The document that a file's bytes hold; a problem that names the byte where they are no text."""
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        what = f"is not {encoding.removesuffix('-sig').upper()}: byte {error.start} ({error.reason})"
        return Problem("not-text", path, 0, what)
    text = text.replace("\r\n", "\n")
    if not text.startswith("---"):
        return Document(path, text, 1, {}, data)
    lines = text.split("\n")
    front = front_matter(lines)
    return Document(path, "\n".join(lines[front.lines :]), front.lines + 1, front.values, data)
