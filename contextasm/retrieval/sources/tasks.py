"""Sources `root-goal`, `ancestor-goals`, `sibling-results` and `current-goal`: the parts of a stack of tasks.

Changes no task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from contextasm.model import Fragment, Location, RetrievalResult, SourceQuery
from contextasm.retrieval.reading.files import layer_display, read_data
from contextasm.text.data.task_stack import Task, TaskStack, parse_task_stack, task_line


def _task_fragments(query: SourceQuery, choose: Callable[[TaskStack], Sequence[Task]]) -> RetrievalResult:
    files, problems = read_data(query)
    fragments: list[Fragment] = []
    for data in files:
        for task in choose(parse_task_stack(data, problems)):
            text = "- " + task_line(task).replace("\n", "\n  ")
            location = Location(data.document.path, task.line, rows=1)
            display = layer_display(query.layer, place=(-len(fragments),))
            fragments.append(Fragment(f"task {task.id}", location, text, display))
    return RetrievalResult(tuple(fragments), tuple(data.document for data in files), tuple(problems))


root_goal = partial(_task_fragments, choose=lambda stack: stack.path()[:-1][:1])
"""The task that all others serve; none if it is the current one."""

ancestor_goals = partial(_task_fragments, choose=lambda stack: stack.path()[1:-1][::-1])
"""The tasks between the root and the current one, those nearest to the current one first."""

sibling_results = partial(_task_fragments, choose=TaskStack.siblings)
"""The completed siblings of the current task with their results, and the blocked ones, the latest first."""

current_goals = partial(_task_fragments, choose=lambda stack: stack.path()[-1:])
"""The current task; none for an empty stack."""
