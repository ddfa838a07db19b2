"""Managed blocks: the part of a user's file that ctxasm writes, between two marker lines.

Every character outside the block stays, line ends included. No file is opened here.
"""

import re
from collections.abc import Sequence
from hashlib import sha256

from contextasm.model import ContextasmError, NamedTuple, Span

_WORDS = " made by ctxasm: do not edit up to the end marker"

_MARKER = rf"(?m)^\ufeff?<!-- ctxasm:(begin|end)\b(?: ([0-9a-f]{{15,17}})\b)?(?:{_WORDS})?(?:[ \t]*-->)?([^\n]*?)(\r?)$"
"""A marker line without its line feed, also with a digest or an end that was changed by hand.

Group 2 is the digest, and group 3 all that ctxasm did not write: it is a person's, also inside of the marker.
"""

_ESCAPED = r"(?m)^(?=\ufeff?\\*<!-- ctxasm:(?:begin|end)\b)"
"""The start of a line of content that would be taken for a marker, or for one with a backslash before it."""


class ManagedBlock(NamedTuple):
    """The managed block of a text."""

    start: int
    """Start of the begin marker's line in the text, in characters."""
    end: int
    """End of the end marker: before the line end, or before the words that a person put into the marker or after it."""
    line: int
    """The line of the begin marker, counted from 1."""
    eol: str
    """The line end that the block is written with."""
    content: str
    """Text between the markers, with LF line ends; a person's words on the begin marker's line are part of it."""
    digests: tuple[str, str]
    """Digests in the begin and the end marker; empty for none."""

    @property
    def edited(self) -> bool:
        """Whether the content or a digest was changed after ctxasm wrote it."""
        return set(self.digests) != {short_digest(self.content)}

    @property
    def ours(self) -> bool:
        """Whether ctxasm wrote the markers or nothing is between them; other markers are lines that a text shows."""
        return all(self.digests) or not self.content.strip()


def find_block(text: str) -> ManagedBlock | tuple[int, str] | None:
    """The managed block of a text; None for a text without markers.

    If its markers make no block: the first line, counted from 1, that does not fit, and its fault.
    """
    markers = list(re.finditer(_MARKER, text))
    if not markers:
        return None
    for number, marker in enumerate(markers):
        if fault := _marker_fault([other[1] for other in markers], number):
            return _line_number(text, marker.start()), fault
    begin, end = markers
    start = begin.start() + begin[0].startswith("\ufeff")
    eol = "\r\n" if begin[4] else "\n"
    first = begin.start(3) if begin[3].strip(" \t") else begin.end() + 1
    content = text[first : end.start()].replace("\r\n", "\n")
    stop = end.start(3) if end[3].strip(" \t") else end.end(3)
    return ManagedBlock(start, stop, _line_number(text, start), eol, content, (begin[2] or "", end[2] or ""))


def _marker_fault(kinds: Sequence[str], number: int) -> str:
    if kinds[number] == "begin":
        if "begin" in kinds[:number]:
            return "there is a second begin marker"
        return "" if "end" in kinds[number + 1 :] else "the begin marker has no end marker"
    if "begin" not in kinds[:number]:
        return "the end marker has no begin marker"
    return "there is a second end marker" if "end" in kinds[:number] else ""


def without_block(text: str) -> tuple[str, Span]:
    """The text with blank lines in place of its managed block, and the block's first and last line.

    The lines of the rest keep their numbers. (0, 0), and the text as it is, where no markers make a block of ours.
    """
    block = find_block(text) if "<!-- ctxasm:" in text else None
    if not isinstance(block, ManagedBlock) or not block.ours:
        return text, (0, 0)
    line_ends = text.count("\n", block.start, block.end)
    rest = text[block.end :]
    last = block.line + line_ends - (_on_own_line(rest, block.eol) != rest)
    return text[: block.start] + "\n" * line_ends + rest, (block.line, last)


def with_block(text: str | None, content: str, where: str, *, force: bool = False) -> str:
    """The text, None for no file, with `content` as its managed block, which is appended if it has none.

    `where` names the text in messages. A block that was edited by hand is replaced only with `force`. Raises
    `ContextasmError` for such a block, with code 1, and for broken markers.
    """
    content = re.sub(_ESCAPED, r"\\", content.replace("\r\n", "\n").rstrip("\n") + "\n")
    before = text or ""
    if block := _own_block(before, content, where, "overwrite them with `ctxasm build --into FILE", force=force):
        after = _on_own_line(before[block.end :], block.eol)
        return before[: block.start] + _format_block(content, block.eol) + after
    eol = "\r\n" if before.partition("\n")[0].endswith("\r") else "\n"
    # By the line end after the block, `remove_block` knows how the text ended.
    after = eol if text is None or text.endswith("\n") else ""
    return before + _gap(before, eol, after) + _format_block(content, eol) + after


def remove_block(text: str, where: str, *, force: bool = False) -> str | None:
    """The text as it was before `with_block` appended its managed block, None for no file; without a block, the text.

    Raises `ContextasmError` as `with_block` does.
    """
    block = _own_block(text, None, where, "drop them with `ctxasm build --into FILE --remove", force=force)
    if not block:
        return text
    before, after = text[: block.start], _on_own_line(text[block.end :], block.eol)
    rest = before.removesuffix(_gap(before, block.eol, after)) + after.partition("\n")[2]
    return rest if rest or not after else None


def _own_block(text: str, content: str | None, where: str, hint: str, *, force: bool) -> ManagedBlock | None:
    block = find_block(text)
    if block is None:
        return None
    if not isinstance(block, ManagedBlock):
        line, fault = block
        hint = "keep one line `<!-- ctxasm:begin ... -->` and one `<!-- ctxasm:end ... -->` after it, or remove both"
        raise ContextasmError(f"{where}:{line}", fault, hint)
    if block.edited and block.content != content and not force:
        hint = f"move your edits out of the block, or {hint} --force`"
        raise ContextasmError(f"{where}:{block.line}", "the managed block was edited by hand", hint, code=1)
    return block


def _on_own_line(after: str, eol: str) -> str:
    """The text after a block, with words on the line of the end marker on a line of their own.

    A block may end a file without a line end, and what is appended to the file is then on that line.
    """
    return after if not after or re.match(r"\r?(\n|$)", after) else eol + after


def _gap(before: str, eol: str, after: str) -> str:
    """The line ends that part an appended block from the text before it."""
    return "" if before in {"", "\ufeff"} else eol if after else eol * 2


def _format_block(content: str, eol: str) -> str:
    # Without the line end of its last line.
    digest = short_digest(content)
    text = f"<!-- ctxasm:begin {digest}{_WORDS} -->\n{content}<!-- ctxasm:end {digest} -->"
    return text.replace("\n", eol)


def short_digest(content: str) -> str:
    """A digest of what ctxasm writes into a file of others, given with LF line ends: a checkout may have others."""
    return sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _line_number(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
