"""YAML as tables that know their lines, so that every message can name one.

Plain YAML without its surprises: a key given twice is refused, `on` and `yes` are words, a date is a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import yaml

from contextasm.model import ContextasmError
from contextasm.text.matching import nearest

_Base: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class YamlMapping(dict[str, object]):
    """A mapping that knows its file and the line of each key."""

    def __init__(self, path: str, line: int) -> None:
        super().__init__()
        self.path = path
        self.line = line
        self.lines: dict[str, int] = {}

    def where(self, key: str = "") -> str:
        """`FILE:LINE` of a key, or of the table."""
        return f"{self.path}:{self.lines.get(key, self.line)}"

    def refuse_unknown(self, known: Iterable[str]) -> None:
        """Raise for the first key that is not known, with the nearest one that is."""
        names = list(known)
        for key in self:
            if key not in names:
                near = nearest(key, names)
                hint = f"did you mean {near}?" if near else "use one of " + ", ".join(names)
                raise ContextasmError(self.where(key), f"unknown key {key}", hint)


class YamlSequence(list[object]):
    """A sequence that knows the line of each item."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[int] = []


class _Loader(_Base):  # type: ignore[misc, valid-type, unused-ignore]
    """Words, numbers, true, false and null; tables and items with their lines."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - the parent's attribute
    path = ""


for _tag, _form, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?[0-9]*\.[0-9]+|[-+]?[0-9]+\.[0-9]*", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
):
    _pattern = re.compile(f"^(?:{_form})$")
    for _letter in [*_first.replace("\0", ""), *([""] if "\0" in _first else [])]:
        _Loader.yaml_implicit_resolvers.setdefault(_letter, []).append((f"tag:yaml.org,2002:{_tag}", _pattern))


def _table(loader: _Loader, node: yaml.MappingNode) -> YamlMapping:
    table = YamlMapping(loader.path, node.start_mark.line + 1)
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise ContextasmError(f"{loader.path}:{line}", f"the key {key_node.value} is no word", "put it in quotes")
        if key in table:
            first = table.lines[key]
            raise ContextasmError(f"{loader.path}:{line}", f"{key} stands here and in line {first}", "keep one of them")
        table.lines[key] = line
        table[key] = loader.construct_object(value_node, deep=True)
    return table


def _items(loader: _Loader, node: yaml.SequenceNode) -> YamlSequence:
    items = YamlSequence()
    for each in node.value:
        items.append(loader.construct_object(each, deep=True))
        items.lines.append(each.start_mark.line + 1)
    return items


def _int(loader: _Loader, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:map", _table)
_Loader.add_constructor("tag:yaml.org,2002:seq", _items)
_Loader.add_constructor("tag:yaml.org,2002:int", _int)


def load_yaml(text: str | bytes, path: str) -> object:
    """The value that a YAML text holds; `path` is named in messages. None for an empty text.

    Raises `ContextasmError` with file and line for anything that is not plain YAML.
    """
    loader = _Loader(text)
    loader.path = path
    try:
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else path
        raise ContextasmError(where, f"no valid YAML: {error.problem or error}", "correct this line") from error
    except yaml.YAMLError as error:
        raise ContextasmError(path, f"no valid YAML: {str(error).splitlines()[0]}", "correct the file") from error
    except RecursionError as error:
        raise ContextasmError(path, "nested too deeply", "write it flatter") from error
    finally:
        loader.dispose()


def load_mapping(text: str | bytes, path: str) -> YamlMapping:
    """The mapping that a YAML text holds; an empty text is an empty mapping. Raises as `load_yaml` does."""
    value = load_yaml(text, path)
    if value is None:
        return YamlMapping(path, 1)
    if not isinstance(value, YamlMapping):
        raise ContextasmError(f"{path}:1", "holds no keys", "write `key: value` lines")
    return value


def line_of(data: object, keys: Sequence[str | int], first: int = 1) -> int:
    """The line of a value inside loaded data, by the way to it; where it knows none, that of what it stands in."""
    line = data.line if isinstance(data, YamlMapping) else first
    for key in keys:
        if isinstance(data, YamlMapping) and isinstance(key, str) and key in data:
            line = data.lines[key]
            data = data[key]
            continue
        if isinstance(data, YamlSequence) and isinstance(key, int) and key < len(data):
            line = data.lines[key]
            data = data[key]
            continue
        break
    return line
