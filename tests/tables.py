"""Tables of what is given and what comes of it, as text: `cases/NAME.txt`."""

from __future__ import annotations

from tests.command import CASES


def rows(name: str) -> list[tuple[str, ...]]:
    r"""The rows of a table: columns between ` | `, where `\n` is a line break; a line that begins with `# ` is none."""
    lines = (CASES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [tuple(map(_text, line.split(" | "))) for line in lines if not line.startswith("# ")]


def column(name: str) -> list[str]:
    """The rows of a table of one column."""
    return [text for (text,) in rows(name)]


def _text(written: str) -> str:
    """A column as it is meant."""
    return "" if written == "(nothing)" else written.replace("\\n", "\n")
