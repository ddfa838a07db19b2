"""The command line: which commands there are, and the one place where an error becomes a line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from contextasm.model import ContextasmError

COMMANDS: Mapping[str, str] = {
    "build": "Write the assembled context to standard output, or to a file.",
    "explain": "Say what happened to every fragment, or to one line of a file, and why.",
    "watch": "Build, and build again whenever something changes.",
    "check": "Say whether the workspace is sound: settings, dates, budgets, hidden text, secrets, outputs.",
    "plan": "Show what each of several budgets would keep.",
    "task": "Push, pop, block or show the tasks that are worked on.",
    "search": "Find memories for a topic, with the parts of their scores.",
    "remember": "Add a memory; one that says the same already is reinforced instead.",
    "log": "Append to the log of the day.",
    "show": "Print a memory and where it stands.",
    "edit": "Open a memory in your editor.",
    "replay": "Build a record again: the same bytes, or the inputs that changed.",
    "diff": "Show what entered and left the context between two records, days, budgets or git revisions.",
    "init": "Make a workspace, an agent or a team; nothing is overwritten.",
    "rules": "List the rules, or show which fire for a request.",
    "profiles": "List the profiles, or show one.",
    "tokenizers": "List the ways of counting tokens.",
    "config": "Show the settings in force.",
    "completion": "Print a completion script for bash, zsh or fish.",
}
"""Every command, each a module of `contextasm.commands`, with the line that `--help` gives it."""

BUG = 70


class _Terminated(BaseException):
    """The process was asked to end."""


class _Commands(TyperGroup):
    """The commands, each imported when it is asked for."""

    def list_commands(self, _context: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: Any, name: str) -> Any:
        if name not in COMMANDS:
            return None
        module = import_module(f"contextasm.cli.commands.{name}")
        own = typer.Typer(add_completion=False, rich_markup_mode=None)
        own.command(name, help=module.run.__doc__, short_help=COMMANDS[name])(module.run)
        return get_command(own)

    def resolve_command(self, context: Any, words: list[str]) -> Any:
        from contextasm.config.values import require_known

        if words and not words[0].startswith("-"):
            require_known(words[0], COMMANDS, "ctxasm", "command")
        return super().resolve_command(context, words)


def group() -> Any:
    """The whole command line."""
    app = typer.Typer(cls=_Commands, add_completion=False, rich_markup_mode=None, no_args_is_help=True)

    @app.callback()
    def ctxasm(
        _version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True, callback=_version),
    ) -> None:
        """Assemble the context that an LLM agent starts from: layered, inside a hard token budget, with a receipt."""

    return get_command(app)


def _version(asked: bool) -> None:
    if asked:
        from contextasm import __version__

        typer.echo(f"ctxasm {__version__}")
        raise typer.Exit


def run(words: Sequence[str]) -> int:
    """Run a command line; the exit code (docs/DESIGN.md section 6)."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = group().main(args=list(words), prog_name="ctxasm", standalone_mode=False)
        _flush()
    except BaseException as error:  # noqa: BLE001 - the one boundary
        return _ended(error)
    return code if isinstance(code, int) else 0


def _ended(error: BaseException) -> int:
    """What an error amounts to: a line for the person, where there is something to say, and the exit code."""
    match error:
        case ContextasmError():
            code = _failed(str(error), error.code)
        case TyperException():
            code = _failed(_usage(error), 2)
        case KeyboardInterrupt() | typer.Abort():
            code = 130
        case _Terminated():
            code = 143
        case BrokenPipeError() | SystemExit():  # typer leaves by the second when the reader of a help text has gone
            _forget_stdout()
            code = 141
        case OSError():
            _forget_stdout()
            code = _failed(f"{error.filename or 'output'}: {error.strerror or error}: put that right and try again", 2)
        case _:
            code = _bug(error)
    return code


def _flush() -> None:
    """Have everything written that typer printed."""
    if sys.stdout:
        sys.stdout.flush()


def _failed(message: str, code: int) -> int:
    """Tell of an error in one line."""
    from contextasm.cli.output import write_stderr

    write_stderr(f"ctxasm: error: {' '.join(message.split())}")
    return code


def _usage(error: TyperException) -> str:
    """What was wrong with the command line."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "ctxasm"
    what = getattr(error, "format_message", lambda: str(error))().rstrip(".")
    return f"{command}: {what}: see `{command} --help`"


def _bug(error: BaseException) -> int:
    """Tell of a mistake of ours."""
    if os.environ.get("CTXASM_DEBUG"):
        import traceback

        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}"
    return _failed(f"this is a bug: {what}: please report it; CTXASM_DEBUG=1 shows where it happened", BUG)


def _terminate(_signal: int, _frame: object) -> NoReturn:
    raise _Terminated


def _forget_stdout() -> None:
    """Have the interpreter not complain at its end about output that nobody takes."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
