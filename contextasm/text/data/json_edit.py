"""Entries of JSON that others wrote, added and taken out: every byte of the text outside of them stays.

The text is one that `text.json_reader.load_json` takes. What is added are objects with lists of entries in them. A list
or an object that was empty gets no line break before our entries, and stays when they are taken out; one that came with
them begins with a line break, and goes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from contextasm.model import ContextasmError

IsOwn = Callable[[str], object]
"""A true value for a text that makes an entry one of our own."""

_Child = tuple[object, int, int, int]
"""Key or number of a value in an object or a list, its start with the key, its start without it, and its end."""

_decode = json.JSONDecoder().raw_decode

_SPACE = re.compile(r"[ \t\r\n]*")


def without_entries(text: str, is_own: IsOwn) -> str | None:
    """The text without our entries, and without what came with them; None if nothing is left.

    An object in a list is an entry if a text in it is our own. Objects that group entries go with the last one.
    """
    at = _past_space(text, 0)
    left = _left(text, at, is_own, "")
    return None if left is None else text[:at] + left + text[_decode(text, at)[1] :]


def _left(text: str, at: int, is_own: IsOwn, outer: str) -> str | None:
    """A value without our entries; None if nothing is left. `outer` has the brackets of what it is in."""
    if text[at] not in "{[":
        return text[at : _decode(text, at)[1]]
    children, close = _children(text, at)
    values = [_decode(text, start)[0] for _, _, start, _ in children]
    if text[at] == "{" and outer[-1:] == "[" and any(isinstance(each, str) and is_own(each) for each in values):
        return None
    body, lead, is_left = "", text[at + 1 : children[0][1]] if children else "", False
    parts = [_left(text, inner, is_own, outer + text[at]) for _, _, inner, _ in children]
    for number, ((_, start, inner, _), part) in enumerate(zip(children, parts, strict=True)):
        if part is not None:
            body += (text[children[number - 1][3] : start] if body else lead) + text[start:inner] + part
            is_left = is_left or text[at] == "[" or "[" not in outer or text[inner] in "{["
    if None in parts and not is_left and ("[" in outer or text[at + 1].isspace()):
        return None
    return text[at] + body + text[children[-1][3] if children else close : close + 1]


def with_entries(text: str, added: Mapping[str, object], where: str, at: int | None = None, depth: int = 1) -> str:
    """The text with the entries of the lists in `added` at the ends of its own lists; other values that are there stay.

    `at` is the place of the object to which they are added, `depth` levels deep; None for the whole. Raises
    `ContextasmError` for a value of another kind in the place of a list or an object of `added`.
    """
    at = _past_space(text, 0) if at is None else at
    for key, value in added.items():
        place = {name: start for name, _, start, _ in _children(text, at)[0]}.get(key)
        if place is None:
            text = _with_child(text, at, depth, value, key)
        elif isinstance(value, dict | list) and not isinstance(_decode(text, place)[0], type(value)):
            what = f"{key} is not {'an object' if isinstance(value, dict) else 'a list'}"
            raise ContextasmError(where, what, "correct it, or move the file away")
        elif isinstance(value, dict):
            text = with_entries(text, value, where, place, depth + 1)
        elif isinstance(value, list):
            for each in value:
                text = _with_child(text, place, depth + 1, each)
    return text


def _with_child(text: str, at: int, depth: int, value: object, key: str | None = None) -> str:
    """The text with a value at the end of the object or list at `at`, in lines of its own."""
    children = _children(text, at)[0]
    unit = (re.match(r"\s*{\s*\n([ \t]+)", text) or ["", "  "])[1]
    margin = "\n" + unit * depth
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    added = margin + name + json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", margin)
    end, added = (children[-1][3], f",{added}") if children else (at + 1, added.lstrip())
    return text[:end] + added.replace("\n", "\r\n" if "\r\n" in text else "\n") + text[end:]


def _children(text: str, at: int) -> tuple[Sequence[_Child], int]:
    """The values in the object or list that begins at `at`, and the place of the bracket that closes it."""
    children: list[_Child] = []
    is_object, at = text[at] == "{", _past_space(text, at + 1)
    while text[at] not in "}]":
        key, start = len(children), at
        if is_object:
            key, at = _decode(text, at)
            at = _past_space(text, _past_space(text, at) + 1)
        _, stop = _decode(text, at)
        children.append((key, start, at, stop))
        at = _past_space(text, stop)
        if text[at] == ",":
            at = _past_space(text, at + 1)
    return children, at


def _past_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    assert space
    return space.end()
