"""Changes of the file of the task stack, under the workspace's lock; comments, other keys and the order stay.

The text is edited at the places of its YAML nodes, and read back: a file that can't be changed without loss is refused.
"""

from __future__ import annotations

from collections.abc import Callable

from contextasm.model import AS_WRITTEN, ContextasmError, Document, Parse, Problem
from contextasm.text.decode import decode_document, parse_data
from contextasm.text.task_stack import Task, TaskStack, parse_task_stack
from contextasm.workspace.editing import yaml_text
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
            raise ContextasmError(TASK_FILE, "can't be changed without a loss", hint)
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
    """The content that is no part of a stack: of the file, then of each task."""
    top = (
        {key: item for key, item in value.items() if key not in {"tasks", "current"}} if isinstance(value, dict) else {}
    )
    rows = value.get("tasks") if isinstance(value, dict) else value
    items = rows if isinstance(rows, list) else []
    return [top, *({key: item for key, item in row.items() if key not in _FIELDS} for row in items)]


def changed_task_text(text: str, old: TaskStack, new: TaskStack) -> str:
    """The YAML text of a file with the old stack, changed where the new one differs from it."""
    old_tasks = {task.id: task for task in old.frames}
    for number, task in enumerate(new.frames):
        old_fields = _task_fields(old_tasks[task.id]) if task.id in old_tasks else None
        fields = _task_fields(task)
        if old_fields is None:
            text = yaml_text.append_row(text, "tasks", {name: value for name, value in fields.items() if value})
        else:
            changed = {name: value for name, value in fields.items() if value != old_fields[name]}
            text = yaml_text.set_in_row(text, "tasks", number, changed, behind="goal")
    return text if new.current == old.current else yaml_text.set_key(text, "current", new.current)


def _task_fields(task: Task) -> dict[str, str]:
    return {name: getattr(task, name) for name in _FIELDS}
