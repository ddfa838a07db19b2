"""Turn the sections of a manual page into Markdown, for the site.

It knows the macros of `man` that the two pages use, and raises `ValueError` for any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

STYLES = {"B", "I", "R", "BR", "RB", "IR", "RI", "BI", "IB"}
"""Macros whose letters are the fonts of their words, in turns."""

_ESCAPES = {"-": "-", "e": "\\", "&": "", " ": " ", "(aq": "'", "(dq": '"', "(ga": "`", "(bu": "*", "(sc": "\u00a7"}
_FONT_OR_ESCAPE = re.compile(r"\\f([BIR])|\\(\(..|.)")
_PATH = re.compile(r"[^a-z ]")
"""A text in italics that has a letter like these names a file or a value; another one is a term."""


def sections(page: str) -> dict[str, list[str]]:
    """The lines of each section of a manual page, by its heading."""
    parts = re.split(r"(?m)^\.SH (.*)\n", page)
    return {title: body.splitlines() for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def entries(lines: Sequence[str]) -> dict[str, list[str]]:
    """The body of each tagged paragraph that is not inside another one, by its tag as plain text."""
    found: dict[str, list[str]] = {}
    body: list[str] = []
    depth = 0
    rest = iter(lines)
    for line in rest:
        depth += {".RS": 1, ".RE": -1}.get(line, 0)
        if line == ".TP" and not depth:
            body = found[plain(next(rest))] = []
        else:
            body.append(line)
    return found


def plain(line: str) -> str:
    """A line without fonts."""
    return "".join(text for _, text in _runs(line))


def markdown(lines: Sequence[str], *, heading: str = "") -> str:
    """Lines of a section as Markdown; `heading` is the marks of tags that are not inside another one.

    Without it, tagged paragraphs are definition lists.
    """
    return "\n".join(_Writer(heading).written(lines)).strip() + "\n"


class _Writer:
    """The state of a text that is being written: how deep it is, and what waits for the end of its paragraph."""

    def __init__(self, heading: str) -> None:
        self.heading, self.depth, self.lead = heading, [0], ""
        self.words: list[str] = []

    def written(self, lines: Sequence[str]) -> Iterator[str]:
        rest = iter(lines)
        for line in rest:
            macro, _, words = line.partition(" ")
            if line.startswith('.\\"'):
                continue
            if not line.startswith(".") or macro[1:] in STYLES:
                self.words.append(inline(line))
            elif macro in {".nf", ".EX"}:
                yield from self._paragraph()
                yield from self._code(rest)
            else:
                yield from self._paragraph()
                yield from self._structure(macro, words, rest)
        yield from self._paragraph()

    def _paragraph(self) -> Iterator[str]:
        if self.words:
            yield " " * 4 * sum(self.depth[: -1 if self.lead else None]) + self.lead + " ".join(self.words)
            yield ""
        self.words, self.lead = [], ""

    def _code(self, rest: Iterator[str]) -> Iterator[str]:
        indent = " " * 4 * sum(self.depth)
        yield f"{indent}```text"
        for line in rest:
            if line in {".fi", ".EE"}:
                break
            yield indent + plain(line)
        yield from (f"{indent}```", "")

    def _structure(self, macro: str, words: str, rest: Iterator[str]) -> Iterator[str]:
        match macro:
            case ".SS":
                self.depth[:] = [0]
                yield from (f"## {words}", "")
            case ".TP" if self.heading and len(self.depth) == 1:
                yield from (f"{self.heading} {inline(next(rest))}", "")
            case ".TP":
                self.depth[-1] = 0
                yield " " * 4 * sum(self.depth) + inline(next(rest))
                self.depth[-1], self.lead = 1, ":   "
            case ".PP":
                self.depth[-1] = 0
            case ".IP" if words.startswith("\\(bu"):
                self.depth[-1], self.lead = 1, "-   "
            case ".IP":
                pass
            case ".RS":
                self.depth.append(0)
            case ".RE":
                self.depth.pop()
            case ".br":
                self.words.append("<br>")
            case _:
                raise ValueError(f"the macro {macro} is unknown")


def inline(line: str) -> str:
    """A line of text, or of a macro that sets its fonts, as Markdown."""
    merged: list[tuple[str, str]] = []
    for font, text in _runs(line):
        if merged and "R" not in (font, merged[-1][0]):
            merged[-1] = ("B", merged[-1][1] + text)
        else:
            merged.append((font, text))
    return "".join(_styled(font, text) for font, text in merged if text)


def _styled(font: str, text: str) -> str:
    if font == "R":
        return re.sub(r"([*\[\]<\\`])", r"\\\1", text)
    if font == "I" and not _PATH.search(text):
        return f"*{text}*"
    fence = "``" if "`" in text else "`"
    inner = text.strip()
    padded = f" {inner} " if "`" in inner else inner
    lead, end = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return f"{lead}{fence}{padded}{fence}{end}"


def _runs(line: str) -> Iterator[tuple[str, str]]:
    """Each part of a line with its font."""
    macro, _, rest = line.partition(" ")
    if macro[:1] == "." and macro[1:] in STYLES:
        fonts = macro[1:]
        words = _words(rest)
        if len(fonts) == 1:
            yield fonts, _unescaped(" ".join(words))
        else:
            yield from ((fonts[number % 2], _unescaped(word)) for number, word in enumerate(words))
        return
    font, end = "R", 0
    for match in re.finditer(r"\\f([BIR])", line):
        yield font, _unescaped(line[end : match.start()])
        font, end = match[1], match.end()
    yield font, _unescaped(line[end:])


def _words(text: str) -> list[str]:
    """The words of a macro: blanks part them, but not inside of quotes or after a backslash."""
    return [quoted or word for quoted, word in re.findall(r'"((?:[^"]|"")*)"|((?:\\ |[^\s])+)', text)]


def _unescaped(text: str) -> str:
    # Fonts may change inside of a word of a macro, such as `\fR`.
    return _FONT_OR_ESCAPE.sub(lambda match: "" if match[1] else _ESCAPES[match[2]], text)
