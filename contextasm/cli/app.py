"""The command line, and the one boundary where an error becomes a message and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from contextasm.cli.command_line import COMMANDS, load_command
from contextasm.model import ContextasmError, failure_words

BUG = 70
"""Exit code of an error that is not the user's."""


class _Terminated(BaseException):
    """The process received SIGTERM."""


def run(words: Sequence[str]) -> int:
    """Run a command line; returns the exit code (docs/architecture.md, Exit codes)."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = _run_command(words)
        if sys.stdout:
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the one boundary
        return failed(error, words)
    return code


def failed(error: BaseException, words: Sequence[str]) -> int:
    """Report the error of a command line; returns the exit code."""
    code = _exit_code(error)
    return _fail_open(error, code, words) if words[:1] == ["hook"] else code


def _run_command(words: Sequence[str]) -> int:
    if "_CTXASM_COMPLETE" in os.environ:
        from contextasm.cli.commands.completion import complete
        from contextasm.cli.typer_commands import group

        return complete(group())
    if words[:1] and words[0] in COMMANDS:
        command = load_command(words[0])
        typed = command.read(words[1:])
        if typed is not None:
            return command.run(typed)
    from contextasm.cli.typer_commands import run_typer  # takes as long as a build

    return run_typer(words)


def _exit_code(error: BaseException) -> int:
    """The exit code of an error, with a message on standard error where a person can act on it."""
    match error:
        case ContextasmError():
            return _report(failure_words(error), error.code)
        case KeyboardInterrupt() | _Terminated():
            return 143 if isinstance(error, _Terminated) else 130
        case BrokenPipeError() | SystemExit():  # typer exits with the second when the reader of a help text has gone
            _discard_stdout()
            return 141
        case MemoryError() | OSError():
            _discard_stdout()
            return _report(failure_words(error), 2)
    if os.environ.get("CTXASM_DEBUG"):
        import traceback

        traceback.print_exception(error)
    return _report(failure_words(error), BUG)


def _fail_open(error: BaseException, code: int, words: Sequence[str]) -> int:
    """Answer a host with the error's message; returns the exit code, 0: after a 2, a host refuses the person's prompt.

    A person who asks for the settings of a host, and a process that was ended, get the code as it is.
    """
    if {word.partition("=")[0] for word in words} & {"--print-config", "--install", "--uninstall"} or code > BUG:
        return code
    from contextasm.cli.output import write_stdout
    from contextasm.integrations.hook import failure_text

    with suppress(ContextasmError, OSError):
        write_stdout(failure_text(str(error) or type(error).__name__, words))
    return 0


def _report(message: str, code: int) -> int:
    """Write an error message in one line; returns the exit code."""
    from contextasm.cli.output import write_stderr
    from contextasm.text.cleaning.clean import message_line

    write_stderr(f"ctxasm: error: {message_line(message)}")
    return code


def _terminate(_signal: int, _frame: object) -> NoReturn:
    raise _Terminated


def _discard_stdout() -> None:
    """Redirect standard output to the null device, so that the interpreter does not fail when it flushes at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
