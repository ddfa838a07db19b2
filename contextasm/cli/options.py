"""The options that several commands share, as parameters of typer.

Flags are declared as `config.input.options.Flag`: those of a request in `Options`, those of one command in its module.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, get_origin, get_type_hints

import typer

from contextasm.cli.output import build_progress, format_json, read_stdin, require_stdout, write_receipt
from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import Flag, Options
from contextasm.config.resolve import prepare_build, process_environment
from contextasm.model import Build, Context, ContextasmError
from contextasm.workspace.outputs import OutputFile

QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print no messages except errors.")]
LockedOption = Annotated[
    bool, typer.Option("--locked", help="Refuse to build if a file of ctxasm.lock changed, or a new one is not in it.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


class Receipt(NamedTuple):
    """How a command that changes files says on standard output what it has stored: as JSON, as text or not at all."""

    json: JsonOption = False
    quiet: QuietOption = False

    def require_stdout(self) -> None:
        """Raise `ContextasmError` if there is something to say and standard output is closed."""
        if self.json or not self.quiet:
            require_stdout()

    def write(self, document: type, values: object, lines: Iterable[str]) -> None:
        """Write a document of these values, or lines. Raises `ContextasmError`, which says that it is stored."""
        if self.json:
            write_receipt(format_json(document, values))
        elif not self.quiet:
            write_receipt("".join(f"{line}\n" for line in lines))


COMPLETED = ("agent", "team", "profile", "tokenizer", "format", "audience")
"""Fields of `Options` whose values a shell completes."""

_HINTS: Mapping[str, Any] = get_type_hints(Options, include_extras=True)


def takes_options(run: Callable[..., int], fields: Collection[str] = Options._fields) -> Callable[..., int]:
    """The command `run` with these fields of `Options` as flags; its first parameter takes the `Options`.

    The other parameters of `run` are arguments of the command, or flags if they are named only. One whose type is a
    named tuple takes a flag for each field. A flag that is not typed has its default.
    """
    types = get_type_hints(run, include_extras=True)
    shared = [parameter for parameter in _parameters_of(Options) if parameter.name in fields]
    arguments: list[inspect.Parameter] = []
    flags: list[inspect.Parameter] = []
    tables: dict[str, type[NamedTuple]] = {}
    for parameter in [*inspect.signature(run).parameters.values()][1:]:
        name, hint = parameter.name, types[parameter.name]
        if hasattr(hint, "_field_defaults"):
            tables[name] = hint
            flags += _parameters_of(hint)
        else:
            group = flags if parameter.kind is parameter.KEYWORD_ONLY else arguments
            group.append(_parameter(name, hint, parameter.default))

    def command(**typed: Any) -> int:
        values = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in typed.items()
            if value is not None
        }
        options = _taken(Options, [parameter.name for parameter in shared], values)
        if options.topic == "-":
            options = options._replace(topic=read_stdin("--topic -", "topic").strip())
        rows = {name: _taken(table, table._fields, values) for name, table in tables.items()}
        return run(options, **rows, **values)

    command.__name__, command.__doc__ = run.__name__, run.__doc__
    command.__signature__ = inspect.Signature([*arguments, *shared, *flags])  # type: ignore[attr-defined]
    return command


def _taken(table: Any, names: Iterable[str], values: dict[str, Any]) -> Any:
    """The named tuple of the typed values of these names, which are taken out of `values`."""
    return table(**{name: values.pop(name) for name in names if name in values})


def _parameters_of(table: Any) -> Sequence[inspect.Parameter]:
    hints = get_type_hints(table, include_extras=True)
    return [_parameter(name, hints[name], table._field_defaults[name]) for name in table._fields]


def _parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
    """A parameter as typer takes it; `hint` is annotated with a `Flag`, or with what typer takes itself."""
    kind, about = hint.__origin__, hint.__metadata__[0]
    if get_origin(kind) is tuple:
        kind, default = list[str] | None, default or None
    if isinstance(about, Flag):
        default = typer.Option(
            default,
            *flag_names(name, about),
            metavar=about.metavar or None,
            help=about.help,
            autocompletion=completer(name) if name in COMPLETED else None,
        )
    else:
        kind = Annotated[kind, about]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def all_but(*fields: str) -> Sequence[str]:
    """The fields of `Options` without these."""
    return [field for field in Options._fields if field not in fields]


def flag_names(field: str, flag: Flag | None = None) -> Sequence[str]:
    """The names of a flag, such as `--agent` and `-a`; the first is a long one. For no `flag`, a field of `Options`."""
    names = (flag or _HINTS[field].__metadata__[0]).names.split()
    return names if any(name.startswith("--") for name in names) else [f"--{field.replace('_', '-')}", *names]


def typed_flags(options: Options) -> dict[str, object]:
    """Every typed option but the workspace, by its flag."""
    return {flag_names(name)[0]: value for name, value in options._asdict().items() if value and name != "workspace"}


def refuse_given(given: Mapping[str, object], other: str, hint: str) -> None:
    """Raise `ContextasmError` for the first of the arguments that is given: it does not go with the other one."""
    for name, value in given.items():
        if value not in (None, False, ()):
            raise ContextasmError(name, f"does not go with {other}", hint)


def completer(field: str) -> Callable[[typer.Context], Sequence[str]]:
    """A callback of typer that lists the values of a field; the workspace is the one typed on the same line."""

    def complete(context: typer.Context) -> Sequence[str]:
        from contextasm.cli.commands.completion import known_values

        return known_values(field, context.params.get("workspace"))

    return complete


def argument(metavar: str, text: str) -> Any:
    """A parameter of typer that takes words of the command line by their place."""
    return typer.Argument(metavar=metavar, help=text)


def record_argument(metavar: str, text: str) -> Any:
    """A parameter of typer that takes a record, by its file or id; the ids of the workspace are completed."""
    return typer.Argument(metavar=metavar, help=text, autocompletion=completer("record"))


def action_argument(actions: Sequence[str], text: str, metavar: str = "") -> Any:
    """A parameter of typer that takes the name of an action, which a shell completes."""
    return typer.Argument(metavar=metavar or "|".join(actions), help=text, autocompletion=lambda: actions)


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
    counting = f", counting with {prepared.build.request.tokenizer}"
    with build_progress(prepared, "building", counting, quiet=quiet):
        return prepared.run(build)
