"""Cleaning: the text that may be shown and searched, and the document or the values in a file's bytes.

Clean text has no byte order mark, no hidden or control character, and LF line ends. The YAML parser comes in as a
value; no file is opened here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain

from contextasm.model import CLEAN, MAX_FILE, Cleaning, ContextasmError, Data, Document, Gap, Hidden, Parse, Problem
from contextasm.text.caching import MOST_CACHED
from contextasm.text.cleaning.hidden_characters import strip_hidden
from contextasm.text.cleaning.secrets.scanner import CleanText, mask_secrets
from contextasm.text.json_reader import load_json
from contextasm.text.markdown.front_matter import front_matter
from contextasm.text.markdown.managed_block import without_block

MAX_QUOTED_LENGTH = 200
"""Number of characters of a hidden text that a message quotes."""

HIDDEN_TEXT = "hidden-text"
"""Code of the problem of hidden characters."""

LONGEST_WORD = 100
"""Number of characters of a word that a message shows in full; the middle of a longer one is left out."""

LONGEST_MESSAGE = 2000
"""Number of characters of a message; one that quotes more than that says nothing more."""

_SHORT = 40
"""Number of characters up to which the clean form of a value is remembered."""

_MASK_ONLY = Cleaning("raw")

_REMOVED = "ctxasm removes such characters; find out who wrote this"


def clean_text(text: str, cleaning: Cleaning = CLEAN) -> CleanText:
    """The text without its hidden and control characters, then with its secrets masked.

    Cleaning it again changes nothing.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    hidden: tuple[Hidden, ...] = ()
    if cleaning.hidden != "raw":
        text, hidden = strip_hidden(text, only_controls=cleaning.hidden == "keep")
    if cleaning.secrets == "keep":
        return CleanText(text, hidden)
    return mask_secrets(text)._replace(hidden=hidden)


def shown_name(path: str) -> str:
    """A path as it may be shown: escapes for line ends, hidden and control characters, masks for secrets.

    The path itself if it has none of these; bytes that are not UTF-8 stay.
    """
    readable = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if clean_text(readable).text == readable and not {"\n", "\t"} & {*path}:
        return path
    escaped = (
        character.encode("unicode_escape").decode()
        if character in "\n\t" or clean_text(character).text != character
        else character
        for character in readable
    )
    return mask_secrets("".join(escaped)).text


def shown_names(paths: Sequence[str]) -> Sequence[str]:
    """Each path as it may be shown. One search over all of them finds that most lists hide nothing."""
    together = "/".join(paths)
    return paths if shown_name(together) == together else [*map(shown_name, paths)]


_LONG_WORD = rf"[^\s/]{{{LONGEST_WORD + 1},}}"


def message_line(text: str) -> str:
    """A message as people may see it, in one line: clean, and without the middle of very long words and messages.

    A word ends at a blank and at `/`, so a path keeps each of its names up to that length.
    """
    line = " ".join(clean_text(text).text.split())
    if len(line) <= LONGEST_WORD:
        return line
    return _without_middle(
        re.sub(_LONG_WORD, lambda word: _without_middle(word[0], LONGEST_WORD), line), LONGEST_MESSAGE
    )


def _without_middle(text: str, most: int) -> str:
    # The beginning says what it is about, and the end what to do.
    end = most // 3
    return text if len(text) <= most else f"{text[: most - end - 3]}...{text[-end:]}"


_CI_COMMAND = r"(?m)^(?=[^\S\n]*::)"


def without_ci_commands(text: str) -> str:
    """The text with a backslash before each line that begins with `::`, which a CI system would obey."""
    return re.sub(_CI_COMMAND, r"\\", text) if "::" in text else text


def clean_value(value: object, cleaning: Cleaning, line: int, hidden: list[Hidden]) -> object:
    """The value with all texts in it cleaned, mappings and lists in place; what was removed is added to `hidden`.

    `line` is that of the value's file, for values that know none of their own.
    """
    if isinstance(value, str):
        clean = _clean_short_text(value, cleaning) if len(value) <= _SHORT else clean_text(value, cleaning)
        hidden += (run._replace(line=line) for run in clean.hidden)
        return clean.text
    if isinstance(value, tuple):
        return tuple(clean_value(item, cleaning, line, hidden) for item in value)
    if isinstance(value, list):
        value[:] = [clean_value(item, cleaning, line, hidden) for item in value]
    elif isinstance(value, dict):
        line, lines = getattr(value, "line", line), getattr(value, "lines", {})
        items = [
            (clean_value(key, cleaning, line, hidden), _clean_item(key, item, cleaning, lines.get(key, line), hidden))
            for key, item in value.items()
        ]
        value.clear()
        value.update(items)
    return value


# Keys, types and days come again in each row of a file.
_clean_short_text = lru_cache(maxsize=1024)(clean_text)


def _clean_item(key: object, item: object, cleaning: Cleaning, line: int, hidden: list[Hidden]) -> object:
    # A value may be a secret only by its key, such as `password`.
    cleaned = clean_value(item, cleaning, line, hidden)
    if not isinstance(key, str) or not isinstance(cleaned, str) or cleaning.secrets == "keep":
        return cleaned
    before = f"{key}: "
    masked = clean_value(before + cleaned, _MASK_ONLY, 0, [])
    assert isinstance(masked, str)
    return masked[len(before) :] if masked.startswith(before) else cleaned


def hidden_problems(document: Document) -> Iterator[Problem]:
    """The problems of the characters that reading removed, but in the managed block: these were reported before."""
    in_gaps = {line for gap in document.gaps for line in range(gap.first, gap.last + 1)}
    return removal_problems(document.path, [run for run in document.hidden if run.line not in in_gaps])


def removal_problems(path: str, runs: Iterable[Hidden]) -> Iterator[Problem]:
    """A problem for the characters of each kind that reading removed from each line, or from the whole file."""
    for run, words in folded_hidden(run for run in runs if run.kind != "blank"):
        yield Problem(HIDDEN_TEXT, path, run.line, words, _REMOVED)


def hidden_words(run: Hidden, *others: Hidden) -> str:
    """A run, and others of its kind after it, in words, with the beginning of the message that each spells."""
    length, lines = sum(each.length for each in (run, *others)), len({each.line for each in (run, *others)})
    count = f"{length:,} hidden characters" if length > 1 else "a hidden character"
    place = f"from column {run.column} on" if others else f"at column {run.column}"
    payload = run.payload if len(run.payload) <= MAX_QUOTED_LENGTH else run.payload[:MAX_QUOTED_LENGTH] + "..."
    says = f' that say{"s" * (length == 1)} "{payload}"' if payload else ""
    return f"{count} {place}{f' in {lines:,} lines' * (lines > 1)} ({run.kind}: {run.codes}){says}"


MANY_LINES = 5
"""Lines of a file with hidden characters of one kind above which they are reported together."""


def folded_hidden(runs: Iterable[Hidden]) -> Iterator[tuple[Hidden, str]]:
    """The first run of each kind in each line, or in the file if many lines have it, and the words for all of these."""
    lines_of: dict[tuple[str, bool], dict[int, list[Hidden]]] = {}
    for run in runs:
        lines_of.setdefault((run.kind, bool(run.payload)), {}).setdefault(run.line, []).append(run)
    for lines in lines_of.values():
        for own in lines.values() if len(lines) <= MANY_LINES else [[*chain.from_iterable(lines.values())]]:
            yield own[0], f"holds {hidden_words(*own)}"


MAX_FRONT_MATTER = 65_536
"""Characters of the longest front matter."""

_BYTE_ORDER_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))

_GZIP_STEP = 4096
"""Bytes of a compressed file that are taken at a time, so that one of many small members takes no longer."""


def decode_document(path: str, data: bytes, cleaning: Cleaning = CLEAN) -> Document | Problem:
    """The document in a file's bytes; a problem that names the byte if the bytes are not text.

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
    decoded = decode_text(path, data)
    if isinstance(decoded, Problem):
        return decoded
    clean = clean_text(decoded, cleaning)
    text, (first, last) = without_block(clean.text)
    gaps = [Gap(*span, "secret") for span in clean.gaps if not first <= span[0] <= last]
    document = Document(
        path,
        text,
        line=1,
        front={},
        data=data,
        gaps=tuple(sorted([*gaps, *([Gap(first, last, "block")] if first else [])])),
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
        what = f"has front matter of {len(head):,} characters, more than the limit of {MAX_FRONT_MATTER:,}"
        return Problem("too-large", path, 1, what)
    return document._replace(text="\n".join(lines[front.lines :]), line=front.lines + 1, front=front.values, head=head)


def decode_text(path: str, data: bytes) -> str | Problem:
    """The text in a file's bytes, of a `.gz` file decompressed, as it is; a problem if the bytes are not text."""
    content = _decompressed(path, data) if path.endswith(".gz") else data
    if isinstance(content, Problem):
        return content
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        what = f"is not valid {encoding.removesuffix('-sig').upper()}: {error.reason} at byte {error.start}"
        return Problem("not-text", path, 0, what)


_cached_document = lru_cache(maxsize=256)(_decoded)


def _decompressed(path: str, data: bytes) -> bytes | Problem:
    """The content of a gzip file of one or more members; a problem if it is damaged, or too large."""
    import zlib

    contents: list[bytes] = []
    room, member = MAX_FILE, None
    for start in range(0, len(data), _GZIP_STEP):
        compressed = data[start : start + _GZIP_STEP]
        while compressed := compressed if member else compressed.lstrip(b"\0"):
            member = member or zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
            try:
                contents.append(member.decompress(compressed, room + 1))
            except zlib.error as error:
                return Problem("not-text", path, 0, f"is not a gzip file: {error}")
            room -= len(contents[-1])
            if room < 0:
                return Problem("too-large", path, 0, f"holds more than {MAX_FILE:,} bytes, the most that is read")
            compressed, member = (member.unused_data, None) if member.eof else (b"", member)
    if member:
        return Problem("not-text", path, 0, "is a gzip file that is cut off")
    return b"".join(contents)


def parse_data(document: Document, parse: Parse) -> Data | Problem:
    """The values of a document: as JSON where its name ends in `.json`, else as `parse` reads them.

    Their texts are cleaned once more, since an escape can spell what reading removes. What is private in them is
    left out if the document's private parts are; it is a gap of the document then. All of it is private if a mark is
    not in a value, and if values can't be told from it.
    """
    if document.withheld == "file":
        return Data(document, [])
    try:
        read = load_json if document.path.endswith(".json") else parse
        value = read(document.data.decode("utf-8-sig"), document.path)
    except ContextasmError as error:
        if document.lacks_private:  # the message may quote a key
            return _closed_data(document)
        line = error.where.rpartition(":")[2]
        return Problem("bad-data", document.path, int(line) if line.isdecimal() else 0, f"{error.what}: {error.hint}")
    except UnicodeDecodeError:
        return Problem("bad-data", document.path, 0, "is not UTF-8: save it as UTF-8")
    if document.withheld:
        # here: most contexts are personal
        from contextasm.text.cleaning.private_parts import marks_more_than_values, without_private

        if document.lacks_private and marks_more_than_values(with_private_parts(document).whole, value):
            return _closed_data(document)
        lines: list[int] = []
        value = without_private(value, document.path, lines)
        if lines and not document.lacks_private:
            gaps = tuple(Gap(line, line, "private") for line in sorted({*lines}))
            document = document._replace(gaps=gaps, hidden=())
    hidden: list[Hidden] = []
    value = clean_value(value, document.cleaning, 1, hidden)
    written = {run.codes for run in document.hidden}
    spelled = tuple(run for run in hidden if run.codes not in written)  # by escapes; the others are known
    return Data(document._replace(hidden=(*document.hidden, *spelled)), value)


def with_private_parts(document: Document) -> Document:
    """The document with its private parts, for the places of what is shown of it."""
    read = decode_document(document.path, document.data, document.cleaning)
    assert isinstance(read, Document)  # it was read before
    return read


def _closed_data(document: Document) -> Data:
    from contextasm.text.cleaning.private_parts import withhold_file

    return Data(withhold_file(document), [])
