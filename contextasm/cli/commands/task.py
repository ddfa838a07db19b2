"""`ctxasm task`: the stack of tasks, one active chain that lasts from run to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextasm.cli.output import show_problems, write_stderr, write_stdout

if TYPE_CHECKING:
    from contextasm.text.task_stack import TaskStack


def run(
    action: Annotated[str, typer.Argument(metavar="push|pop|block|show", help="What to do.")] = "show",
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The goal, the result or what blocks; '' unblocks.")
    ] = None,
    workspace: Annotated[
        str | None, typer.Option("--workspace", "-w", metavar="DIR", help="The workspace; else searched upwards.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The stack as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not show the stack after a change.")] = False,
) -> int:
    """Keep the stack of tasks: push a goal, pop it with its result, say what blocks it, or show where things stand.

    It is kept in tasks.yaml. A profile that shows it takes the current goal for the topic, where no other is named.
    """
    from contextasm.cli.output import format_json
    from contextasm.config.options import Options
    from contextasm.config.resolve import open_workspace, process_environment
    from contextasm.config.values import require_known
    from contextasm.config.yaml_loader import load_yaml
    from contextasm.model import Document
    from contextasm.text.decode import parse_data
    from contextasm.workspace.atomic import as_bytes, write
    from contextasm.workspace.editing.tasks import TASK_FILE, task_file_text

    require_known(action, (*_changes(), "show"), "task", "action")
    folder = open_workspace(Options(workspace=workspace), process_environment())
    read = folder.read(TASK_FILE)
    stack = _read(parse_data(read, load_yaml) if isinstance(read, Document) else read, strict=action != "show")
    if action != "show":
        stack = _changes()[action](stack, _needed(action, text))
        write(Path(folder.root) / TASK_FILE, as_bytes(task_file_text(stack)))
    if json:
        write_stdout(format_json({"current": stack.current, "tasks": [each._asdict() for each in stack.frames]}))
    elif action == "show":
        write_stdout(_shown(stack))
    elif not quiet:
        write_stderr(_shown(stack).rstrip("\n"))
    return 0


def _changes() -> Mapping[str, Callable[[TaskStack, str], TaskStack]]:
    """What can be done to a stack, by name."""
    from contextasm.text.task_stack import block, pop, push

    return {"push": push, "pop": pop, "block": block}


def _needed(action: str, text: str | None) -> str:
    """The text that an action asks for, in one line. Raises `ContextasmError`."""
    from contextasm.model import ContextasmError

    if text is None or (not text.strip() and action != "block"):
        what = {"push": "the goal", "pop": "the result", "block": "the reason"}[action]
        raise ContextasmError(f"task {action}", f"{what} is missing", f'write ctxasm task {action} "..."')
    return " ".join(text.split())


def _read(data: object, *, strict: bool) -> TaskStack:
    """The stack as its file has it, empty where there is none.

    Raises `ContextasmError` for a file that can't be read, or that would lose something when it is written again.
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


def _shown(stack: TaskStack) -> str:
    """The chain from the root on, each task below the one it serves, and what is complete beside the current one."""
    from contextasm.text.task_stack import list_tasks, task_line

    marks = {"active": "-", "complete": "x", "blocked": "!"}
    lines = [
        f"{'  ' * depth}{'>' if frame.id == stack.current else marks[frame.status]} {task_line(frame)}"
        for depth, frame in list_tasks(stack)
    ]
    return "".join(f"{line}\n" for line in lines) or "no task\n"
