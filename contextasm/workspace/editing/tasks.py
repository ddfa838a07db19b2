"""Changes of the file of the task stack, under the workspace's lock; comments, other keys and the order stay.

The text is edited at the places of its YAML nodes, and read back: a file that can't be changed without loss is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

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
        text = changed_task_text(file.text, old, new)
        new_data = file.mark + text.encode(file.encoding)
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
        raise ContextasmError(f"{first.path}:{first.line}", first.message, "correct it, so that nothing gets lost")
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
    text = _with_tasks_key(text)
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


def _with_tasks_key(text: str) -> str:
    """The text with the key `tasks` before a list that is all of the text."""
    root = _root(text)
    if not isinstance(root, SequenceNode):
        return text
    at = root.start_mark.index - root.start_mark.column
    return f"{text[:at]}tasks:{' ' if root.flow_style else _line_end(text)}{text[at:]}"


def _with_row(text: str, fields: Mapping[str, str]) -> str:
    """The text with a row at the end of the list of tasks, which is made if it is missing."""
    root = _root(text)
    pair = _find_pair(root, "tasks")
    row = _dump([fields], is_flow=False)
    if pair is None:
        return _with_lines(text, len(text), f"tasks:\n{row}")
    rows = pair[1]
    if not isinstance(rows, SequenceNode):
        return _with_lines(text, rows.end_mark.index, row)
    start, end = rows.start_mark.index, rows.end_mark.index
    if not rows.value and isinstance(root, MappingNode) and not root.flow_style:
        before = text[:start].rstrip(" ")
        return _with_lines(before + text[end:], len(before), row)
    if rows.flow_style:
        last = rows.value[-1].end_mark.index if rows.value else start + 1
        return f"{text[:last]}{', ' if rows.value else ''}{_dump(fields, is_flow=True)}{text[last:]}"
    column = rows.start_mark.column
    return _with_lines(text, _end_of_comments(text, _end_of_content(rows), column), row, column)


def _with_pair(text: str, mapping: Node | None, key: str, value: str) -> str:
    """The text with a key of a mapping set; an empty value removes it.

    A new key of a task comes after its goal, and a new `current` first.
    """
    if not isinstance(mapping, MappingNode):
        return text
    is_flow = bool(mapping.flow_style)
    if pair := _find_pair(mapping, key):
        return _with_value(text, pair, value, is_flow=is_flow)
    if not value:
        return text
    written = _pair_text(key, value, is_flow=is_flow)
    goal = None if key == "current" else _find_pair(mapping, "goal")
    if goal is None:
        at = mapping.start_mark.index + is_flow
        return f"{text[:at]}{written}{', ' if is_flow else _line_end(text)}{text[at:]}"
    end = goal[1].end_mark.index
    if is_flow:
        return f"{text[:end]}, {written}{text[end:]}"
    return _with_lines(text, end, f"{written}\n", goal[0].start_mark.column)


def _with_value(text: str, pair: tuple[Node, Node], value: str, *, is_flow: bool) -> str:
    key, old = pair
    start, end = old.start_mark.index, old.end_mark.index
    line_start = text.rfind("\n", 0, key.start_mark.index) + 1
    line_end = text.find("\n", end) + 1 or len(text)
    is_block_scalar = isinstance(old, ScalarNode) and old.style in {"|", ">"}
    fills_line = not text[line_start : key.start_mark.index].strip() and not text[end:line_end].strip()
    if not value and not is_flow and fills_line and not is_block_scalar:
        return text[:line_start] + text[line_end:]
    written = _pair_text("x", value, is_flow=is_flow).removeprefix("x:")
    last = len(text[:end].rstrip()) if is_block_scalar else end
    return text[:start] + (written if start == end else written[1:]) + text[last:]


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


def _end_of_comments(text: str, at: int, column: int) -> int:
    """The end of the comments after a row that are indented as its keys are."""
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


def _pair_text(key: str, value: str, *, is_flow: bool) -> str:
    written = _dump({key: value}, is_flow=is_flow)
    return written[1:-1] if is_flow else written.rstrip("\n")


def _dump(value: Mapping[str, str] | list[Mapping[str, str]], *, is_flow: bool) -> str:
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    written = str(
        yaml.dump(value, Dumper=dumper, allow_unicode=True, sort_keys=False, width=_WIDTH, default_flow_style=is_flow)
    )
    return written.rstrip("\n") if is_flow else written
