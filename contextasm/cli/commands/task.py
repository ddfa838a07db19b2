"""`ctxasm task`: show and change the stack of tasks, one active chain that lasts from run to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.options import JsonOption, QuietOption, takes_options
from contextasm.cli.output import format_json, show_problems, write_stderr, write_stdout
from contextasm.config.options import Options

if TYPE_CHECKING:
    from contextasm.text.task_stack import TaskStack


def task(
    options: Options,
    action: Annotated[
        str, typer.Argument(metavar="push|pop|block|show", help="Push a goal, pop the task, block it, or show all.")
    ] = "show",
    text: Annotated[
        str | None,
        typer.Argument(metavar="[TEXT]", help="The goal, the result, or the reason of a block; '' unblocks."),
    ] = None,
    *,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Push a goal, pop the current task with its result, block it with a reason, or show the stack of tasks.

    The stack is stored in tasks.yaml. A profile that shows the stack uses the current goal as the topic, unless --topic
    names one.
    """
    from contextasm.config.resolve import open_workspace, process_environment
    from contextasm.config.values import require_known
    from contextasm.config.yaml_loader import load_yaml
    from contextasm.model import Document
    from contextasm.text.decode import parse_data
    from contextasm.workspace.atomic import as_bytes, write
    from contextasm.workspace.editing.tasks import TASK_FILE, task_file_text

    require_known(action, (*_changes(), "show"), "task", "action")
    folder = open_workspace(options, process_environment())
    read = folder.read(TASK_FILE)
    stack = _task_stack(parse_data(read, load_yaml) if isinstance(read, Document) else read, strict=action != "show")
    if action != "show":
        stack = _changes()[action](stack, _required_text(action, text))
        write(Path(folder.root) / TASK_FILE, as_bytes(task_file_text(stack)))
    if json:
        write_stdout(format_json({"current": stack.current, "tasks": [frame._asdict() for frame in stack.frames]}))
    elif action == "show":
        write_stdout(_stack_text(stack))
    elif not quiet:
        write_stderr(_stack_text(stack).rstrip("\n"))
    return 0


run = takes_options(task, ("workspace",))


def _changes() -> Mapping[str, Callable[[TaskStack, str], TaskStack]]:
    """The changes of a stack by the name of their action."""
    from contextasm.text.task_stack import block, pop, push

    return {"push": push, "pop": pop, "block": block}


def _required_text(action: str, text: str | None) -> str:
    """The text of an action, in one line. Raises `ContextasmError` where it is missing."""
    from contextasm.model import ContextasmError

    if text is None or (not text.strip() and action != "block"):
        missing = {"push": "the goal", "pop": "the result", "block": "the reason"}[action]
        raise ContextasmError(f"task {action}", f"{missing} is missing", f'write ctxasm task {action} "..."')
    return " ".join(text.split())


def _task_stack(data: object, *, strict: bool) -> TaskStack:
    """The stack that the file holds; empty where there is no file.

    Raises `ContextasmError` for a file that can't be read and, with `strict`, for one that would lose content when it
    is written again.
    """
    from contextasm.model import ContextasmError, Data, Problem
    from contextasm.text.task_stack import TaskStack, parse_task_stack

    if isinstance(data, Problem):
        raise ContextasmError(f"{data.path}:{data.line}", data.message, "correct the file")
    if not isinstance(data, Data):
        return TaskStack()
    problems: list[Problem] = []
    stack = parse_task_stack(data, problems)
    if problems and strict:
        first = problems[0]
        raise ContextasmError(f"{first.path}:{first.line}", first.message, "correct it, so that nothing gets lost")
    show_problems(problems)
    return stack


def _stack_text(stack: TaskStack) -> str:
    """One line for each task: the chain from the root down, and completed tasks beside the current one."""
    from contextasm.text.task_stack import list_tasks, task_line

    marks = {"active": "-", "complete": "x", "blocked": "!"}
    lines = [
        f"{'  ' * depth}{'>' if frame.id == stack.current else marks[frame.status]} {task_line(frame)}"
        for depth, frame in list_tasks(stack)
    ]
    return "".join(f"{line}\n" for line in lines) or "no task\n"
