"""Standard streams of a command: text from standard input and to standard output, messages, tables, JSON, progress."""

from __future__ import annotations

import errno
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from contextasm.model import CLEAN, MAX_FILE, Context, ContextasmError, Document, Problem, system_errors, utf8_text
from contextasm.text.cleaning.clean import clean_text, clean_value, decode_text, without_ci_commands
from contextasm.text.names.templates import one_line
from contextasm.workspace.atomic import as_bytes
from contextasm.workspace.reading import ReadFailure, named_bytes, too_large
from contextasm.workspace.reads import emit


def read_stdin(where: str, kind: str) -> str:
    """All of standard input as text; `kind` is the noun that a message has for it. Raises `ContextasmError`."""
    if sys.stdin is None:  # closed before the process began
        raise ContextasmError(where, "standard input is closed", f"pipe the {kind} in")
    with system_errors(where, "standard input can't be read", f"pipe the {kind} in"):
        data = sys.stdin.buffer.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise ContextasmError(where, f"standard input {too_large(len(data), MAX_FILE).message}", "pipe in less")
    return utf8_text(data, where, "pipe UTF-8 text in")


def input_text(file: str) -> str:
    """The text of a file as it is, or of standard input for `-`. Raises `ContextasmError` if it can't be read."""
    if file == "-":
        return read_stdin("standard input", "text")
    data = named_bytes(file)
    read = data if isinstance(data, ReadFailure) else decode_text(file, data)
    if isinstance(read, str):
        return read
    raise ContextasmError(file, read.message, "name a file of text")


def shown(text: str) -> str:
    """The text as people may see it: without hidden and control characters and commands of CI, its secrets masked."""
    return without_ci_commands(clean_text(text).text)


def shown_line(message: str) -> str:
    """The message as people may see it, in one line even if the names in it hold line breaks."""
    return without_ci_commands(one_line(clean_text(message).text))


def write_stdout(text: str) -> None:
    """Write text to standard output, to the last byte; it is a document, or made of texts that were `shown`.

    Raises `BrokenPipeError` if the reader has gone, else `ContextasmError`.
    """
    try:
        emit(1, as_bytes(text))
    except OSError as error:
        raise stdout_error(error) from error


def stdout_error(error: OSError) -> Exception:
    """The error of standard output that can't be written: `BrokenPipeError` if the reader has gone."""
    if isinstance(error, BrokenPipeError):
        return error
    hint = "free some space" if error.errno == errno.ENOSPC else "redirect it to a file"
    return ContextasmError("standard output", f"can't be written: {error.strerror}", hint)


def require_stdout() -> None:
    """Raise `ContextasmError` if standard output is closed.

    A command that changes files calls it first: who gets an error runs the command again, and would store twice.
    """
    if sys.stdout is None:  # its number may be that of another open file by now
        raise ContextasmError("standard output", "is closed", "redirect it to a file; nothing has been written")


def write_receipt(text: str) -> None:
    """Write to standard output what a command has stored. Raises `ContextasmError`, which says that it is stored."""
    try:
        write_stdout(shown(text))
    except ContextasmError as error:
        hint = "do not run the command again; everything is stored"
        raise ContextasmError(error.where, error.what, hint) from error


def write_stderr(message: str) -> None:
    """Write a message to standard error, in one line; it is lost if standard error can't be written."""
    line = shown_line(message)
    if sys.stderr and sys.stderr.isatty() and not is_plain_terminal():
        line = re.sub(r"(?<=^ctxasm: )\w+(?=: )", lambda kind: _painted(kind[0]), line)
    _emit_stderr(line)


def write_stderr_lines(text: str) -> None:
    """Write the lines of a table, of a difference or of a list to standard error, as `write_stderr` does one."""
    _emit_stderr(shown(text.rstrip("\n")))


def _emit_stderr(text: str) -> None:
    emit(2, as_bytes(f"{text}\n"))


def show_problems(
    problems: Sequence[Problem], kind: str = "warning", rest: str = "`ctxasm check` lists the defects of files"
) -> None:
    """Write the problems as lines to standard error; of each kind the first `MAX_ALIKE`.

    `rest` says how a person gets to see the others.
    """
    from contextasm.rendering.wording import problem_line

    counts: Counter[str] = Counter()
    for problem in problems:
        counts[problem.code] += 1
        if counts[problem.code] <= MAX_ALIKE:
            write_stderr(f"ctxasm: {kind}: {problem_line(problem)}")
    if more := sum(max(count - MAX_ALIKE, 0) for count in counts.values()):
        write_stderr(f"ctxasm: {kind}: {more:,} more like these; {rest}")


MAX_ALIKE = 5
"""Number of problems of one kind that are shown: a list of memories can have as many as it has lines."""


def show_common_problems(contexts: Sequence[Context]) -> None:
    """Write the problems that the first and the last of some contexts have."""
    in_first = {*contexts[0].problems}
    show_problems([problem for problem in contexts[-1].problems if problem in in_first])


def show_taken(words: str) -> None:
    """Write which profile was taken for a folder without settings; nothing for no words."""
    if words:
        write_stderr(f"ctxasm: {words}")


def show_lacking(documents: Iterable[Document], verb: str) -> None:
    """Write how many files lack private parts, and with which option a command reads them; nothing for none."""
    if lacking := sum(document.lacks_private for document in documents):
        files = f"{lacking:,} file{'' if lacking == 1 else 's'}"
        write_stderr(f"ctxasm: private parts of {files} are left out: `--audience personal` {verb} them")


_DUMB = {None, "dumb"}
"""Values of TERM for a terminal that takes no control codes."""


def is_rich_terminal() -> bool:
    """Whether standard output is a terminal that takes colour, and the person has not switched colour off."""
    return bool(sys.stdout and sys.stdout.isatty()) and not is_plain_terminal()


def is_plain_terminal() -> bool:
    """Whether terminals get no colour: they take none, or the person has switched it off."""
    return bool(os.environ.get("NO_COLOR") or os.environ.get("TERM") in _DUMB)


def has_live_line() -> bool:
    """Whether standard error is a terminal whose last line can be erased and written again."""
    return bool(sys.stderr and sys.stderr.isatty() and os.environ.get("TERM") not in _DUMB)


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows in columns: wrapped between words on a terminal, plain in a pipe, with NO_COLOR and on a dumb terminal.

    `right` holds the columns that are aligned to the right.
    """
    if not is_rich_terminal():
        return format_plain_table(header, rows, right)

    rows = _clean_rows(rows)
    from io import StringIO

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    columns = [[row[number] for row in (header, *rows)] for number in range(len(header))]
    total = console.width - 2 * len(header)
    widths = _column_widths(columns, total)
    if sum(widths) > total:
        return without_ci_commands(_blocks([header, *rows], right, console.width))
    for number, (title, width) in enumerate(zip(header, widths, strict=True)):
        table.add_column(title, justify="right" if number in right else "left", width=width, overflow="fold")
    for row in rows:
        table.add_row(*(Text.from_ansi(_painted(cell)) for cell in row))
    out = StringIO()
    Console(file=out, width=console.width, force_terminal=True).print(table)
    return without_ci_commands(out.getvalue())


_COLOURS = {
    **dict.fromkeys(("included", "active", "approved"), 32),
    **dict.fromkeys(("shortened", "truncated", "named", "draft", "warning"), 33),
    **dict.fromkeys(("dropped", "merged", "error"), 31),
    **dict.fromkeys(("excluded", "note"), 90),
}
"""Colours, as terminals number them, of outcomes of fragments, states of memories, and kinds of messages."""


def _painted(word: str) -> str:
    """A word, with blanks after it or without, in its colour."""
    colour = _COLOURS.get(word.rstrip())
    return f"\x1b[{colour}m{word}\x1b[0m" if colour else word


_LONG_CELL = 20
"""Letters of a cell that a narrow terminal may show in a line of its own."""


def _blocks(rows: Sequence[Sequence[str]], right: Sequence[int], width: int) -> str:
    """Rows for a narrow terminal: in one line if it fits, else with the long cells below it, no word broken."""
    from rich.cells import cell_len

    widths = [max(cell_len(row[number]) for row in rows) for number in range(len(rows[0]))]
    short = [number for number, size in enumerate(widths) if size <= _LONG_CELL]
    lines: list[str] = []
    for row in rows:
        padding = [" " * (size - cell_len(cell)) for cell, size in zip(row, widths, strict=True)]
        cells = [padding[n] + row[n] if n in right else row[n] + padding[n] for n in short]
        first, *rest = [row[n] for n in range(len(row)) if n not in short] or [""]
        head = [*cells, first] if 0 in short else [first, *cells]
        if cell_len("  ".join([*head, *rest])) <= width:
            head, rest = [*head, *rest], []
        elif cell_len("  ".join(head)) > width:
            head, rest = (cells, [first, *rest]) if cell_len("  ".join(cells)) <= width else ([], [*row])
        lines.append("  ".join(map(_painted, head)).rstrip())
        for word in "  ".join(rest).split():
            if not lines[-1].startswith("    ") or cell_len(f"{lines[-1]} {word}") > width:
                lines.append("   ")
            lines[-1] += f" {word}"
    return "".join(f"{line}\n" for line in lines if line)


def format_plain_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows in columns of plain text, also on a terminal; `right` as in `format_table`."""
    from contextasm.rendering.tables import format_columns

    return without_ci_commands(format_columns(header, _clean_rows(rows), right))


def _clean_rows(rows: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    return [[one_line(clean_text(cell).text) for cell in row] for row in rows]


def _column_widths(columns: Sequence[Sequence[str]], total: int) -> Sequence[int]:
    """Widths in a terminal's cells that add up to no more than `total`: texts are wrapped between words if possible.

    Each column has the width of its longest word; columns that want more share the rest, the narrowest first.
    """
    from rich.cells import cell_len

    wanted = [max(map(cell_len, cells)) for cells in columns]
    widths = [max(cell_len(word) for cell in cells for word in cell.split(" ")) for cells in columns]
    while sum(widths) < total and (narrow := [n for n, width in enumerate(widths) if width < wanted[n]]):
        widths[min(narrow, key=lambda number: widths[number])] += 1
    return widths


def format_json(document: type, values: object, indent: int | None = 2) -> str:
    """A document of a type of `rendering/documents.py` as indented JSON, or for None in one line.

    Its fields have the values of the same names, its texts as people may see them.
    """
    import json  # here: most builds write no JSON

    from contextasm.rendering.json_codec import to_json

    data = clean_value(to_json(document, values), CLEAN, 1, [])
    return json.dumps(data, ensure_ascii=False, indent=indent) + "\n"


def write_json(document: type, values: object, indent: int | None = 2) -> None:
    """Write a document to standard output, as `format_json` has it."""
    write_stdout(format_json(document, values, indent))


def write_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Write rows in columns to standard output, as `format_table` has them."""
    write_stdout(format_table(header, rows, right))


def strict_failure(context: Context) -> int:
    """Write the problems that prevent a strict build to standard error; returns the exit code."""
    show_problems(context.problems, "error")
    count = len(context.problems)
    write_stderr(f"ctxasm: error: --strict: found {count} problem{'s' * (count != 1)}, so nothing was written")
    return 1


SILENT_SECONDS = 1.0
"""A build that is done sooner shows nothing."""

ERASE_LINE = "\r\x1b[K"


@contextmanager
def progress_line(doing: str, *, quiet: bool = False, after: float = SILENT_SECONDS) -> Iterator[None]:
    """Show what the command does, with the seconds so far, each second from `after` on.

    Nothing is shown in a pipe, on a dumb terminal, or with `quiet`.
    """
    if quiet or not has_live_line():
        yield
        return
    import threading

    started, done = time.monotonic(), threading.Event()

    def show() -> None:
        wait = after
        while not done.wait(wait):
            line = shown_line(f"ctxasm: {doing} ({time.monotonic() - started:.0f} s)")
            sys.stderr.write(f"{ERASE_LINE}{line}")
            sys.stderr.flush()
            wait = 1.0

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        if time.monotonic() - started >= after:
            sys.stderr.write(ERASE_LINE)
            sys.stderr.flush()
