"""Write the OPTIONS part of `man/ctxasm.1` from the command line itself.

Only what is between the two marker lines is replaced. `--check` writes nothing and exits 1 if the part is stale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from contextasm.cli.typer_commands import group

PAGE = Path(__file__).resolve().parent.parent / "man" / "ctxasm.1"
BEGIN, END = '.\\" options begin\n', '.\\" options end\n'

Entry = tuple[str, str]
"""An option as it is written, and what it does; both in roff."""


def main(words: list[str]) -> int:
    """The exit code."""
    if words not in ([], ["--check"]):
        print("usage: python tools/man_options.py [--check]", file=sys.stderr)
        return 2
    old = PAGE.read_text(encoding="utf-8")
    new = with_options(old)
    if words and old != new:
        print(f"{PAGE.name}: stale: run `python tools/man_options.py`", file=sys.stderr)
        return 1
    if old != new:
        PAGE.write_text(new, encoding="utf-8")
    return 0


def with_options(page: str) -> str:
    """The page with its generated part made afresh."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE.name}: a line `options begin` or `options end` is missing")
    return head + BEGIN + "".join(f"{line}\n" for line in options()) + END + tail


def options() -> Iterator[str]:
    """What several commands take alike, then what each has of its own."""
    whole = group()
    every = {name: _entries(whole.get_command(None, name)) for name in whole.list_commands(None)}
    users: dict[Entry, list[str]] = {}
    for name, entries in every.items():
        for entry in entries:
            users.setdefault(entry, []).append(name)
    shared = {entry: names for entry, names in users.items() if len(names) > 1}
    yield ".SS Of ctxasm itself"
    yield from _lines(_entries(whole))
    yield ".SS Of several commands"
    for entry, names in shared.items():
        taken = "every command" if len(names) == len(every) else ", ".join(names)
        yield from _lines([(entry[0], f"{entry[1]}\n({taken})")])
    for name, entries in every.items():
        own = [entry for entry in entries if entry not in shared]
        if own:
            yield f".SS {name}"
            yield from _lines(own)


def _entries(command: Any) -> list[Entry]:
    """The arguments and flags of a command."""
    parameters = command.get_params(typer.Context(command))
    return [_entry(each) for each in parameters if not getattr(each, "hidden", False)]


def _entry(parameter: Any) -> Entry:
    """One argument or flag: the short form first, as in `--help`."""
    value = (parameter.metavar or "").strip("[]")
    text = roff(parameter.help or "")
    if parameter.param_type_name == "argument":
        return f"\\fI{roff(value or parameter.name.upper())}\\fR", text
    names = sorted((*parameter.opts, *parameter.secondary_opts), key=len)
    written = ", ".join(f"\\fB{roff(name)}\\fR" for name in names)
    return f"{written} \\fI{roff(value)}\\fR" if value else written, text


def _lines(entries: list[Entry]) -> Iterator[str]:
    """Tagged paragraphs."""
    for title, text in entries:
        yield from (".TP", title, text)


def roff(text: str) -> str:
    """Plain text, with nothing in it that roff takes for an order."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return f"\\&{text}" if text.startswith(".") else text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
