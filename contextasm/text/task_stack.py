"""Frames: the stack of tasks as values. One is pushed, popped with its result, or blocked; none is ever lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import ContextasmError, Data, Problem
from contextasm.text.rows import parse_rows

STATUSES = ("active", "complete", "blocked")


class Task(NamedTuple):
    """One task."""

    id: str
    goal: str
    parent: str = ""
    """The id of the task it serves; empty for a root."""
    status: str = "active"
    result: str = ""
    """What it came to, once complete."""
    reason: str = ""
    """What blocks it."""
    line: int = 1
    """Where it stands in its file."""


class TaskStack(NamedTuple):
    """Every task, and the one that is worked on."""

    frames: tuple[Task, ...] = ()
    current: str = ""
    """Its id; empty where nothing is worked on."""

    def path(self) -> tuple[Task, ...]:
        """The active chain, from the root to the current task."""
        by_id = {frame.id: frame for frame in self.frames}
        found: list[Task] = []
        at = by_id.get(self.current)
        while at and at not in found:
            found.append(at)
            at = by_id.get(at.parent)
        return tuple(reversed(found))

    def siblings(self) -> tuple[Task, ...]:
        """The completed tasks beside the current one, the latest first."""
        here = self.path()
        if not here:
            return ()
        own = (each for each in self.frames if each.parent == here[-1].parent and each.status == "complete")
        return tuple(reversed([each for each in own if each.id != self.current]))


def push(stack: TaskStack, goal: str) -> TaskStack:
    """A new task below the current one; it is the current one then."""
    used = {frame.id for frame in stack.frames}
    own = next(name for n in range(1, len(used) + 2) if (name := f"t{n}") not in used)
    return TaskStack((*stack.frames, Task(own, goal, stack.current)), own)


def pop(stack: TaskStack, result: str) -> TaskStack:
    """The current task is complete with this result; its parent is the current one then. Raises if there is none."""
    frame = _top(stack)
    return _changed(stack, frame._replace(status="complete", result=result, reason=""), frame.parent)


def block(stack: TaskStack, reason: str) -> TaskStack:
    """The current task is blocked for a reason, or with an empty one goes on. Raises if there is none."""
    frame = _top(stack)
    return _changed(stack, frame._replace(status="blocked" if reason else "active", reason=reason), frame.id)


def _top(stack: TaskStack) -> Task:
    """The current task."""
    chain = stack.path()
    if not chain:
        raise ContextasmError("task", "there is no current task", "begin one with `ctxasm task push GOAL`")
    return chain[-1]


def _changed(stack: TaskStack, frame: Task, current: str) -> TaskStack:
    """The stack with one frame put in place of that with its id."""
    return TaskStack(tuple(frame if each.id == frame.id else each for each in stack.frames), current)


def parse_task_stack(data: Data, problems: list[Problem]) -> TaskStack:
    """The stack that a file holds. A parent or a current task that is not there is a problem, and counts as none."""
    found: dict[str, Task] = {}
    for row in parse_rows(data, "tasks", problems):
        frame = Task(
            id=row.word("id"),
            goal=row.word("goal"),
            parent=row.word("parent"),
            status=row.word("status", "active"),
            result=row.word("result"),
            reason=row.word("reason"),
            line=row.line,
        )
        if not frame.id or not frame.goal or frame.id in found:
            row.report("has no `id`" if not frame.id else "has no `goal`" if not frame.goal else "takes an id twice")
        elif frame.status not in STATUSES:
            row.report(f"status {frame.status} is none of {', '.join(STATUSES)}")
        else:
            found[frame.id] = frame
    problems += _orphans(found, data.document.path)
    current = data.value.get("current") if isinstance(data.value, Mapping) else None
    if current and str(current) not in found:
        problems.append(Problem("bad-data", data.document.path, 1, f"current: there is no task {current}"))
    return TaskStack(tuple(found.values()), str(current) if str(current) in found else "")


def _orphans(found: Mapping[str, Task], path: str) -> Iterator[Problem]:
    """The tasks whose parents are not there."""
    for frame in found.values():
        if frame.parent and frame.parent not in found:
            yield Problem("bad-row", path, frame.line, f"there is no task {frame.parent}, its parent")


def task_line(frame: Task) -> str:
    """A task in one line: its result once complete, else its goal, with what blocks it."""
    if frame.status == "complete":
        return frame.result or frame.goal
    return f"{frame.goal} (blocked: {frame.reason or 'no reason given'})" if frame.status == "blocked" else frame.goal


def list_tasks(stack: TaskStack) -> Sequence[tuple[int, Task]]:
    """The active chain and what is complete beside it, each with how deep it lies, in the order of the file."""
    chain = {frame.id: depth for depth, frame in enumerate(stack.path())}
    beside = {frame.id: len(chain) - 1 for frame in stack.siblings()}
    depths = chain | beside
    return sorted(((depths[each.id], each) for each in stack.frames if each.id in depths), key=lambda each: each[0])
