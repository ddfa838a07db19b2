"""The commands as typer's: their help, completion and messages, and every line that `parameters` does not read."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from shutil import get_terminal_size
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException
from typer.main import get_command

from contextasm.cli.command_line import COMMANDS, GROUPS, Argument, Command, Parameter, load_command
from contextasm.config.input.values import load_table, require_known, suggestion
from contextasm.model import ContextasmError

MAX_HELP_COLUMNS = 80
"""Help is not wider, even if the terminal is."""


MAY_BE_EMPTY = ("team", "if_none_match")
"""Parameters whose empty value says something, as that of free texts does: no team, and no etag yet."""


FEW_OPTIONS = 12
"""Options that need no groups in help."""


def load_help(part: Literal["groups", "lines", "examples"]) -> Mapping[str, Any]:
    """A part of `help.json`, the words of help.

    `groups` are the names of the parameters under each heading, `lines` the line about each command, and `examples` the
    lines that people may type for it.
    """
    table: Mapping[str, Any] = load_table(__file__.replace("typer_commands.py", "help.json"))[part]
    return table


class _Command(TyperCommand):
    """A command that says what is meant by words and options that it does not take, and refuses empty names and paths.

    An empty one, such as that of a variable that is not set, was taken for none.
    """

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        if context.resilient_parsing:
            return super().parse_args(context, args)
        try:
            typed, extra, _ = self.make_parser(context).parse_args([*args])
        except TyperException as error:
            if option := getattr(error, "option_name", "") if hasattr(error, "possibilities") else "":
                raise self._unknown_option(context, option) from error
            raise
        if typed.get("help"):
            return super().parse_args(context, args)
        self._refuse_missing_values(typed)
        if extra:
            what = f"unexpected argument{'s' * (len(extra) > 1)} `{' '.join(extra)}`"
            raise ContextasmError(context.command_path, what, self._hint_on_words(args, extra))
        return super().parse_args(context, args)

    def format_options(self, context: Any, formatter: Any) -> None:
        """Write the arguments, the options under their headings, and the examples."""
        parameters = self.get_params(context)
        options = [each for each in parameters if each.param_type_name == "option"]
        groups = load_help("groups") if len(options) > FEW_OPTIONS else {}
        titles = {name: title for title, names in groups.items() for name in names}
        parts: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{title: [] for title in groups}, "Options": []}
        for each in parameters:
            title = titles.get(each.name, "Options") if each in options else "Arguments"
            parts[title] += filter(None, [each.get_help_record(context)])
        for title, records in parts.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        with formatter.section("Examples"):
            for line in load_help("examples")[str(self.name)]:
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")

    def collect_usage_pieces(self, context: Any) -> list[str]:
        # Typer puts braces around an argument that is required, as if it were a choice.
        return [piece if "|" in piece else piece.strip("{}") for piece in super().collect_usage_pieces(context)]

    def _options(self) -> list[str]:
        return [name for each in self.params if each.param_type_name == "option" for name in each.opts]

    def _unknown_option(self, context: Any, option: str) -> ContextasmError:
        """The error of an option that the command does not take, with the one that is meant or the commands that do."""
        hint = suggestion(option, self._options(), "option", 0.85)
        if not hint:
            others = [name for name in COMMANDS for each in load_command(name).parameters if option in each.names]
            near = suggestion(option, self._options(), "option", 0.7)
            hint = f"use it with `ctxasm {others[0]}`" if others else near or f"see `{context.command_path} --help`"
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
        team = f", and the team with -t {extra[1]}" if extra[1:] else ""
        return f"name the agent with -a {extra[0]}{team}"

    def _refuse_missing_values(self, typed: Mapping[str, Any]) -> None:
        """Raise `ContextasmError` for a value that is empty, or that is the option after it."""
        options = {*self._options(), "--help"}
        for parameter in self.params:
            value, is_option = typed.get(str(parameter.name)), parameter.param_type_name == "option"
            values = value if isinstance(value, list | tuple) else [value]
            metavar = (parameter.metavar or str(parameter.name).upper()).strip("[].")
            following = next((each for each in values if is_option and each in options), "")
            may_be_empty = parameter.name in MAY_BE_EMPTY and value == ""
            if metavar != "TEXT" and (following or ("" in values and not may_be_empty)):
                named = str(parameter.name).upper() if "|" in metavar else metavar
                what = f"has no value before {following}" if following else "is empty"
                hint = "give a value" if parameter.required else "give a value, or leave it out"
                raise ContextasmError(parameter.opts[0] if is_option else named, what, hint)


class _Commands(TyperGroup):
    """The commands, each imported at its first use."""

    def list_commands(self, _context: Any) -> list[str]:
        return [*COMMANDS]

    def get_command(self, _context: Any, name: str) -> Any:
        if name not in COMMANDS:
            return None
        command = load_command(name)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        about, line, settings = command.function.__doc__, load_help("lines")[name], _help_settings()
        decorate = app.command(name, cls=_Command, help=about, short_help=line, context_settings=settings)
        decorate(_typer_function(command))
        return get_command(app)

    def format_commands(self, _context: Any, formatter: Any) -> None:
        lines = load_help("lines")
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, lines[name]) for name in names.split()])

    def resolve_command(self, context: Any, words: list[str]) -> Any:
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


def run_typer(words: Sequence[str]) -> int:
    """Run a command line; returns the exit code. Raises `ContextasmError` for one that typer does not take."""
    if not words or words[0] == "help":
        words = [*words[1:2], "--help"]
    if "--help" in words and sys.stdout is None:
        raise ContextasmError("standard output", "is closed", "redirect it to a file")
    try:
        code = group().main(args=list(words), prog_name="ctxasm", standalone_mode=False)
    except TyperException as error:
        raise _usage_error(error, words) from error
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    return code if isinstance(code, int) else 0


def _usage_error(error: TyperException, words: Sequence[str]) -> ContextasmError:
    context = getattr(error, "ctx", None)
    name = next((word for word in words if not word.startswith("-")), "")
    command = context.command_path if context else f"ctxasm {name}" if name in COMMANDS else "ctxasm"
    what = getattr(error, "format_message", lambda: str(error))().rstrip(".")
    examples = load_help("examples").get(name, ()) if what.startswith("Missing argument") else ()
    such = [f"write it as in `{line}`" for line in examples[:1]]
    return ContextasmError(command, what, "; ".join([*such, f"see `{command} --help`"]))


def _typer_function(command: Command) -> Callable[..., int]:
    """A function with the command's parameters as typer takes them."""

    def function(**typed: Any) -> int:
        given = {name: value for name, value in typed.items() if value is not None}
        values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        return command.run(values)

    function.__name__ = command.function.__name__
    parameters = [*map(_typer_parameter, command.parameters)]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


def _typer_parameter(parameter: Parameter) -> inspect.Parameter:
    kind, default, about = parameter.kind, parameter.default, parameter.about
    if kind is tuple:
        kind, default = list[str] | None, default or None
    elif default is None:
        kind |= None
    shared: Any = {"metavar": about.metavar or None, "help": about.help, "autocompletion": _completer(about.completed)}
    if isinstance(about, Argument):
        shown = typer.Argument(default, **shared)
    else:
        shown = typer.Option(default, *parameter.names, min=about.least, max=about.most, **shared)
    return inspect.Parameter(parameter.name, inspect.Parameter.KEYWORD_ONLY, default=shown, annotation=kind)


def _completer(completed: str | Sequence[str]) -> Callable[[typer.Context, str], Sequence[str]] | None:
    """A callback of typer that lists values; those of a workspace are of the one that is typed on the same line."""

    def complete(context: typer.Context, incomplete: str) -> Sequence[str]:
        from contextasm.cli.commands.completion import known_values

        if isinstance(completed, str):
            return known_values(completed, context.params, incomplete)
        return completed

    return complete if completed else None
