"""Changes of the file of the task stack, under the workspace's lock; comments, other keys and the order stay.

The text is edited at the places of its YAML nodes, as this program writes them: in block style. It is read back, and a
file in another style that can't be changed without loss is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, SequenceNode

from contextasm.model import AS_WRITTEN, ContextasmError, Document, Parse, Problem
from contextasm.text.cleaning.clean import decode_document, parse_data
from contextasm.text.data.task_stack import TaskStack, parse_task_stack
from contextasm.workspace.editing.files import locked, open_file, save_file
from contextasm.workspace.folder import Folder

TASK_FILE = "tasks.yaml"

_FIELDS = ("id", "goal", "parent", "status", "result", "reason")


def change_task_stack(workspace: Folder, parse_yaml: Parse, change: Callable[[TaskStack], TaskStack]) -> TaskStack:
    """Change the stack in its file; returns the changed stack.

    Raises `ContextasmError` for a file that can't be read, and for one that would lose content; nothing is written
    then.
    """
    with locked(workspace):
        file = open_file(workspace, TASK_FILE)
        old, data = _parse_stack(file.data, parse_yaml)
        new = change(old)
        new_data = b""
        with suppress(yaml.YAMLError):
            new_data = file.mark + changed_task_text(file.text, old, new).encode(file.encoding)
        if not _holds(new_data, new, data, parse_yaml):
            hint = "write `tasks:`, and below it each task as `- id: ...`; nothing has been written"
            raise ContextasmError(TASK_FILE, "can't be changed without losing a part of it", hint)
        save_file(workspace, TASK_FILE, new_data)
    return new


def _parse_stack(data: bytes, parse_yaml: Parse) -> tuple[TaskStack, object]:
    """The stack, and all that the file holds. Raises `ContextasmError` for a problem in it."""
    document = decode_document(TASK_FILE, data, AS_WRITTEN)
    parsed = parse_data(document, parse_yaml) if isinstance(document, Document) else document
    if isinstance(parsed, Problem):
        raise ContextasmError(f"{parsed.path}:{parsed.line}", parsed.message, "correct the file")
    problems: list[Problem] = []
    stack = parse_task_stack(parsed, problems)
    if problems:
        first = problems[0]
        raise ContextasmError(f"{first.path}:{first.line}", first.message, "correct the file, so that no task is lost")
    return stack, parsed.value


def _holds(data: bytes, stack: TaskStack, old_value: object, parse_yaml: Parse) -> bool:
    """Whether a file holds a stack, and everything else that it held before."""
    try:
        written, value = _parse_stack(data, parse_yaml)
    except ContextasmError:
        return False
    tasks = [task._replace(line=1) for task in written.frames]
    return (
        tasks == [task._replace(line=1) for task in stack.frames]
        and written.current == stack.current
        and _unknown_content(value)[: len(_unknown_content(old_value))] == _unknown_content(old_value)
    )


def _unknown_content(value: object) -> list[object]:
    """The content that does not belong to a stack: of the file, then of each task."""
    pairs = value.items() if isinstance(value, dict) else ()
    top = {key: item for key, item in pairs if key not in {"tasks", "current"}}
    rows = value.get("tasks") if isinstance(value, dict) else value
    items = rows if isinstance(rows, list) else []
    return [top, *({key: item for key, item in row.items() if key not in _FIELDS} for row in items)]


def changed_task_text(text: str, old: TaskStack, new: TaskStack) -> str:
    """The YAML text of a file with the old stack, changed if the new one differs from it."""
    if new == old:
        return text
    text = re.sub(r"(?m)^tasks: *\[ *\] *$", "tasks:", text)
    old_tasks = {task.id: task for task in old.frames}
    for number, task in enumerate(new.frames):
        fields = {name: getattr(task, name) for name in _FIELDS}
        if task.id not in old_tasks:
            text = _with_row(text, {name: value for name, value in fields.items() if value})
            continue
        for name, value in reversed(fields.items()):
            if value != getattr(old_tasks[task.id], name):
                rows = _find_pair(_root(text), "tasks")
                text = _with_pair(text, rows[1].value[number] if rows else None, name, value)
    return text if new.current == old.current else _with_pair(text, _root(text), "current", new.current)


_WIDTH = 10**6
"""Characters of a line, so that no value is wrapped."""


def _root(text: str) -> Node | None:
    node: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    return node


def _find_pair(mapping: Node | None, key: str) -> tuple[Node, Node] | None:
    pairs = mapping.value if isinstance(mapping, MappingNode) else ()
    return next((pair for pair in pairs if pair[0].value == key), None)


def _with_row(text: str, fields: Mapping[str, str]) -> str:
    """The text with a row at the end of the list of tasks, which is made if it is missing."""
    pair = _find_pair(_root(text), "tasks")
    row = _dump([fields])
    if pair is None:
        return _with_lines(text, len(text), f"tasks:\n{row}")
    rows = pair[1]
    column = rows.start_mark.column if isinstance(rows, SequenceNode) else 0
    # Comments that are indented as the keys of the last row belong to it.
    rest = re.compile(rf"(?:(?<=\n)|.*\n?)(?: {{{column + 1},}}#.*\n)*").match(text, _end_of_content(rows))
    return _with_lines(text, rest.end() if rest else len(text), row, column)


def _with_pair(text: str, mapping: Node | None, key: str, value: str) -> str:
    """The text with a key of a mapping set; an empty value removes it.

    A new key of a task comes after its goal, and a new `current` first.
    """
    if not isinstance(mapping, MappingNode):
        return text
    written = _dump({key: value})
    if pair := _find_pair(mapping, key):
        start, end = pair[0].start_mark.index, pair[1].end_mark.index
        if value or (rest := text[end:].partition("\n")[0]).strip():
            return text[:start] + written.rstrip("\n") + text[end:]
        return text[: start - pair[0].start_mark.column] + text[end + len(rest) + 1 :]
    if not value:
        return text
    goal = _find_pair(mapping, "goal")
    if key == "current" or goal is None:
        return _with_lines(text, mapping.start_mark.index, written)
    return _with_lines(text, goal[1].end_mark.index, written, goal[0].start_mark.column)


def _with_lines(text: str, at: int, lines: str, indent: int = 0) -> str:
    """The text with LF lines after the line that holds the character before `at`."""
    end = _line_end(text)
    stop = at if not at or text[at - 1] == "\n" else text.find("\n", at) + 1 or len(text)
    lead = end if stop and text[stop - 1] != "\n" else ""
    indented = "".join(f"{' ' * indent}{line}{end}" for line in lines.splitlines())
    return text[:stop] + lead + indented + text[stop:]


def _end_of_content(node: Node) -> int:
    # A block collection ends at the next token: comments and blank lines after it do not belong to it.
    while isinstance(node, CollectionNode) and not node.flow_style and node.value:
        node = node.value[-1][1] if isinstance(node, MappingNode) else node.value[-1]
    return node.end_mark.index


def _line_end(text: str) -> str:
    return "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"


def _dump(value: Mapping[str, str] | list[Mapping[str, str]]) -> str:
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(value, Dumper=dumper, allow_unicode=True, sort_keys=False, width=_WIDTH))
