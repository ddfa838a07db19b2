"""Output of commands: text to standard output, messages to standard error, tables and JSON."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextasm.model import Context, Problem


def read_stdin(where: str, kind: str) -> str:
    """All of standard input, as text; `kind` is what is expected there. Raises `ContextasmError`."""
    from contextasm.model import ContextasmError

    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except AttributeError as error:  # closed before the process began
        raise ContextasmError(where, "standard input is closed", f"pipe the {kind} in") from error
    except UnicodeDecodeError as error:
        raise ContextasmError(where, f"byte {error.start} is not UTF-8", "pipe UTF-8 text in") from error


def write_stdout(text: str) -> None:
    """Write all of a text to standard output. Raises as `write_stdout_bytes` does."""
    from contextasm.workspace.atomic import as_bytes

    write_stdout_bytes(as_bytes(text))


def write_stdout_bytes(data: bytes) -> None:
    """Write to standard output. Raises `BrokenPipeError` where the reader has gone, else `ContextasmError`."""
    from contextasm.workspace.atomic import emit

    try:
        emit(1, data)
    except BrokenPipeError:
        raise
    except OSError as error:
        from contextasm.model import ContextasmError

        hint = "free some space" if error.errno == errno.ENOSPC else "give it somewhere to go, or use -o FILE"
        raise ContextasmError("standard output", f"can't be written: {error.strerror}", hint) from error


def write_stderr(line: str) -> None:
    """Write a line to standard error; where nobody takes it, it is lost."""
    from contextasm.workspace.atomic import as_bytes, emit

    with suppress(OSError):
        emit(2, as_bytes(f"{line}\n"))


def show_problems(problems: Sequence[Problem], kind: str = "warning") -> None:
    """Tell of problems, one a line."""
    from contextasm.rendering.wording import problem_line

    for problem in problems:
        write_stderr(f"ctxasm: {kind}: {problem_line(problem)}")


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows in columns: drawn on a terminal, plain in a pipe. `right` are the columns of figures."""
    if not (sys.stdout and sys.stdout.isatty()):
        from contextasm.rendering.wording import format_columns

        return format_columns(header, rows, right)
    from io import StringIO

    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, title in enumerate(header):
        drawn.add_column(title, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    out = StringIO()
    width = Console().width
    Console(file=out, width=width, force_terminal=True).print(drawn)
    return out.getvalue()


def format_json(value: object) -> str:
    """A value as JSON for people and programs."""
    import json

    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def strict_failure(context: Context) -> int:
    """Tell that nothing is emitted because of problems; the exit code."""
    show_problems(context.problems, "error")
    count = len(context.problems)
    write_stderr(f"ctxasm: error: --strict: {count} problem{'s' * (count != 1)}: nothing was written")
    return 1
