"""The stack of tasks, parsed and changed as a value: a task is pushed, popped, blocked, parked or resumed.

No task is ever removed. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from contextasm.model import ContextasmError, Data, NamedTuple, Problem, grouped
from contextasm.text.data.rows import parse_rows

STATUSES = ("active", "complete", "blocked")


class Task(NamedTuple):
    """A task of the stack."""

    id: str
    goal: str
    parent: str = ""
    """The id of the task it serves; empty for a root."""
    status: str = "active"
    result: str = ""
    """Its result, once complete."""
    reason: str = ""
    """Why it is blocked; empty if it is not."""
    line: int = 1
    """Its line in the file, counted from 1."""


class TaskStack(NamedTuple):
    """All tasks, and the current one."""

    frames: tuple[Task, ...] = ()
    current: str = ""
    """Id of the current task; empty for none."""

    def path(self) -> tuple[Task, ...]:
        """The active chain, from the root to the current task."""
        by_id = {task.id: task for task in self.frames}
        chain: list[Task] = []
        task = by_id.get(self.current)
        while task and task not in chain:
            chain.append(task)
            task = by_id.get(task.parent)
        return tuple(reversed(chain))

    def siblings(self) -> tuple[Task, ...]:
        """The completed and the blocked tasks next to the current one, the latest first."""
        chain = self.path()
        if not chain:
            return ()
        siblings = [task for task in self.frames if task.parent == chain[-1].parent and task.status != "active"]
        return tuple(task for task in reversed(siblings) if task.id != self.current)


def push(stack: TaskStack, goal: str) -> TaskStack:
    """The stack with a new task below the current one, which becomes the current task."""
    used = {task.id for task in stack.frames}
    new_id = next(name for n in range(1, len(used) + 2) if (name := f"t{n}") not in used)
    return TaskStack((*stack.frames, Task(new_id, goal, stack.current)), new_id)


def pop(stack: TaskStack, result: str) -> TaskStack:
    """The stack with the current task complete with this result, and its parent as the current task.

    Raises `ContextasmError` for a stack without a current task.
    """
    task = _current_task(stack)
    return _replace_task(stack, task._replace(status="complete", result=result, reason=""), task.parent)


def block(stack: TaskStack, reason: str) -> TaskStack:
    """The stack with the current task blocked for a reason, or active again for an empty one.

    Raises `ContextasmError` for a stack without a current task.
    """
    task = _current_task(stack)
    return _replace_task(stack, task._replace(status="blocked" if reason else "active", reason=reason), task.id)


def park(stack: TaskStack, reason: str) -> TaskStack:
    """The stack with the parent of the current task as the current one; a reason blocks the task that is left.

    Without a parent no task is current, and the next one that is pushed begins a chain of its own. Raises
    `ContextasmError` for a stack without a current task.
    """
    task = _current_task(stack)
    parked = task._replace(status="blocked", reason=reason) if reason else task
    return _replace_task(stack, parked, task.parent)


def resume(stack: TaskStack, task_id: str) -> TaskStack:
    """The stack with a task as the current one, no longer blocked.

    Raises `ContextasmError` for an id that no unfinished task has.
    """
    task = next((task for task in stack.frames if task.id == task_id), None)
    if task is None or task.status == "complete":
        what = "is complete" if task else "is not a task"
        ids = ", ".join(task.id for task in stack.frames if task.status != "complete") or "none"
        raise ContextasmError("task resume", f"{task_id} {what}", f"give the id of an unfinished task: {ids}")
    return _replace_task(stack, task._replace(status="active", reason=""), task.id)


def _current_task(stack: TaskStack) -> Task:
    chain = stack.path()
    if not chain:
        raise ContextasmError("task", "no task is current", "begin one with `ctxasm task push GOAL`")
    return chain[-1]


def _replace_task(stack: TaskStack, task: Task, current: str) -> TaskStack:
    return TaskStack(tuple(task if old.id == task.id else old for old in stack.frames), current)


def parse_task_stack(data: Data, problems: list[Problem]) -> TaskStack:
    """The stack in a file.

    A parent or a current task that the file does not hold is a problem, and counts as none; a circle of parents, too,
    and its first task then has none.
    """
    tasks: dict[str, Task] = {}
    for row in parse_rows(data, "tasks", problems):
        keys = (key for key in Task._fields if key != "line")
        task = Task(**{key: row.word(key, Task._field_defaults.get(key, "")) for key in keys}, line=row.line)
        if not task.id or not task.goal or task.id in tasks:
            row.report("has no `id`" if not task.id else "has no `goal`" if not task.goal else "repeats an id")
        elif task.status not in STATUSES:
            row.report(f"status {task.status} is not one of {', '.join(STATUSES)}")
        else:
            tasks[task.id] = task
    for task in tasks.values():
        if task.parent and task.parent not in tasks:
            message = f"its parent, task {task.parent}, does not exist"
            problems.append(Problem("bad-row", data.document.path, task.line, message))
    for circle in [*_circles(tasks)]:
        task, names = tasks[circle[0]], " -> ".join((*circle, circle[0]))
        message = f"the parents of task {task.id} form a circle: {names}"
        problems.append(Problem("bad-row", data.document.path, task.line, message))
        tasks[task.id] = task._replace(parent="")
    current = data.value.get("current") if isinstance(data.value, Mapping) else None
    if current and str(current) not in tasks:
        problems.append(Problem("bad-data", data.document.path, 1, f"the current task, {current}, does not exist"))
    return TaskStack(tuple(tasks.values()), str(current) if str(current) in tasks else "")


def _circles(tasks: Mapping[str, Task]) -> Iterator[Sequence[str]]:
    """The ids of each circle of parents, its first task in the file first."""
    seen: set[str] = set()
    for task in tasks.values():
        chain: list[str] = []
        name = task.id
        while name in tasks and name not in seen:
            seen.add(name)
            chain.append(name)
            name = tasks[name].parent
        if name in chain:
            yield chain[chain.index(name) :]


def task_line(task: Task) -> str:
    """A task in one line: its result once complete, else its goal, with the reason if it is blocked."""
    if task.status == "complete":
        return task.result or task.goal
    return f"{task.goal} (blocked: {task.reason or 'no reason given'})" if task.status == "blocked" else task.goal


def list_tasks(stack: TaskStack) -> Sequence[tuple[int, Task]]:
    """The active chain, the completed tasks next to the current one, and all unfinished tasks, with their parents.

    Each with its depth, 0 for a root: a task is above the tasks that serve it, otherwise in the order of the file.
    """
    tasks = {task.id: task for task in stack.frames}
    shown = {task.id for task in (*stack.path(), *stack.siblings())}
    for task in stack.frames:
        ancestor: Task | None = task if task.status != "complete" else None
        while ancestor and ancestor.id not in shown:
            shown.add(ancestor.id)
            ancestor = tasks.get(ancestor.parent)
    children = grouped((task.parent if task.parent in shown else "", task) for task in stack.frames if task.id in shown)
    listed: list[tuple[int, Task]] = []
    waiting = [(0, task) for task in reversed(children.get("", []))]
    while waiting:
        depth, task = waiting.pop()
        listed.append((depth, task))
        waiting += [(depth + 1, child) for child in reversed(children.get(task.id, []))]
    return listed
