"""The command line: the table of commands, and the one boundary where an error becomes a message and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from shutil import get_terminal_size
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from contextasm.model import ContextasmError, failure_words

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Build and explain": {
        "build": "Write the assembled context to standard output or to a file.",
        "explain": "Show each fragment with its decision, tokens and reason.",
        "watch": "Build, and build again whenever an input changes.",
        "plan": "Show the tokens of each layer under several budgets.",
        "stats": "Show sizes, growth, contributors, duplicates and what each layer needs.",
    },
    "Memories": {
        "search": "Find memories for a topic, with the parts of their scores.",
        "remember": "Add a memory, or reinforce the memory that says the same.",
        "feedback": "Say what was useful, wrong or missing in a recorded build.",
        "show": "Print a memory with its place and fields.",
        "edit": "Open a memory in your editor.",
        "memory": "List, approve, deprecate or complete memories.",
        "store": "Share memories in a database: init, status, pull, import, export, migrate.",
        "log": "Append an entry to the log of the day.",
        "tidy": "Show what would keep memories and logs worth reading; do it, or take it back.",
        "task": "Push, pop, block, park, resume or show tasks.",
        "import": "Add the memories that another program has stored.",
        "export": "Write memories for other programs, as JSON lines or as OKF.",
    },
    "Trust": {
        "check": "Check the workspace: settings, dates, budgets, hidden text, secrets, outputs.",
        "lock": "Approve the files that instruct an agent, in ctxasm.lock.",
        "diff": "Compare the contexts of two records, days, budgets or git revisions.",
        "replay": "Build a record again: the same bytes, or the inputs that changed.",
        "records": "List the records of builds.",
    },
    "With your agent": {
        "hook": "Answer an event of Claude Code, Codex or Gemini CLI with a context.",
        "mcp": "Serve contexts and memories over MCP.",
    },
    "Setting up": {
        "init": "Create a workspace, an agent or a team; overwrite nothing.",
        "config": "Show the settings in force.",
        "profiles": "List the profiles, or print one.",
        "rules": "List the rules, or show which of them fire for a request.",
        "tokenizers": "List the tokenizers.",
        "completion": "Print a completion script for bash, zsh or fish.",
    },
}
"""Every command under its heading in `--help`, the most used first, with its line there.

Each command is a module of `contextasm.cli.commands`, under its own name, except for the names in `MODULES`.
"""

MODULES: Mapping[str, str] = {"import": "import_memories", "export": "export_memories"}
"""Modules with another name than their command: `import` is a word of Python's own, which no statement can import."""

COMMANDS: Mapping[str, str] = {name: line for group in GROUPS.values() for name, line in group.items()}
"""Every command with its line in `--help`."""

BUG = 70
"""Exit code of an error that is not the user's."""


MAX_HELP_COLUMNS = 80
"""Help is not wider, even if the terminal is."""


VARIABLES = {f"CTXASM_{name}" for name in ("WORKSPACE", "LOCKED", "NO_CACHE", "TRUST", "DEBUG")}
"""Variables of the environment that are read, without those of settings."""


class _Terminated(BaseException):
    """The process received SIGTERM."""


MAY_BE_EMPTY = ("team", "if_none_match")
"""Parameters whose empty value says something, as that of free texts does: no team, and no etag yet."""


class _Command(TyperCommand):
    """A command that says what is meant by words and options that it does not take, and refuses empty names and paths.

    An empty one, such as that of a variable that is not set, was taken for none.
    """

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        if context.resilient_parsing:
            return super().parse_args(context, args)
        try:
            _, extra, _ = self.make_parser(context).parse_args([*args])
        except TyperException as error:
            if option := getattr(error, "option_name", "") if hasattr(error, "possibilities") else "":
                raise self._unknown_option(context, option) from error
            raise
        if extra and not {"-h", "--help"} & {*args}:
            what = f"unexpected {' '.join(extra)}"
            raise ContextasmError(context.command_path, what, self._hint_on_words(args, extra))
        rest = super().parse_args(context, args)
        self._refuse_empty_values(context)
        if not context.params.get("quiet"):
            _warn_of_variables()
        return rest

    def format_options(self, context: Any, formatter: Any) -> None:
        from contextasm.cli.help import write_options

        write_options(self, context, formatter)

    def collect_usage_pieces(self, context: Any) -> list[str]:
        # Typer puts braces around an argument that is required, as if it were a choice.
        return [piece if "|" in piece else piece.strip("{}") for piece in super().collect_usage_pieces(context)]

    def _options(self) -> list[str]:
        return [name for each in self.params if each.param_type_name == "option" for name in each.opts]

    def _unknown_option(self, context: Any, option: str) -> ContextasmError:
        """The error of an option that the command does not take, with the one that is meant or the commands that do."""
        from contextasm.config.input.values import suggestion

        hint = suggestion(option, self._options(), "option", 0.85)
        if not hint:
            others = [name for name in COMMANDS if option in _options_of(context, name)]
            near = suggestion(option, self._options(), "option", 0.7)
            hint = f"`ctxasm {others[0]}` takes it" if others else near or f"see `{context.command_path} --help`"
        return ContextasmError(context.command_path, f"unknown option {option}", hint)

    def _hint_on_words(self, typed: Sequence[str], extra: Sequence[str]) -> str:
        """Advice on words that no argument takes: a text without quotes, a folder, or names without their options."""
        options, arguments = self._options(), [each for each in self.params if each.param_type_name == "argument"]
        if "--topic" in typed or any(each.metavar == "TEXT" for each in arguments):
            return "put the text in quotes"
        if "--workspace" in options and os.path.isdir(extra[0]):
            return f"name the workspace with -w {extra[0]}"
        are_names = len(extra) < 3 and all(word.replace("-", "_").isidentifier() for word in extra)
        if not are_names or not {"--agent", "--team"} <= {*options} or {"-a", "--agent"} & {*typed}:
            return f"see `ctxasm {self.name} --help`"
        team = f", the team with -t {extra[1]}" if extra[1:] else ""
        return f"name the agent with -a {extra[0]}{team}"

    def _refuse_empty_values(self, context: Any) -> None:
        for parameter in self.params:
            value = context.params.get(parameter.name)
            is_given_empty = "" in value if isinstance(value, list | tuple) else value == ""
            metavar = (parameter.metavar or str(parameter.name).upper()).strip("[].")
            is_allowed = metavar == "TEXT" or (parameter.name in MAY_BE_EMPTY and value == "")
            if is_given_empty and not is_allowed:
                named = str(parameter.name).upper() if "|" in metavar else metavar
                name = parameter.opts[0] if parameter.param_type_name == "option" else named
                hint = "give a value" if parameter.required else "give a value, or leave it out"
                raise ContextasmError(name, "is empty", hint)


def _warn_of_variables() -> None:
    """Warn of variables that have the prefix of this program and that it does not know."""
    names = [name for name in os.environ if name.startswith("CTXASM_") and name not in VARIABLES]
    if not names:
        return
    from contextasm.cli.output import write_stderr
    from contextasm.config.input.settings import SETTINGS
    from contextasm.text.names.matching import nearest

    known = {*VARIABLES, *(f"CTXASM_{key.upper()}" for key in SETTINGS)}
    for name in (name for name in names if name not in known):
        hint = f"did you mean {near}?" if (near := nearest(name, known, 0.8)) else "unset it"
        write_stderr(f"ctxasm: warning: {name}: unknown variable: {hint}")


def _options_of(context: Any, name: str) -> list[str]:
    """The options of another command."""
    return [option for each in context.parent.command.get_command(context, name).params for option in each.opts]


class _Commands(TyperGroup):
    """The commands, each imported at its first use."""

    def list_commands(self, _context: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: Any, name: str) -> Any:
        if name not in COMMANDS:
            return None
        module = import_module(f"contextasm.cli.commands.{MODULES.get(name, name)}")
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        decorate = app.command(
            name, cls=_Command, help=module.run.__doc__, short_help=COMMANDS[name], context_settings=_help_settings()
        )
        decorate(module.run)
        return get_command(app)

    def format_commands(self, _context: Any, formatter: Any) -> None:
        for heading, commands in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([*commands.items()])

    def resolve_command(self, context: Any, words: list[str]) -> Any:
        from contextasm.config.input.values import require_known

        if words and not words[0].startswith("-") and not context.resilient_parsing:
            require_known(words[0], COMMANDS, "ctxasm", "command")
        return super().resolve_command(context, words)


def _help_settings() -> dict[str, Any]:
    columns = min(get_terminal_size().columns, MAX_HELP_COLUMNS)
    return {"help_option_names": ["-h", "--help"], "terminal_width": columns - 2}


def group() -> Any:
    """The whole command line as one command group of typer."""
    app = typer.Typer(cls=_Commands, add_completion=False, rich_markup_mode=None, context_settings=_help_settings())

    @app.callback()
    def ctxasm(
        _version: bool = typer.Option(
            False, "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ) -> None:
        """Assemble the context that an LLM agent starts from: layered, inside a hard token budget, with a receipt."""

    return get_command(app)


def _print_version(flag: bool) -> None:
    if flag:
        from contextasm import __version__

        typer.echo(f"ctxasm {__version__}")
        raise typer.Exit


def run(words: Sequence[str]) -> int:
    """Run a command line; returns the exit code (docs/architecture.md, Exit codes)."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = _run_command(words)
        if sys.stdout:
            sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the one boundary
        code = _exit_code(error, words)
        return _fail_open(error, code, words) if words[:1] == ["hook"] else code
    return code


def _run_command(words: Sequence[str]) -> int:
    if "_CTXASM_COMPLETE" in os.environ:
        from contextasm.cli.commands.completion import complete

        return complete(group())
    if not words or words[0] == "help":
        words = [*words[1:2], "--help"]
    if "--help" in words and sys.stdout is None:
        raise ContextasmError("standard output", "is closed", "leave it open, or redirect it to a file")
    code = group().main(args=list(words), prog_name="ctxasm", standalone_mode=False)
    return code if isinstance(code, int) else 0


def _exit_code(error: BaseException, words: Sequence[str]) -> int:
    """The exit code of an error, with a message on standard error where a person can act on it."""
    match error:
        case ContextasmError():
            return _report(failure_words(error), error.code)
        case TyperException():
            return _report(_usage_message(error, words), 2)
        case KeyboardInterrupt() | typer.Abort() | _Terminated():
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

    A person who asks for `--print-config`, and a process that was ended, get the code as it is.
    """
    if any(word.partition("=")[0] == "--print-config" for word in words) or code > BUG:
        return code
    from contextasm.cli.output import write_stdout
    from contextasm.integrations.hook import failure_text

    what = _usage_message(error, words) if isinstance(error, TyperException) else str(error) or type(error).__name__
    with suppress(ContextasmError, OSError):
        write_stdout(failure_text(what))
    return 0


def _report(message: str, code: int) -> int:
    """Write an error message in one line; returns the exit code."""
    from contextasm.cli.output import write_stderr
    from contextasm.text.cleaning.clean import message_line

    write_stderr(f"ctxasm: error: {message_line(message)}")
    return code


def _usage_message(error: TyperException, words: Sequence[str]) -> str:
    from contextasm.cli.help import examples

    context = getattr(error, "ctx", None)
    name = next((word for word in words if not word.startswith("-")), "")
    command = context.command_path if context else f"ctxasm {name}" if name in COMMANDS else "ctxasm"
    what = getattr(error, "format_message", lambda: str(error))().rstrip(".")
    such = [f"such as `{line}`" for line in examples(name) if what.startswith("Missing argument")][:1]
    return f"{command}: {what}: {'; '.join([*such, f'see `{command} --help`'])}"


def _terminate(_signal: int, _frame: object) -> NoReturn:
    raise _Terminated


def _discard_stdout() -> None:
    """Redirect standard output to the null device, so that the interpreter does not fail when it flushes at its end."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
