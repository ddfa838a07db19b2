"""The commands: their table, their parameters as their modules declare them, and the reader of ordinary command lines.

Nothing here imports typer, which takes as long as a build: `cli/typer_commands.py` gives it the same declarations, for
help, completion, errors and every line that is not read here.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from types import NoneType
from typing import Any, cast, get_args, get_origin, get_type_hints

from contextasm.config.input.options import FileText, Flag, Options
from contextasm.model import ContextasmError, NamedTuple
from contextasm.workspace.reads import note_other_input


class Argument(NamedTuple):
    """A parameter that is typed without a name; it may be left out if it has a default."""

    metavar: str
    help: str
    completed: str | Sequence[str] = ()
    """As that of `Flag`."""


class Parameter(NamedTuple):
    """A flag or an argument of a command."""

    name: str
    kind: Any
    """`bool`, `str`, `int`, `float`, a `Literal`, or `tuple` for several texts."""
    about: Flag | Argument
    default: Any
    """`...` for an argument that must be typed."""

    @property
    def names(self) -> Sequence[str]:
        """The names of a flag; empty for an argument."""
        return flag_names(self.name, self.about) if isinstance(self.about, Flag) else ()

    def parse(self, text: str) -> Any:
        """The value of a typed text; None for an unusual one: it is empty, looks like a flag, or is refused."""
        if self.kind is bool:
            return True
        if not text or (text[0] == "-" and text != "-"):
            return None
        if self.kind is int and isinstance(self.about, Flag):
            is_number = text.isascii() and text.isdecimal() and len(text) < 10
            is_taken = is_number and int(text) in range(self.about.least or 0, (self.about.most or 10**9) + 1)
            return int(text) if is_taken else None
        return text if self.kind in {str, tuple} or text in get_args(self.kind) else None


class Command:
    """A function that a command calls, and the fields of `Options` that are flags of it.

    Each parameter of the function is annotated with a `Flag` or an `Argument`, and is given by its name, or it is a
    named tuple with a flag for each field, such as `Options`.
    """

    def __init__(self, function: Callable[..., int | None], fields: Iterable[str] = Options._fields) -> None:
        self.function = function
        """It returns an exit code; None is 0."""
        self._fields = {*fields}
        self._hints = get_type_hints(function, include_extras=True)
        del self._hints["return"]
        self._defaults = function.__kwdefaults__ or {}

    @cached_property
    def parameters(self) -> Sequence[Parameter]:
        """The arguments, then the flags, in the order of the function's parameters."""
        declared = [each for name, hint in self._hints.items() for each in self._parameters_of(name, hint)]
        return sorted(declared, key=lambda each: isinstance(each.about, Flag))

    def _parameters_of(self, name: str, hint: Any) -> Sequence[Parameter]:
        if not isinstance(hint, type):
            return [_parameter(name, hint, self._defaults.get(name, ...))]
        fields: Any = hint
        hints = get_type_hints(fields, include_extras=True)
        names = [each for each in hints if fields is not Options or each in self._fields]
        return [_parameter(each, hints[each], fields._field_defaults[each]) for each in names]

    def read(self, words: Sequence[str]) -> Mapping[str, Any] | None:
        """The values of a line by the names of their parameters; None for a line with anything unusual."""
        flags = {name: each for each in self.parameters for name in each.names}
        places = (each for each in self.parameters if isinstance(each.about, Argument))
        argument: Parameter | None = None
        values: dict[str, Any] = {}
        rest = iter(words)
        for word in rest:
            name, equals, text = word.partition("=")
            parameter = flags.get(name)
            if parameter is None:
                argument = argument if argument and argument.kind is tuple else next(places, None)
                parameter, text = argument, word
            elif equals and (parameter.kind is bool or not name.startswith("--")):
                return None
            elif not equals and parameter.kind is not bool:
                text = next(rest, "")
            if parameter is None or (value := parameter.parse(text)) is None:
                return None
            values[parameter.name] = (*values.get(parameter.name, ()), value) if parameter.kind is tuple else value
        return values if all(each.name in values for each in self.parameters if each.default is ...) else None

    def run(self, typed: Mapping[str, Any]) -> int:
        """Call the function with the values that were typed, by their parameters' names; returns the exit code."""
        if not typed.get("quiet"):
            _warn_of_variables()
        values, rows = dict(typed), {}
        for name, hint in self._hints.items():
            if isinstance(hint, type):
                fields: Any = hint
                row = fields(**{field: values.pop(field) for field in fields._fields if field in values})
                rows[name] = _with_read_texts(row) if isinstance(row, Options) else row
        return self.function(**rows, **values) or 0


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    kind, about = hint.__origin__, hint.__metadata__[0]
    if get_origin(kind) is tuple:
        kind = tuple
    elif NoneType in get_args(kind):
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    return Parameter(name, kind, about, default)


def flag_names(field: str, flag: Flag | None = None) -> Sequence[str]:
    """The names of a flag, such as `--agent` and `-a`; the first is a long one. For no `flag`, a field of `Options`."""
    names = (flag or Options.__annotations__[field].__metadata__[0]).names.split()
    return names if any(name.startswith("--") for name in names) else [f"--{field.replace('_', '-')}", *names]


def _with_read_texts(options: Options) -> Options:
    """The options, with a topic and a history that are read from standard input, or from a file, if they say so."""
    if options.topic != "-" and options.history is None:
        return options
    from contextasm.cli.output import input_text, read_stdin

    note_other_input()
    if options.topic == options.history == "-":
        raise ContextasmError("--history -", "--topic already reads standard input", "name a file for one of the two")
    piped = "/dev/stdin"
    if options.history == "-":
        options = options._replace(history=FileText.of(read_stdin("--history -", "conversation"), piped))
    elif options.history is not None:
        options = options._replace(history=FileText.of(input_text(options.history), options.history))
    if options.topic == "-":
        options = options._replace(topic=FileText.of(read_stdin("--topic -", "topic").strip(), piped))
    return options


# --- The table -------------------------------------------------------------------------------------------------------


GROUPS: Mapping[str, str] = {
    "Build and explain": "build explain watch plan stats",
    "Memories": "search remember feedback show edit memory store log tidy task import export",
    "Trust": "check lock diff replay records",
    "With your agent": "hook mcp",
    "Setting up": "init config profiles rules tokenizers count fit completion",
}
"""The commands under their headings in `--help`, the most used first; `help.json` has the line of each there.

Each command is a module of `contextasm.cli.commands`, under its own name, except for the names in `MODULES`.
"""

MODULES: Mapping[str, str] = {"import": "import_memories", "export": "export_memories"}
"""Modules with another name than their command: `import` is a word of Python's own, which no statement can import."""

COMMANDS: Sequence[str] = " ".join(GROUPS.values()).split()
"""The names of the commands."""

VARIABLES = {f"CTXASM_{name}" for name in ("WORKSPACE", "LOCKED", "NO_CACHE", "NO_REPLAY", "TRUST", "DEBUG", "HOOK")}
"""Variables of the environment that are read, without those of settings."""


def load_command(name: str) -> Command:
    """The command of a name, which is in `COMMANDS`."""
    module = import_module(f"contextasm.cli.commands.{MODULES.get(name, name)}")
    return cast("Command", module.run)


def collect_garbage() -> None:
    """Collect garbage from now on, for a command that may run for weeks; the others end before it pays.

    A build makes ten thousand values that all live until its end: with the usual threshold a quarter of its time would
    go into looking through them.
    """
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


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
