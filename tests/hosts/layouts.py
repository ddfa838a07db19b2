"""Folders that are shown to the real hosts: what each loads and cuts of them is held against `explain --host`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

LINE = 110


def numbered(name: str, lines: int, fill: str = "x", lead: str = "") -> str:
    """A text of lines that are all different, with a heading in every tenth; `lead` is before them."""
    marks = (f"{'## ' if number % 10 == 0 else ''}[{name}:{number}]" for number in range(1, lines + 1))
    return lead + "".join(f"{mark}{fill * (LINE - len(mark))}<{mark}>\n" for mark in marks)


def exactly(name: str, size: int, fill: str = "x", measure: Callable[[str], int] = len) -> str:
    """Such a text of exactly this size, which ends with a line of `z`."""
    lines = size // measure(numbered(name, 1, fill))
    while measure(text := numbered(name, lines, fill)) > size - 20:
        lines -= 1
    return text + "z" * (size - measure(text))


def utf8(text: str) -> int:
    """Bytes of a text."""
    return len(text.encode())


def utf16(text: str) -> int:
    """Units of UTF-16 in a text."""
    return len(text.encode("utf-16-le")) // 2


class Layout(NamedTuple):
    """Files of a repository, and what they try."""

    tries: str
    hosts: str
    """The letters of the hosts: c is Claude Code, x Codex, g Gemini CLI, o OpenClaw, h Hermes."""
    files: Mapping[str, str | int]
    """Texts by path, or numbers of lines; MAIN is the file that a host reads first, and `-> PATH` a link to a file."""
    session: str = ""
    """Folder, below the top, in which the session starts."""
    home: Mapping[str, str | int] = {}
    """Files of the person, by path in the home."""


MAIN = {"claude-code": "CLAUDE.md", "gemini": "GEMINI.md"}
"""The file that a host reads first; `AGENTS.md` for the others."""

COMMENTS = """<!--
[NAME:1] for people
-->

<!-- [NAME:2] in one line -->

Text <!-- [NAME:3] in a line --> goes on.

```html
<!-- [NAME:4] in a fence -->
```
"""
FRONT = "---\nowner: the platform team of this place\n---\n"
MARKED = "\ufeff" + numbered("m", 400).replace("\n", "\r\n")
"""With a byte order mark and the line ends of Windows."""

IMPORTS = {
    "plain.md": "@docs/plain.md", "middle.md": "See @docs/middle.md for more.", "stop.md": "See @docs/stop.md.",
    "comma.md": "See @docs/comma.md, please.", "round.md": "(@docs/round.md)", "bold.md": "**@docs/bold.md**",
    "quoted.md": '"@docs/quoted.md"', "link.md": "[x](@docs/link.md)", "label.md": "[@docs/label.md](https://x.org)",
    "mail.md": "me@docs/mail.md", "span.md": "`@docs/span.md`", "fence.md": "```\n@docs/fence.md\n```",
    "indent.md": "Text\n\n    @docs/indent.md", "after.md": "<!-- note --> @docs/after.md", "NOEXT": "@docs/NOEXT",
    "comment.md": "<!-- @docs/comment.md -->", "html.md": "<div>\n@docs/html.md\n</div>",
    "odd.weird": "@docs/odd.weird",
    "anchor.md": "@docs/anchor.md#part", "with space.md": r"@docs/with\ space.md", "item.md": "- a\n  - @docs/item.md",
}  # fmt: skip
"""Lines that import a file of `docs/`, by its name."""

CHAIN = {f"docs/d{number}.md": f"@./d{number + 1}.md\n\n{numbered(f'd{number}', 3)}" for number in range(1, 9)}
RULE = "---\npaths: {}\n---\n\n"

LAYOUTS = (
    Layout("a long file", "cg", {"MAIN": 1500, "CLAUDE.local.md": 5, ".claude/CLAUDE.md": 900}),
    Layout("Japanese, emoji", "cg", {"MAIN": numbered("m", 300, "港") + numbered("e", 300, "😀")}),
    Layout("a limit", "x", {"MAIN": exactly("m", 32_768, measure=utf8)}),
    Layout("a limit and one byte", "x", {"MAIN": exactly("m", 32_769, measure=utf8)}),
    Layout("Japanese, emoji, over a limit", "x", {"MAIN": numbered("m", 60, "港") + numbered("e", 50, "😀")}),
    Layout("a limit for three folders", "x", {"MAIN": 150, "a/MAIN": 100, "a/b/MAIN": 150}, "a/b"),
    Layout("blanks at the ends", "x", {"MAIN": "\n" * 3000 + numbered("m", 260) + "\n" * 3000}),
    Layout("an override", "x", {"AGENTS.override.md": 9, "MAIN": 9, "a/MAIN": 9}, "a"),
    Layout("a blank override", "x", {"AGENTS.override.md": " \n\n", "MAIN": 9}),
    Layout("Windows", "cxg", {"MAIN": MARKED}),
    Layout("comments, front matter", "cxg", {"MAIN": FRONT + numbered("m", 9) + COMMENTS.replace("NAME", "cm"),
        ".claude/rules/r.md": numbered("r", 9) + COMMENTS.replace("NAME", "cr")}),
    Layout("folders", "cxg", {"MAIN": 9, "a/MAIN": 9, "a/b/MAIN": 9, "a/AGENTS.md": 9}, "a"),
    Layout("files of other programs", "cxg", {"MAIN": 9, "AGENTS.md": 9, "CLAUDE.md": 9, ".hermes.md": 9,
        ".cursorrules": 9}),
    Layout("imports", "cxg", {"MAIN": "\n\n".join(IMPORTS.values()) + "\n"}
        | dict.fromkeys((f"docs/{name}" for name in IMPORTS), 3)),
    Layout("a chain of imports", "cxg", {"MAIN": "@docs/d1.md\n"} | CHAIN),
    Layout("imports of rules", "c", {"AGENTS.md": "@docs/d3.md\n", ".claude/rules/r.md": "@../../docs/d6.md\n"}
        | CHAIN),
    Layout("rules by path", "c", {"MAIN": 3, ".claude/rules/py.md": RULE.format("src/*.py") + numbered("p", 9),
        ".claude/rules/deep/all.md": RULE.format("'**'") + numbered("a", 9), ".claude/rules/none.md": 9}),
    Layout("links", "cxg", {"docs/real.md": 9, "MAIN": "-> docs/real.md", "a/MAIN": "-> ../docs/a.md",
        "docs/a.md": 9}, "a"),
    Layout("AGENTS.md without another", "c", {"AGENTS.md": 9, "a/AGENTS.md": 9}, "a"),
    Layout("the person's file", "cxg", {"MAIN": 9}, "", {".claude/CLAUDE.md": 600, ".codex/AGENTS.md": 600,
        ".gemini/GEMINI.md": 600}),
    Layout("MEMORY.md, lines", "c", {"MAIN": "x\n"}, "", {"MEMORY.md": "\n\n" + FRONT + numbered("m", 300)}),
    Layout("MEMORY.md, a limit and one character", "c", {"MAIN": "x\n"}, "", {"MEMORY.md": exactly("m", 25_001, "港",
        utf16)}),
    Layout("each file at its limit", "o", {"AGENTS.md": exactly("a", 20_000), "SOUL.md": exactly("s", 19_990),
        "USER.md": exactly("u", 4_001), "IDENTITY.md": exactly("i", 9_000, "😀", utf16), "MEMORY.md": 40}),
    Layout("the limit of all, and a digest", "o", {"AGENTS.md": numbered("a", 400, lead="Never push.\n"),
        "SOUL.md": exactly("s", 20_001, "港"), "IDENTITY.md": 190, "USER.md": "x\n", "MEMORY.md": 90}),
    Layout("Windows, comments, front matter, links", "o", {"AGENTS.md": FRONT + numbered("a", 9) + COMMENTS,
        "SOUL.md": "-> docs/s.md", "docs/s.md": 9, "IDENTITY.md": MARKED,
        "MEMORY.md": "\n\n\n" + FRONT + numbered("y", 9), "USER.md": "x\n", "memory.md": 9}),
    Layout("a first run, and other names", "o", {"AGENTS.md": 5, "BOOTSTRAP.md": exactly("b", 20_001), "CLAUDE.md": 9,
        "a/AGENTS.md": 9}),
    Layout("a limit", "h", {"AGENTS.md": exactly("a", 20_000 - len("## AGENTS.md\n\n")), "CLAUDE.md": 9}, "",
        {".hermes/SOUL.md": exactly("s", 20_001, "😀"), ".hermes/memories/MEMORY.md": 30}),
    Layout("a limit and one character", "h", {"AGENTS.md": exactly("a", 20_001 - len("## AGENTS.md\n\n"), "港")}, "",
        {".hermes/SOUL.md": FRONT + numbered("s", 9) + COMMENTS}),
    Layout("Windows", "h", {"CLAUDE.md": MARKED, "GEMINI.md": 9}),
    Layout("rules", "h", {".cursorrules": 100, ".cursor/rules/a.mdc": 90, ".cursor/rules/b.mdc": 30}),
    Layout("a file from above, links", "h", {".hermes.md": "-> docs/h.md", "docs/h.md": 250, "a/AGENTS.md": 9}, "a"),
)  # fmt: skip
