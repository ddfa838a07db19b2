"""The command line, and the one boundary where an error becomes a message and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from contextasm.cli.command_table import COMMANDS, load_command, run_command
from contextasm.model import ContextasmError, failure_words

BUG = 70
"""Exit code of an error that is not the user's."""


class _Terminated(BaseException):
    """The process received SIGTERM."""


def run(words: Sequence[str]) -> int:
    """Run a command line; returns the exit code (docs/architecture.md, Exit codes)."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = _complete() if "_CTXASM_COMPLETE" in os.environ else _run_command(words)
        _flush_stdout()
    except BaseException as error:  # noqa: BLE001 - the one boundary
        code = _exit_code(error)
        return _fail_open(error, code, words) if words[:1] == ["hook"] else code
    return code


def _run_command(words: Sequence[str]) -> int:
    """Run a command line. One with anything unusual, such as an error, is typer's, which takes as long as a build."""
    if words[:1] and words[0] in COMMANDS:
        command = load_command(words[0])
        typed = command.read(words[1:])
        if typed is not None:
            return run_command(command, typed)
    from contextasm.cli.typer_commands import run_typer

    return run_typer(words)


def _complete() -> int:
    from contextasm.cli.commands.completion import complete
    from contextasm.cli.typer_commands import group

    return complete(group())


def _exit_code(error: BaseException) -> int:
    """The exit code of an error, with a message on standard error where a person can act on it."""
    match error:
        case ContextasmError():
            code = _report(failure_words(error), error.code)
        case KeyboardInterrupt():
            code = 130
        case _Terminated():
            code = 143
        case BrokenPipeError() | SystemExit():  # typer exits with the second when the reader of a help text has gone
            _discard_stdout()
            code = 141
        case MemoryError():
            code = _report(failure_words(error), 2)
        case OSError():
            _discard_stdout()
            code = _report(failure_words(error), 2)
        case _:
            code = _report_bug(error)
    return code


def _fail_open(error: BaseException, code: int, words: Sequence[str]) -> int:
    """Answer a host with the error's message; returns the exit code, 0: after a 2, a host refuses the person's prompt.

    A person who asks for `--print-config`, and a process that was ended, get the code as it is.
    """
    if any(word.partition("=")[0] == "--print-config" for word in words) or code > BUG:
        return code
    from contextasm.cli.output import write_stdout
    from contextasm.integrations.hook import failure_text

    with suppress(ContextasmError, OSError):
        write_stdout(failure_text(str(error) or type(error).__name__))
    return 0


def _flush_stdout() -> None:
    if sys.stdout:
        sys.stdout.flush()


def _report(message: str, code: int) -> int:
    """Write an error message in one line; returns the exit code."""
    from contextasm.cli.output import write_stderr
    from contextasm.text.cleaning.clean import message_line

    write_stderr(f"ctxasm: error: {message_line(message)}")
    return code


def _report_bug(error: BaseException) -> int:
    if os.environ.get("CTXASM_DEBUG"):
        import traceback

        traceback.print_exception(error)
    return _report(failure_words(error), BUG)


def _terminate(_signal: int, _frame: object) -> NoReturn:
    raise _Terminated


def _discard_stdout() -> None:
    """Redirect standard output to the null device, so that the interpreter does not fail when it flushes at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
