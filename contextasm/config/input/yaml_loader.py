"""YAML as mappings and lists that know their lines, so that every message can name one. The one reader of YAML.

Plain YAML without its surprises: `on`, `yes` and dates are text; duplicate keys, anchors, aliases, tags and merge keys
are refused. It reads the parser's events one by one, so that no text can make a library construct or recurse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from math import inf
from typing import Any, NoReturn, get_type_hints

from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import AliasEvent, MappingEndEvent, MappingStartEvent, ScalarEvent, SequenceEndEvent, StreamEndEvent

from contextasm.config.input.values import ParseValue, describe_value, require_known
from contextasm.model import CLEAN, ContextasmError, Hidden
from contextasm.text.cleaning.clean import clean_value, hidden_words
from contextasm.text.json_reader import DEEPEST
from contextasm.workspace.reading import too_large

# Nothing else of `yaml` may be imported here: it would bring back what `config/input/libyaml.py` leaves out.
try:
    from yaml._yaml import CParser as Parser
except ImportError:
    from yaml import SafeLoader as Parser  # type: ignore[assignment]

MAX_CONFIG = 1024 * 1024
"""Bytes of the largest file of settings, rules or a profile."""

MAX_DATA = 16 * 1024 * 1024
"""Bytes of the largest YAML text; one of this size takes a few seconds."""

_PARSER_FAILURES = (ValueError, KeyError, AttributeError, TypeError, OverflowError, RecursionError)
"""Families of errors that a parser may let through besides YAML's own: an escape beyond Unicode is a ValueError."""

_QUOTED_TAG = r"""['"]!.*['"]"""

_CONSTANTS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS = frozenset("-+.0123456789")


class YamlMapping(dict[str, object]):
    """A mapping that knows its file and the line of each key."""

    def __init__(self, path: str, line: int) -> None:
        super().__init__()
        self.path = path
        self.line = line
        self.lines: dict[str, int] = {}

    def where(self, key: str = "") -> str:
        """`FILE:LINE` of a key, or of the mapping."""
        return f"{self.path}:{self.lines.get(key, self.line)}"

    def refuse_unknown(self, known: Collection[str], kind: str = "key") -> None:
        """Raise `ContextasmError` for the first key that is not known, with the nearest one that is."""
        for key in self:
            require_known(key, known, self.where(key), kind)

    def parsed(self, keys: Mapping[str, ParseValue]) -> dict[str, Any]:
        """The checked values of a mapping that may have only these keys. Raises `ContextasmError`."""
        self.refuse_unknown(keys)
        return {key: keys[key](value, f"{self.where(key)}: {key}") for key, value in self.items()}


class YamlSequence(list[object]):
    """A list that knows the line of each item."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[int] = []


def parse_mapping(value: object, where: str, hint: str = "write lines of the form `key: value`") -> YamlMapping:
    """A mapping. Raises `ContextasmError` for any other value."""
    if not isinstance(value, YamlMapping):
        raise ContextasmError(where, f"expected a mapping, found {describe_value(value)}", hint)
    return value


def parse_fields(value: object, where: str, kind: type, hint: str) -> dict[str, Any]:
    """The checked values of a mapping whose keys are fields of a named tuple. Raises `ContextasmError`.

    A field that may be a key has its parser in its type: `Annotated[int, parse_count]`.
    """
    hints = get_type_hints(kind, include_extras=True).items()
    parsers = {name: annotation.__metadata__[0] for name, annotation in hints if hasattr(annotation, "__metadata__")}
    return parse_mapping(value, where, hint).parsed(parsers)


def parse_sequence(value: object, where: str) -> YamlSequence:
    """A list. Raises `ContextasmError` for any other value."""
    if not isinstance(value, YamlSequence):
        raise ContextasmError(where, f"expected a list, found {describe_value(value)}", "write `- ` before each item")
    return value


def load_mapping(text: str | bytes, path: str) -> YamlMapping:
    """The mapping that the settings or a profile hold; an empty text is an empty mapping. Raises as `load_config`."""
    value = load_config(text, path)
    if value is None:
        return YamlMapping(path, 1)
    if not isinstance(value, YamlMapping):
        raise ContextasmError(f"{path}:1", "holds no keys", "write lines of the form `key: value`")
    return value


def load_config(text: str | bytes, path: str) -> object:
    """The value that a file of settings, rules or a profile holds, but for secrets, which are masked.

    Raises as `load_yaml`, above `MAX_CONFIG`, and for hidden and control characters in a key or a value.
    """
    hidden: list[Hidden] = []
    value = clean_value(load_yaml(text, path, MAX_CONFIG), CLEAN, 1, hidden)
    if found := next((run for run in hidden if run.kind != "blank"), None):
        raise ContextasmError(f"{path}:{found.line}", f"holds {hidden_words(found)} in a value", "delete it")
    return value


def load_yaml(text: str | bytes, path: str, limit: int = MAX_DATA) -> object:
    """The value that a YAML text holds; None for an empty text. Messages name `path`, and never quote a value.

    Raises `ContextasmError` with file and line for anything that is not plain YAML, and for more than `limit` bytes.
    """
    if len(text) > limit:
        raise ContextasmError(f"{path}:1", too_large(len(text), limit).message, "split the file")
    parser = None
    try:
        parser = Parser(text)
        return _EventReader(parser.get_event, path).document()
    except YAMLError as error:
        raise _syntax_error(error, text, path) from error
    except _PARSER_FAILURES as error:
        line = getattr(parser, "line", 0) + 1
        raise ContextasmError(f"{path}:{line}", "not valid YAML", "correct this line") from error
    finally:
        if parser:
            parser.dispose()


def _syntax_error(error: YAMLError, text: str | bytes, path: str) -> ContextasmError:
    # The parser's words quote nothing but tags; its snippet of the text, which may hold a secret, is left out.
    what, line, column = "", 1, 1
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        what = f": {re.sub(_QUOTED_TAG, 'of a tag', error.problem)}" if error.problem else ""
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    else:
        _name, position, *_ = error.args  # an error without a mark is that of a reader
        data = text.encode("utf-8", "replace") if isinstance(text, str) else text
        line = data.count(b"\n", 0, position) + 1
        column = position - data.rfind(b"\n", 0, position)
        what = ": YAML does not allow this byte or character"
    if "nesting depth" in what:  # libyaml's own limit, which it reaches before it gives an event
        return ContextasmError(f"{path}:{line}", "nested too deeply", f"use at most {DEEPEST} levels")
    return ContextasmError(f"{path}:{line}", f"not valid YAML at column {column}{what}", "correct this line")


class _EventReader:
    """The events of one YAML text, turned into values.

    An event is `Any`: that every one of them has a mark is a promise of PyYAML which its types do not make.
    """

    def __init__(self, next_event: Callable[[], Any], path: str) -> None:
        self._next = next_event
        self._path = path

    def document(self) -> object:
        """The value of the only document; None without one."""
        self._next()
        if type(self._next()) is StreamEndEvent:
            return None
        value = self._value(self._next(), DEEPEST)
        self._next()
        event = self._next()
        if type(event) is not StreamEndEvent:
            self._refuse(event, "a second YAML document begins here", "keep only one document in a file")
        return value

    def _value(self, event: Any, levels: int) -> object:
        if event.anchor is not None or event.tag is not None:
            self._refuse_mark(event)
        if type(event) is ScalarEvent:
            return self._scalar(event)
        if not levels:
            self._refuse(event, "nested too deeply", f"use at most {DEEPEST} levels")
        return self._mapping(event, levels - 1) if type(event) is MappingStartEvent else self._sequence(levels - 1)

    def _sequence(self, levels: int) -> YamlSequence:
        sequence = YamlSequence()
        while type(event := self._next()) is not SequenceEndEvent:
            sequence.lines.append(event.start_mark.line + 1)
            sequence.append(self._value(event, levels))
        return sequence

    def _mapping(self, start: Any, levels: int) -> YamlMapping:
        mapping = YamlMapping(self._path, start.start_mark.line + 1)
        while type(event := self._next()) is not MappingEndEvent:
            key = self._key(event)
            if key in mapping:
                self._refuse(event, f"the key {key} is already in line {mapping.lines[key]}", "keep one of them")
            mapping.lines[key] = event.start_mark.line + 1
            mapping[key] = self._value(self._next(), levels)
        return mapping

    def _key(self, event: Any) -> str:
        if event.anchor is not None or event.tag is not None:
            self._refuse_mark(event)
        if type(event) is not ScalarEvent:
            self._refuse(event, "the key is a list or a mapping", "write a word as the key")
        key = self._scalar(event)
        if not isinstance(key, str):
            self._refuse(event, "the key is not a word", "put it in quotes")
        if key == "<<" and event.implicit[0]:
            self._refuse(event, "the merge key `<<` is not supported", "write out the keys")
        return key

    def _scalar(self, event: Any) -> object:
        text: str = event.value
        if event.implicit[0]:
            if text in _CONSTANTS:
                return _CONSTANTS[text]
            if text[0] in _NUMBER_STARTS and (kind := _number_type(text)):
                return self._number(event, kind)
        elif not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            self._refuse(event, "holds an escape for half a character", "write the character itself")
        return text

    def _number(self, event: Any, kind: type[float]) -> float:
        try:
            number = kind(event.value)
        except ValueError:
            number = inf
        if abs(number) == inf:
            self._refuse(event, f"a number has {len(event.value)} digits", "shorten it, or put it in quotes")
        return number

    def _refuse_mark(self, event: Any) -> NoReturn:
        if type(event) is AliasEvent:
            self._refuse(event, "an alias (*) is not supported", "write out the value")
        if event.anchor is not None:
            self._refuse(event, "an anchor (&) is not supported", "write out the value in each place")
        self._refuse(event, "a tag (!) is not supported", "remove it, or put the value in quotes")

    def _refuse(self, event: Any, what: str, hint: str) -> NoReturn:
        raise ContextasmError(f"{self._path}:{event.start_mark.line + 1}", what, hint)


def _number_type(text: str) -> type[float] | None:
    """The type of a number that is written in decimal digits; None for a word."""
    digits = text[1:] if text[0] in "+-" else text
    if not digits.isascii():
        return None
    if digits.isdigit():
        return int
    whole, point, fraction = digits.partition(".")
    return float if point and (whole + fraction).isdigit() else None
