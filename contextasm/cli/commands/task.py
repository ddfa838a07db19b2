"""`ctxasm task`: show and change the stack of tasks, one active chain that lasts from run to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal, TypedDict

from contextasm.cli import output
from contextasm.cli.command_line import Argument, Command
from contextasm.cli.options import JsonOption, QuietOption, action_argument
from contextasm.cli.owner import recover_first, typed_text
from contextasm.config.input.options import Options
from contextasm.config.input.values import require_known
from contextasm.config.input.yaml_loader import load_yaml
from contextasm.config.resolve import process_environment
from contextasm.config.workspace_folder import open_workspace
from contextasm.model import ContextasmError, Data, Document, Problem
from contextasm.text.cleaning.clean import parse_data
from contextasm.text.data import task_stack
from contextasm.text.data.task_stack import Task, TaskStack
from contextasm.text.names.templates import one_line
from contextasm.workspace.editing.tasks import TASK_FILE, change_task_stack

_CHANGES: Mapping[str, Callable[[TaskStack, str], TaskStack]] = {
    "push": task_stack.push,
    "pop": task_stack.pop,
    "block": task_stack.block,
    "park": task_stack.park,
    "resume": task_stack.resume,
}
"""The changes of a stack by the name of their action."""

ACTIONS: Sequence[str] = (*_CHANGES, "show")
"""What can be done with the stack."""

_DONE = "Push a goal, pop the task, block it, park it for later, resume a parked task, or show all."
_TEXT = "The goal, the result, the reason, or the id of a task (block '' unblocks)."

_NEEDED = {
    "push": ("the goal", '"..."'),
    "pop": ("the result", '"..."'),
    "block": ("the reason", '"..."'),
    "resume": ("the id of a task", "ID"),
}
"""The argument of each action that needs one, in words and as a hint shows it."""


class TasksDocument(TypedDict):
    """The stack of tasks, as every action of `ctxasm task --json` prints it."""

    schema: Literal["ctxasm.tasks/1"]
    current: str
    """The id of the current task; empty for none."""
    tasks: list[Task]
    """Every task, in the order of the file."""


def task(
    options: Options,
    *,
    action: Annotated[str, action_argument(ACTIONS, _DONE)] = "show",
    text: Annotated[str | None, Argument("[TEXT]", _TEXT)] = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Push a goal, pop the current task with its result, block it with a reason, or show the stack of tasks.

    `park` leaves a task unfinished and returns to its parent; `resume` continues it by its id. The stack is stored
    in tasks.yaml. If a profile shows the stack and --topic is not given, the current goal is the topic.
    """
    require_known(action, ACTIONS, "task", "action")
    if json and action != "show":
        output.require_stdout()
    stack = _resulting_stack(options, action, text)
    if json:
        write = output.write_stdout if action == "show" else output.write_receipt
        write(output.format_json(TasksDocument, {"current": stack.current, "tasks": stack.frames}))
    elif action == "show":
        output.write_stdout(output.shown(_stack_text(stack)))
    elif not quiet:
        output.write_stderr_lines(_stack_text(stack))


run = Command(task, ("workspace",))


def _resulting_stack(options: Options, action: str, text: str | None) -> TaskStack:
    """The stack in the file, after the action has changed it."""
    folder = open_workspace(options, process_environment())
    if action == "show":
        read = folder.read(TASK_FILE)
        return _task_stack(parse_data(read, load_yaml) if isinstance(read, Document) else read)
    argument = _argument(action, text)
    recover_first(folder)
    return change_task_stack(folder, load_yaml, lambda old: _CHANGES[action](old, argument))


def _argument(action: str, text: str | None) -> str:
    """The text of an action, in one line. Raises `ContextasmError` if it is missing."""
    if action in _NEEDED and (text is None or (not text.strip() and action != "block")):
        noun, example = _NEEDED[action]
        raise ContextasmError(f"task {action}", f"{noun} is missing", f"write `ctxasm task {action} {example}`")
    words = " ".join((text or "").split())
    return typed_text(words, f"task {action}") if words else words


def _task_stack(data: object) -> TaskStack:
    """The stack that the file holds; empty without a file. Raises `ContextasmError` for an unreadable file."""
    if isinstance(data, Problem):
        raise ContextasmError(f"{data.path}:{data.line}", data.message, "correct the file")
    if not isinstance(data, Data):
        return TaskStack()
    problems: list[Problem] = []
    stack = task_stack.parse_task_stack(data, problems)
    output.show_problems(problems)
    return stack


def _stack_text(stack: TaskStack) -> str:
    """One line for each task, tasks that serve it below it; an unfinished task that is not current has its id."""
    marks = {"active": "-", "complete": "x", "blocked": "!"}
    chain = {frame.id for frame in stack.path()}
    lines = []
    for depth, frame in task_stack.list_tasks(stack):
        mark = ">" if frame.id == stack.current else marks[frame.status]
        is_parked = frame.id not in chain and frame.status != "complete"
        lines.append(f"{'  ' * depth}{mark} {one_line(task_stack.task_line(frame))}{f' [{frame.id}]' * is_parked}")
    return "".join(f"{line}\n" for line in lines) or "no task\n"
