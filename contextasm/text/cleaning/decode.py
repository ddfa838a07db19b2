"""Decoding: the document in a file's bytes, and the values in a YAML or JSON document.

What comes out is clean text: no byte order mark, no hidden or control character, LF line ends. The YAML parser comes in
as a value; no file is opened here.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache

from contextasm.model import (
    CLEAN,
    MAX_FILE,
    Cleaning,
    ContextasmError,
    Data,
    Document,
    Gap,
    Hidden,
    Parse,
    Problem,
    Span,
)
from contextasm.text.cleaning.clean import clean_text, clean_value
from contextasm.text.content_cache import MOST_CACHED
from contextasm.text.json_reader import load_json
from contextasm.text.markdown.front_matter import front_matter
from contextasm.text.markdown.managed_block import without_block

MAX_FRONT_MATTER = 65_536
"""Characters of the longest front matter."""

_BYTE_ORDER_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))

_GZIP_STEP = 4096
"""Bytes of a compressed file that are taken at a time, so that one of many small members takes no longer."""


def decode_document(path: str, data: bytes, cleaning: Cleaning = CLEAN) -> Document | Problem:
    """The document in a file's bytes; a problem that names the byte where the bytes are no text.

    Lines of a managed block are blank in its text: no build reads what a build wrote. The bytes of a `.gz` file are
    decompressed, up to `MAX_FILE`. Documents of up to `MOST_CACHED` bytes are kept by content for the next build of
    the process, but for compressed ones, which may be of any size.
    """
    if len(data) > MOST_CACHED or path.endswith(".gz"):
        return _decoded(path, data, cleaning)
    document = _cached_document(path, data, cleaning)
    # A mapping can be changed by whoever gets it.
    return document._replace(front={**document.front}) if isinstance(document, Document) else document


def _decoded(path: str, data: bytes, cleaning: Cleaning) -> Document | Problem:
    content = _decompressed(path, data) if path.endswith(".gz") else data
    if isinstance(content, Problem):
        return content
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        what = f"is not {encoding.removesuffix('-sig').upper()}: byte {error.start} ({error.reason})"
        return Problem("not-text", path, 0, what)
    clean = clean_text(text, cleaning)
    text, block = without_block(clean.text)
    document = Document(
        path,
        text,
        line=1,
        front={},
        data=data,
        gaps=_gaps(block, clean.gaps),
        hidden=clean.hidden,
        secrets=clean.secrets,
        cleaning=cleaning,
    )
    if not text.startswith("---"):
        return document
    lines = text.split("\n")
    front = front_matter(lines)
    head = "".join(f"{line}\n" for line in lines[: front.lines])
    if len(head) > MAX_FRONT_MATTER:
        return Problem(
            "too-large", path, 1, f"has front matter of {len(head):,} characters; {MAX_FRONT_MATTER:,} is the limit"
        )
    return document._replace(text="\n".join(lines[front.lines :]), line=front.lines + 1, front=front.values, head=head)


@lru_cache(maxsize=256)
def _cached_document(path: str, data: bytes, cleaning: Cleaning) -> Document | Problem:
    return _decoded(path, data, cleaning)


def _decompressed(path: str, data: bytes) -> bytes | Problem:
    """The content of a gzip file of one or more members; a problem where it is damaged, or too large."""
    contents: list[bytes] = []
    room, member = MAX_FILE, None
    for start in range(0, len(data), _GZIP_STEP):
        compressed = data[start : start + _GZIP_STEP]
        while compressed := compressed if member else compressed.lstrip(b"\0"):
            member = member or zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
            try:
                contents.append(member.decompress(compressed, room + 1))
            except zlib.error as error:
                return Problem("not-text", path, 0, f"is no gzip file: {error}")
            room -= len(contents[-1])
            if room < 0:
                return Problem("too-large", path, 0, f"holds more than {MAX_FILE:,} bytes, the most that is read")
            compressed, member = (member.unused_data, None) if member.eof else (b"", member)
    if member:
        return Problem("not-text", path, 0, "is a gzip file that is cut off")
    return b"".join(contents)


def _gaps(block: Span, secrets: Sequence[Span]) -> tuple[Gap, ...]:
    first, last = block
    gaps = [Gap(*span, "secret") for span in secrets if not first <= span[0] <= last]
    return tuple(sorted([*gaps, *([Gap(first, last, "block")] if first else [])]))


def parse_data(document: Document, parse: Parse) -> Data | Problem:
    """The values of a document: as JSON where its name ends in `.json`, else as `parse` reads them.

    Their texts are cleaned once more, since an escape can spell what reading removes. Private mappings are left out
    where the document's private parts are; their lines are its gaps then.
    """
    if document.withheld == "file":
        return Data(document, [])
    try:
        read = load_json if document.path.endswith(".json") else parse
        value = read(document.data.decode("utf-8-sig"), document.path)
    except ContextasmError as error:
        line = error.where.rpartition(":")[2]
        return Problem("bad-data", document.path, int(line) if line.isdecimal() else 0, f"{error.what}: {error.hint}")
    except UnicodeDecodeError:
        return Problem("bad-data", document.path, 0, "is not UTF-8: save it as UTF-8")
    if document.withheld:
        from contextasm.text.cleaning.private_parts import without_private  # here: most contexts are personal

        lines: list[int] = []
        value = without_private(value, lines)
        if lines:
            gaps = tuple(Gap(line, line, "private") for line in sorted({*lines}))
            document = document._replace(gaps=gaps, hidden=())
    hidden: list[Hidden] = []
    value = clean_value(value, document.cleaning, 1, hidden)
    written = {run.codes for run in document.hidden}
    spelled = tuple(run for run in hidden if run.codes not in written)  # by escapes; the others are known
    return Data(document._replace(hidden=(*document.hidden, *spelled)), value)
