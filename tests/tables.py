"""What is given and what comes of it, as text: tables, `cases/NAME.txt`, and golden files of cases with their files."""

import re
from pathlib import Path

from tests.command import CASES


def rows(name: str) -> list[tuple[str, ...]]:
    r"""The rows of a table: columns between ` | `, in which `\n` is a line break; `# ` begins a remark."""
    lines = (CASES / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return [tuple(map(_text, line.split(" | "))) for line in lines if not line.startswith("# ")]


def column(name: str) -> list[str]:
    """The rows of a table of one column."""
    return [text for (text,) in rows(name)]


def unescaped(text: str) -> str:
    r"""A text in which `\u{202e}` is the character of that number."""
    return re.sub(r"\\u\{(\w+)\}", lambda match: chr(int(match[1], 16)), text)


def _text(written: str) -> str:
    """A column as it is meant."""
    return "" if written == "(nothing)" else unescaped(written.replace("\\n", "\n"))


def cases(file: Path) -> dict[str, str]:
    """The cases of a golden file by their names: what stands below `=== case NAME`."""
    parts = (part.partition("\n") for part in file.read_text(encoding="utf-8").split("=== case ")[1:])
    return {name: text for name, _, text in parts}


def files_of(case: str) -> dict[str, bytes]:
    r"""The files of a golden case, in which `\u{202e}` is the character of that number, and `\u{dce9}` the byte E9."""
    texts = (each.partition("\n") for each in case.split("=== file ")[1:])
    return {path: unescaped(text).encode("utf-8", "surrogateescape") for path, _, text in texts}
