"""Edits of a YAML text with one list of rows: a key set, a row appended, keys of a row set.

Every other character stays as it is. The caller reads the result back: a form of YAML that is not understood here
gives a text that holds something else.
"""

from __future__ import annotations

from collections.abc import Mapping

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

_WIDTH = 10**6
"""Characters of a line, so that no value is wrapped."""


def set_key(text: str, key: str, value: str) -> str:
    """The text with a key at its top set; an empty value takes the key away."""
    root = _root(text)
    if not isinstance(root, MappingNode):
        return text
    if pair := _find_pair(root, key):
        return _with_value(text, pair, value, is_flow=bool(root.flow_style))
    if not value:
        return text
    if root.flow_style:
        at, separator = root.start_mark.index + 1, ", "
    else:
        at, separator = root.start_mark.index, _line_end(text)
    return text[:at] + _pair_text(key, value, is_flow=bool(root.flow_style)) + separator + text[at:]


def append_row(text: str, key: str, fields: Mapping[str, str]) -> str:
    """The text with a row at the end of the list under a key; the key is made where it is missing."""
    text = _with_list_under_key(text, key)
    root = _root(text)
    pair = _find_pair(root, key) if isinstance(root, MappingNode) else None
    if pair is None:
        return _with_lines(text, len(text), f"{key}:\n{_row_lines(fields)}")
    rows = pair[1]
    if not isinstance(rows, SequenceNode):
        return _with_lines(text, rows.end_mark.index, _row_lines(fields))
    start, end = rows.start_mark.index, rows.end_mark.index
    if not rows.value and isinstance(root, MappingNode) and not root.flow_style:
        return _with_lines(text[:start].rstrip(" ") + text[end:], len(text[:start].rstrip(" ")), _row_lines(fields))
    if rows.flow_style:
        last = rows.value[-1].end_mark.index if rows.value else start + 1
        separator = ", " if rows.value else ""
        return f"{text[:last]}{separator}{_dump(dict(fields), is_flow=True)}{text[last:]}"
    column = rows.start_mark.column
    return _with_lines(text, _end_of_comments(text, _end_of_content(rows), column), _row_lines(fields), column)


def set_in_row(text: str, key: str, number: int, fields: Mapping[str, str], behind: str) -> str:
    """The text with keys of a row set; a new key comes behind another one, an empty value takes a key away."""
    for name, value in reversed([*fields.items()]):
        root = _root(_with_list_under_key(text, key))
        text = _with_list_under_key(text, key)
        rows = _find_pair(root, key) if isinstance(root, MappingNode) else None
        row = rows[1].value[number] if rows else None
        if not isinstance(row, MappingNode):
            return text
        text = _with_field(text, row, (name, value), behind)
    return text


def _with_field(text: str, row: MappingNode, field: tuple[str, str], behind: str) -> str:
    name, value = field
    if pair := _find_pair(row, name):
        return _with_value(text, pair, value, is_flow=bool(row.flow_style))
    previous = _find_pair(row, behind)
    if not value or previous is None:
        return text
    end = previous[1].end_mark.index
    written = _pair_text(name, value, is_flow=bool(row.flow_style))
    if row.flow_style:
        return f"{text[:end]}, {written}{text[end:]}"
    return _with_lines(text, end, f"{written}\n", previous[0].start_mark.column)


def _root(text: str) -> Node | None:
    node: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    return node


def _find_pair(mapping: MappingNode, key: str) -> tuple[Node, Node] | None:
    return next((pair for pair in mapping.value if pair[0].value == key), None)


def _with_list_under_key(text: str, key: str) -> str:
    """The text with the key before a list that is all of the text."""
    root = _root(text)
    if not isinstance(root, SequenceNode):
        return text
    at = root.start_mark.index - root.start_mark.column
    return f"{text[:at]}{key}:{' ' if root.flow_style else _line_end(text)}{text[at:]}"


def _with_value(text: str, pair: tuple[Node, Node], value: str, *, is_flow: bool) -> str:
    key, old = pair
    start, end = old.start_mark.index, old.end_mark.index
    line_start = text.rfind("\n", 0, key.start_mark.index) + 1
    line_end = text.find("\n", end) + 1 or len(text)
    is_block_scalar = isinstance(old, ScalarNode) and old.style in {"|", ">"}
    is_alone = not text[line_start : key.start_mark.index].strip() and not text[end:line_end].strip()
    if not value and not is_flow and is_alone and not is_block_scalar:
        return text[:line_start] + text[line_end:]
    written = (
        _pair_text("x", value, is_flow=is_flow)[2:] if start == end else _pair_text("x", value, is_flow=is_flow)[3:]
    )
    last = len(text[:end].rstrip()) if is_block_scalar else end
    return text[:start] + written + text[last:]


def _with_lines(text: str, at: int, lines: str, indent: int = 0) -> str:
    """The text with LF lines behind the line that holds the character before `at`."""
    end = _line_end(text)
    stop = at if not at or text[at - 1] == "\n" else text.find("\n", at) + 1 or len(text)
    lead = end if stop and text[stop - 1] != "\n" else ""
    indented = "".join(f"{' ' * indent}{line}{end}" for line in lines.splitlines())
    return text[:stop] + lead + indented + text[stop:]


def _end_of_content(node: Node) -> int:
    # A block collection ends at the next token: comments and blank lines behind it are no part of it.
    while isinstance(node, CollectionNode) and not node.flow_style and node.value:
        node = node.value[-1][1] if isinstance(node, MappingNode) else node.value[-1]
    return node.end_mark.index


def _end_of_comments(text: str, at: int, column: int) -> int:
    """The end of the comments behind a row that are indented as its keys are."""
    stop = at if text[at - 1] == "\n" else text.find("\n", at) + 1 or len(text)
    end = stop
    for line in text[stop:].splitlines(keepends=True):
        stop += len(line)
        words = line.lstrip(" ")
        if words.startswith("#") and len(line) - len(words) > column:
            end = stop
        elif words.strip():
            break
    return end


def _line_end(text: str) -> str:
    return "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"


def _row_lines(fields: Mapping[str, str]) -> str:
    return _dump([dict(fields)], is_flow=False)


def _pair_text(key: str, value: str, *, is_flow: bool) -> str:
    written = _dump({key: value}, is_flow=is_flow)
    return written[1:-1] if is_flow else written.rstrip("\n")


def _dump(value: object, *, is_flow: bool) -> str:
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    written = str(
        yaml.dump(value, Dumper=dumper, allow_unicode=True, sort_keys=False, width=_WIDTH, default_flow_style=is_flow)
    )
    return written.rstrip("\n") if is_flow else written
