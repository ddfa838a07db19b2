"""YAML in the plain form that data files are written in, read in a third of the time that `tables.load` takes.

What is not that plain (anchors, tags, keys that are no words, mistakes) is left to `tables.load`: the values and the
messages are always its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import yaml
from yaml.events import (
    CollectionStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from contextasm.config.yaml_loader import YamlMapping, YamlSequence, load_yaml

_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_WORDS = {"~": None, "": None}
_WORDS |= dict.fromkeys(("null", "Null", "NULL"))
_TRUTH = dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_NUMBER = re.compile(r"[-+]?(?:([0-9]+)|[0-9]*\.[0-9]+|[0-9]+\.[0-9]*)")

Next = Callable[[], Event]


class _NotPlainError(Exception):
    """There is something in the text that only the whole loader understands."""


def load_values(text: str, path: str) -> object:
    """The value that a YAML text holds, as `tables.load` gives it; raises as that does."""
    loader = _LOADER(text)
    try:
        get: Next = loader.get_event
        get(), get()
        value = _node(get(), get, path)
        get()
        whole = isinstance(get(), StreamEndEvent)
    except (_NotPlainError, yaml.YAMLError, RecursionError):
        return load_yaml(text, path)
    else:
        return value if whole else load_yaml(text, path)
    finally:
        loader.dispose()


def _node(event: Event, get: Next, path: str) -> object:
    """The value that begins with an event."""
    if not isinstance(event, ScalarEvent | CollectionStartEvent) or event.anchor is not None or event.tag is not None:
        raise _NotPlainError
    if isinstance(event, ScalarEvent):
        return _plain(event.value) if event.implicit[0] else event.value
    if isinstance(event, MappingStartEvent):
        return _table(event, get, path)
    items = YamlSequence()
    while not isinstance(each := get(), SequenceEndEvent):
        items.lines.append(_line(each))
        items.append(_node(each, get, path))
    return items


def _table(event: Event, get: Next, path: str) -> YamlMapping:
    """The mapping that begins with an event."""
    table = YamlMapping(path, _line(event))
    while not isinstance(each := get(), MappingEndEvent):
        key = _node(each, get, path)
        if not isinstance(key, str) or key in table:
            raise _NotPlainError
        table.lines[key] = _line(each)
        table[key] = _node(get(), get, path)
    return table


def _line(event: Event) -> int:
    """The line, counted from 1, at which an event begins."""
    assert event.start_mark is not None
    return event.start_mark.line + 1


def _plain(written: str) -> object:
    """What a word without quotes means."""
    if written in _WORDS:
        return None
    if written in _TRUTH:
        return _TRUTH[written]
    if written[0] in "-+.0123456789" and (found := _NUMBER.fullmatch(written)):
        return int(written) if found[1] else float(written)
    return written
