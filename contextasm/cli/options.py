"""The options that several commands share, as parameters of typer.

The options of a request are in `config.input.options.Options`, one line each, and become parameters here. An option
that only one command has is in the module of that command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_origin, get_type_hints

import typer

from contextasm.cli.output import build_progress, read_stdin
from contextasm.config.input.options import Flag, Options
from contextasm.config.resolve import prepare_build, process_environment

if TYPE_CHECKING:
    from contextasm.config.build import PreparedBuild
    from contextasm.model import Build, Context
    from contextasm.workspace.outputs import OutputFile

QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print no messages except errors.")]
LockedOption = Annotated[
    bool, typer.Option("--locked", help="Refuse to build if a file of ctxasm.lock changed, or a new one is not in it.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

COMPLETED = ("agent", "team", "profile", "tokenizer", "format", "audience")
"""Fields of `Options` whose values a shell completes."""

_HINTS: Mapping[str, Any] = get_type_hints(Options, include_extras=True)


def takes_options(run: Callable[..., int], fields: Collection[str] = Options._fields) -> Callable[..., int]:
    """The command `run` with these fields of `Options` as flags; its first parameter takes the `Options`.

    A parameter `flags` takes the flags that only this command has: its type is a named tuple with a field for each. The
    other parameters of `run` stay arguments of the command, or flags if they are named only.
    """
    types = get_type_hints(run, include_extras=True)
    shared = [_parameter(field) for field in Options._fields if field in fields]
    _, *parameters = inspect.signature(run).parameters.values()
    others = [
        parameter.replace(annotation=types[parameter.name]) for parameter in parameters if parameter.name != "flags"
    ]
    arguments = [parameter for parameter in others if parameter.kind is not parameter.KEYWORD_ONLY]
    flags = [parameter for parameter in others if parameter.kind is parameter.KEYWORD_ONLY]
    table = types.get("flags")
    own = _flag_parameters(table) if table else []

    def command(**values: Any) -> int:
        options = _options({parameter.name: values.pop(parameter.name) for parameter in shared})
        if table:
            values["flags"] = table(**{parameter.name: values.pop(parameter.name) for parameter in own})
        return run(options, **values)

    command.__name__, command.__doc__ = run.__name__, run.__doc__
    ordered = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in (*arguments, *shared, *own, *flags)]
    command.__signature__ = inspect.Signature(ordered, return_annotation=int)  # type: ignore[attr-defined]
    return command


def _flag_parameters(table: type[NamedTuple]) -> list[inspect.Parameter]:
    hints = get_type_hints(table, include_extras=True)
    defaults: Mapping[str, Any] = table._field_defaults
    return [
        inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=defaults[field], annotation=hints[field])
        for field in hints
    ]


def all_but(*fields: str) -> Sequence[str]:
    """The fields of `Options` without these."""
    return [field for field in Options._fields if field not in fields]


def flag_names(field: str) -> Sequence[str]:
    """The names of a field's flag, such as `--agent` and `-a`; the first is a long one."""
    names = _flag(field).names.split()
    return names if any(name.startswith("--") for name in names) else [f"--{field}", *names]


def completer(field: str) -> Callable[[typer.Context], Sequence[str]]:
    """A callback of typer that lists the values of a field; the workspace is the one typed on the same line."""

    def complete(context: typer.Context) -> Sequence[str]:
        from contextasm.cli.commands.completion import known_values

        return known_values(field, context.params.get("workspace"))

    return complete


def record_argument(metavar: str, text: str) -> Any:
    """A parameter of typer that takes a record, by its file or id; the ids of the workspace are completed."""
    return typer.Argument(metavar=metavar, help=text, autocompletion=completer("record"))


def prepare_request(options: Options, targets: Sequence[OutputFile] = ()) -> PreparedBuild:
    """The build that the options ask for, in the environment of this process. Raises `ContextasmError`.

    `targets` are the files that its text goes to.
    """
    return prepare_build(options, process_environment(), targets=targets)


def prepare_context(options: Options, targets: Sequence[OutputFile] = (), *, locked: bool) -> PreparedBuild:
    """The build of a command that shows a context; `locked` or `CTXASM_LOCKED` asks for approved files only.

    `targets` are the files that its text goes to.
    """
    return prepare_request(options, targets).with_lock(process_environment().environment, locked=locked)


def run_build(prepared: PreparedBuild, build: Build | None = None, *, quiet: bool = False) -> Context:
    """The context of a build; for None, of the prepared one in full. A slow build shows its progress on a terminal."""
    from contextasm.records.run import run

    counting = f", counting with {prepared.build.request.tokenizer}"
    with build_progress(prepared, "building", counting, quiet=quiet):
        return run(prepared, build)


def _flag(field: str) -> Flag:
    (flag,) = _HINTS[field].__metadata__
    return flag  # type: ignore[no-any-return]


def _parameter(field: str) -> inspect.Parameter:
    flag = _flag(field)
    if _HINTS[field].__origin__ is bool:
        switch = typer.Option(False, *flag_names(field), help=flag.help)
        return inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=switch, annotation=bool)
    option = typer.Option(
        None,
        *flag_names(field),
        metavar=flag.metavar,
        help=flag.help,
        autocompletion=completer(field) if field in COMPLETED else None,
    )
    repeatable = get_origin(_HINTS[field].__origin__) is tuple
    annotation = list[str] | None if repeatable else str | None
    return inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=annotation)


def _options(values: Mapping[str, Any]) -> Options:
    typed: dict[str, Any] = {
        field: tuple(value) if isinstance(value, list) else value
        for field, value in values.items()
        if value is not None
    }
    if typed.get("topic") == "-":
        typed["topic"] = read_stdin("--topic -", "topic").strip()
    return Options(**typed)
