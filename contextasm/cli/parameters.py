"""The parameters of the commands, as their modules declare them, and the reader of ordinary command lines.

Nothing here imports typer, which takes as long as a build: `cli/typer_commands.py` gives it the same declarations, for
help, completion, errors and every line that is not read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import NoneType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from contextasm.config.input.options import Flag, Options


class Argument(NamedTuple):
    """A parameter that is typed without a name; it may be left out if it has a default."""

    metavar: str
    help: str
    completed: str | Sequence[str] = ()
    """The values that a shell completes; as a text, the field of `Options`, or `record`, whose values they are."""


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
            number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
            return number if number in range(self.about.least or 0, (self.about.most or 10**9) + 1) else None
        return text if self.kind in {str, tuple} or text in get_args(self.kind) else None


class Command:
    """A function that a command calls, and the fields of `Options` that are flags of it.

    Each parameter of the function is annotated with a `Flag` or an `Argument`, or is a named tuple with a flag for each
    field, such as `Options`.
    """

    def __init__(self, function: Callable[..., int], fields: Iterable[str] = Options._fields) -> None:
        self.function = function
        self._fields = {*fields}
        self._hints = get_type_hints(function, include_extras=True)
        del self._hints["return"]

    @cached_property
    def parameters(self) -> Sequence[Parameter]:
        """The arguments, then the flags, in the order of the function's parameters."""
        declared = [each for name, hint in self._hints.items() for each in self._parameters_of(name, hint)]
        return sorted(declared, key=lambda each: isinstance(each.about, Flag))

    def _parameters_of(self, name: str, hint: Any) -> Sequence[Parameter]:
        if not isinstance(hint, type):
            return [_parameter(name, hint, _defaults(self.function).get(name, ...))]
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
        values, rows = dict(typed), {}
        for name, hint in self._hints.items():
            if isinstance(hint, type):
                fields: Any = hint
                row = fields(**{field: values.pop(field) for field in fields._fields if field in values})
                rows[name] = _with_read_topic(row) if isinstance(row, Options) else row
        return self.function(**rows, **values)


def _defaults(function: Any) -> Mapping[str, Any]:
    """The defaults of a function's parameters by their names."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    placed = function.__defaults__ or ()
    return {**dict(zip(names[len(names) - len(placed) :], placed, strict=True)), **(function.__kwdefaults__ or {})}


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


def _with_read_topic(options: Options) -> Options:
    """The options, with a topic that is read from standard input if they say so."""
    if options.topic != "-":
        return options
    from contextasm.cli.output import read_stdin

    return options._replace(topic=read_stdin("--topic -", "topic").strip())
